package shims

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/enr/inner/internal/files"
)

// State is the content of INNER_HOME/shims/state.
//
// Its first line is the generation: a word that changes whenever the set of shims or
// the binary behind them does, or somebody calls Bump. A prompt that reads the same
// word as before knows that nothing has happened. The line after it is Regenerate's
// own memory, as JSON.
//
// The time of the file is when things were last checked (see Touch).
type State struct {
	Generation string            `json:"-"`
	Binary     string            // the version of the program, and its size
	Fleet      string            // the program that it goes on as where a container engine makes the box
	Agents     map[string]string // installed agent: where it was found
}

// ReadState reads the state of a shim folder. One that is missing or damaged is the
// zero State, after which everything counts as new.
func (f Folder) ReadState() (s State) {
	data, _ := os.ReadFile(f.StateFile())
	first, rest, _ := bytes.Cut(data, []byte("\n"))
	if json.Unmarshal(rest, &s) != nil {
		s = State{}
	}
	s.Generation = string(first)
	return s
}

// fleet is what Fleet should be: as it was, where the process of the site does not know.
func (s State) fleet(at Site) string { return cmp.Or(at.Program.Fleet, s.Fleet) }

func (s State) bytes() []byte {
	text, _ := json.Marshal(s) // texts always can be
	return fmt.Appendf(nil, "%s\n%s\n", s.Generation, text)
}

// Bump starts a new generation without any other change, so that every prompt looks
// again: after something was allowed or revoked.
func (f Folder) Bump() error {
	return f.locked(func() error {
		s := f.ReadState()
		s.Generation = newGeneration()
		return f.writeState(s, time.Now())
	})
}

// Slack is how much earlier than asked Touch sets the time: two ticks of the slowest usual
// clock. The kernel stamps files with a clock that lags by up to one tick (4 ms at 250 Hz,
// 10 ms at 100 Hz), so a file written just after a check may look older than the check.
const Slack = 20 * time.Millisecond

// Touch records that the state was checked, from time t on: a profile written later is
// newer than the file. Its content stays. Callers take t before they read anything.
func (f Folder) Touch(t time.Time) error {
	t = t.Add(-Slack)
	return os.Chtimes(f.StateFile(), t, t)
}

// Mark is a second link to the state file, named after its generation: a shell sees by whether it
// is there that the generation is the one it knows. One that is not there makes prompts slower.
func (f Folder) Mark(generation string) string { return f.StateFile() + "." + generation }

// writeState replaces the state. The caller holds the lock. The marks go first: a shell must not find that of another
// state, and one that finds none reads the file.
func (f Folder) writeState(s State, checked time.Time) error {
	entries, err := os.ReadDir(filepath.Dir(f.StateFile()))
	for _, e := range entries {
		if rest, ok := strings.CutPrefix(e.Name(), "state."); ok && len(rest) == generationLength {
			err = cmp.Or(err, os.Remove(f.Mark(rest)))
		}
	}
	if err == nil {
		err = files.Replace(f.StateFile(), s.bytes(), 0o600)
	}
	if err != nil {
		return err
	}
	_ = os.Link(f.StateFile(), f.Mark(s.Generation))
	return f.Touch(checked)
}

// generationLength is that of the word.
const generationLength = 16

func newGeneration() string {
	var b [generationLength / 2]byte
	_, _ = rand.Read(b[:]) // never fails since Go 1.24
	return hex.EncodeToString(b[:])
}

// locked runs do while holding the lock of the shim folder, which it creates.
func (f Folder) locked(do func() error) error {
	dir := filepath.Dir(f.Bin())
	for _, d := range []string{dir, f.Bin()} {
		if err := files.Folder(d); err != nil {
			return fmt.Errorf("shim folder: %w", plain(err))
		}
	}
	unlock, err := files.Lock(filepath.Join(dir, ".lock"))
	if err != nil {
		return fmt.Errorf("shim folder: %w", plain(err))
	}
	defer unlock()
	if err := do(); err != nil {
		return fmt.Errorf("shim folder: %w", plain(err))
	}
	return nil
}

// plain words the error of a system call as one that names its file in quotes.
func plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return fmt.Errorf("%q: %w", p.Path, p.Err)
	}
	var l *os.LinkError
	if errors.As(err, &l) {
		return fmt.Errorf("%q: %w", l.New, l.Err)
	}
	return err
}
