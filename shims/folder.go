package shims

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
)

// Folder is the shim folder of one INNER_HOME:
//
//	shims/bin/NAME   a link to ../inner, one per command
//	shims/inner      the program behind them, see Program
//	shims/state      see State
//
// The program is there, and not where inner is installed, so that moving, upgrading or
// removing that never leaves a dangling link: shells pass over those, and would run the
// real program outside the sandbox.
type Folder struct{ Home string }

// Bin is the folder to put on PATH.
func (f Folder) Bin() string { return filepath.Join(f.Home, "shims", "bin") }

// Binary is the program that every shim runs.
func (f Folder) Binary() string { return filepath.Join(f.Home, "shims", "inner") }

// StateFile is the file that State describes.
func (f Folder) StateFile() string { return filepath.Join(f.Home, "shims", "state") }

// Report says what Regenerate did, or what it would do. The lists are sorted.
type Report struct {
	Added, Removed, Kept []string
	Foreign              []string // entries of the folder that are not inner's; never touched
	BinaryUpdated        bool
	Set                  Set // what was wanted, and why
}

// Changed reports whether anything was, or would be, done.
func (r Report) Changed() bool { return r.BinaryUpdated || len(r.Added)+len(r.Removed) > 0 }

// Regenerate makes the shim folder hold exactly the names that Wanted returns, and
// the binary of s behind them. Any number of calls may run at once, and be killed:
// each waits for its turn and reads projects and records only then, so the last one leaves
// the right names. A shim that is called meanwhile is always there and whole: links are
// never replaced, and the binary is, by rename.
//
// Entries that inner did not make stay. One that sits in the place of a wanted name
// is an error, returned after everything else has been done. When a trust record
// cannot be read no name is removed, since it might be the one that wants it.
func Regenerate(s Site) (Report, error) {
	f := Folder{s.InnerHome}
	var report Report
	var blocked error
	err := f.locked(func() error {
		start := time.Now()
		state := f.ReadState()
		var err error
		if report, err = f.plan(s, state); err != nil {
			return err
		}
		blocked = report.blocked()
		return f.apply(s, report, state, start)
	})
	if err != nil {
		return Report{}, err
	}
	return report, blocked
}

// Check reports what Regenerate would do, and changes nothing.
func Check(s Site) (Report, error) {
	f := Folder{s.InnerHome}
	report, err := f.plan(s, f.ReadState())
	if err != nil {
		return report, fmt.Errorf("shim folder: %w", plain(err))
	}
	return report, report.blocked()
}

// List returns the names that have a shim now, sorted.
func (f Folder) List() ([]string, error) {
	own, _, err := f.entries()
	return own, err
}

// entries tells inner's own links in the folder from everything else.
func (f Folder) entries() (own, foreign []string, err error) {
	list, err := os.ReadDir(f.Bin())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	for _, e := range list {
		if e.Type() == fs.ModeSymlink {
			if text, err := os.Readlink(filepath.Join(f.Bin(), e.Name())); err == nil && text == linkText {
				own = append(own, e.Name())
				continue
			}
		}
		foreign = append(foreign, e.Name())
	}
	return own, foreign, err
}

func (f Folder) plan(s Site, state State) (Report, error) {
	own, foreign, err := f.entries()
	if err != nil {
		return Report{}, err
	}
	r := Report{Foreign: foreign, Set: wanted(s, state)}
	for _, name := range own {
		if r.Set.Names[name] != nil || r.Set.Incomplete() {
			r.Kept = append(r.Kept, name)
		} else {
			r.Removed = append(r.Removed, name)
		}
	}
	for name := range r.Set.Names {
		if !slices.Contains(own, name) && !slices.Contains(foreign, name) {
			r.Added = append(r.Added, name)
		}
	}
	slices.Sort(r.Added)
	_, text, err := f.renewal(s, state)
	r.BinaryUpdated = text != nil || state.fleet(s) != state.Fleet
	return r, err
}

func (r Report) blocked() error {
	var errs []error
	for _, name := range r.Foreign {
		if r.Set.Names[name] != nil {
			errs = append(errs, fmt.Errorf("shim folder: %q is in the way: inner did not make it and leaves it alone", name))
		}
	}
	return errors.Join(errs...)
}

// apply does what the report says, in an order that is safe to be killed in: the
// binary before the links to it, new names before old ones go, the new generation
// last.
func (f Folder) apply(s Site, r Report, state State, start time.Time) error {
	version, err := f.writeBinary(s, state)
	if err != nil {
		return err
	}
	if err := unix.Access(f.Binary(), unix.X_OK); err != nil {
		// On a file system mounted noexec a shell passes over the shims and runs
		// the real program.
		return fmt.Errorf("%q cannot be executed: %w", f.Binary(), err)
	}
	if err := f.link(r); err != nil {
		return err
	}
	for _, name := range r.Removed {
		if err := os.Remove(filepath.Join(f.Bin(), name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	next := State{Generation: state.Generation, Binary: version, Fleet: state.fleet(s), Agents: r.Set.agents}
	return f.note(r, state, next, start)
}

// link makes the links of new names. They are one link under many names: a file of its own for each
// costs ext4 up to fifty times as much, because it passes over inode numbers given back in the last
// minutes. Like symlink(2), link(2) is atomic and never replaces anything.
func (f Folder) link(r Report) error {
	first := ""
	if len(r.Kept) > 0 {
		first = filepath.Join(f.Bin(), r.Kept[0])
	}
	for _, name := range r.Added {
		at := filepath.Join(f.Bin(), name)
		if first != "" && os.Link(first, at) == nil {
			continue
		}
		first = at
		if err := os.Symlink(linkText, at); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// note writes the state after what the report says was done.
func (f Folder) note(r Report, state, next State, start time.Time) error {
	checked := start
	switch {
	case r.Changed() || state.Generation == "":
		next.Generation = newGeneration()
	case string(next.bytes()) == string(state.bytes()):
		return nil
	default:
		// Only the memory changed: nobody has to look, so the time stays too.
		info, err := os.Stat(f.StateFile())
		if err != nil {
			return err
		}
		checked = info.ModTime().Add(Slack)
	}
	return f.writeState(next, checked)
}

// renewal is what has to be put behind the shims: how it is told from another, and its text; nil where it is there.
func (f Folder) renewal(s Site, state State) (version string, text func() (io.ReadCloser, error), err error) {
	have, err := os.Lstat(f.Binary())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", nil, err
	}
	version, text, err = s.source(have)
	switch {
	case err != nil || version == "":
		return "", nil, err
	case have == nil, !have.Mode().IsRegular(), have.Mode().Perm() != binaryMode, state.Binary != sized(version, have.Size()),
		s.Program.Lacks != nil && s.Program.Lacks(filepath.Dir(f.Binary())):
		return version, text, nil
	}
	return "", nil, nil
}

func sized(version string, size int64) string { return fmt.Sprint(version, " ", size) }

// Outdated reports whether the program behind the shims is not the one that belongs there, or cannot
// be executed.
func (f Folder) Outdated(s Site) bool {
	state := f.ReadState()
	_, text, err := f.renewal(s, state)
	return err != nil || text != nil || state.fleet(s) != state.Fleet || unix.Access(f.Binary(), unix.X_OK) != nil
}

const binaryMode = 0o700

// writeBinary brings the program behind the shims up to date and returns its version.
func (f Folder) writeBinary(s Site, state State) (string, error) {
	version, text, err := f.renewal(s, state)
	if err != nil || text == nil {
		return state.Binary, err
	}
	src, err := text()
	if err != nil {
		return "", err
	}
	defer src.Close()
	dst, temp, err := files.Temp(f.Binary(), binaryMode)
	if err != nil {
		return "", err
	}
	// In one piece: the kernel then keeps it in larger pages, which are mapped in fewer faults at each start
	// (measured with ext4: a tenth of a millisecond less than in pieces of 32 KiB).
	data, err := io.ReadAll(src)
	if err == nil {
		_, err = dst.Write(data)
	}
	if err := errors.Join(err, dst.Chmod(binaryMode)); err != nil {
		_ = dst.Close()
		_ = os.Remove(temp)
		return "", err
	}
	if s.Program.Write != nil {
		s.Program.Write(filepath.Dir(f.Binary()))
		defer s.Program.RemoveOld(filepath.Dir(f.Binary()))
	}
	return sized(version, int64(len(data))), files.Commit(dst, temp, f.Binary())
}
