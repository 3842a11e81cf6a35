package stage

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/owned"
)

// Live is a run that has not ended.
type Live struct {
	ID string
	About
	Granted []string // what its box got since it runs
}

// About is what a run says of itself while it runs, whether or not it has a record. It is
// empty until the run has come to its plan.
type About struct {
	Begun                    time.Time
	Profile, Command, Folder string
	Roots                    []string // the real paths of the folders of the host that it can write; nil when it is of an inner that did not say
}

// A file of the run's folder has its About, in this form.
const (
	aboutName = "about"
	aboutForm = "%d %q %q %q %q"
)

func readAbout(dir string) (a About) {
	var begun int64
	var roots string
	text, _ := os.ReadFile(filepath.Join(dir, aboutName)) // without one, nothing is known yet
	switch n, _ := fmt.Sscanf(string(text), aboutForm, &begun, &a.Profile, &a.Command, &a.Folder, &roots); n {
	case 5:
		a.Roots = strings.Split(roots, "\x00")
	case 4:
	default:
		return About{}
	}
	a.Begun = time.Unix(0, begun)
	return a
}

// Say lets Running tell what this run is.
func (r *Run) Say(a About) error {
	_, err := r.File(aboutName, fmt.Appendf(nil, aboutForm, a.Begun.UnixNano(), a.Profile, a.Command, a.Folder, strings.Join(a.Roots, "\x00")), 0o600)
	return err
}

const grantedName = "granted"

// Granted lets Running tell what the box of this run got.
func (r *Run) Granted(words []string) error {
	return files.Write(r.At(grantedName), []byte(strings.Join(words, "\x00")), 0o600)
}

// Door is the socket of a run by which its box is joined from another terminal, below base.
func Door(base, id string) string { return filepath.Join(base, id, "join") }

// Running returns the runs of base that have not ended, oldest first. A base that does not
// exist has none.
func Running(base string) ([]Live, error) {
	names, err := owned.Living(base)
	var out []Live
	for _, name := range names {
		dir := filepath.Join(base, name)
		granted, _ := os.ReadFile(filepath.Join(dir, grantedName))
		out = append(out, Live{name, readAbout(dir), strings.FieldsFunc(string(granted), func(c rune) bool { return c == 0 })})
	}
	return out, err
}
