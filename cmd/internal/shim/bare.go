package shim

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/hooks"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/shims"
)

// sayBare says on a terminal that an agent runs outside the sandbox, once a day in each folder.
func (p *Process) sayBare(d shims.Decision, cwd string) {
	if !slices.Contains(shims.Agents(), d.Name) || shims.InBox() {
		return
	}
	if _, err := unix.IoctlGetTermios(int(os.Stderr.Fd()), unix.TCGETS); err != nil {
		return
	}
	if p.firstToday(d.Name + " " + cwd) {
		p.Say("%s runs outside the sandbox: no profile claims it here; type: inner init %[1]s", d.Name)
	}
}

// firstToday reports whether a word has not been asked about today, and remembers it by a file of its own in the
// folder of the day. Other days are forgotten; what cannot be remembered is said again.
func (p *Process) firstToday(word string) bool {
	told := filepath.Join(p.InnerHome, "shims", "told")
	day := filepath.Join(told, time.Now().Format(time.DateOnly))
	if !files.Exists(day) {
		_ = os.RemoveAll(told)
		_ = os.MkdirAll(day, 0o700)
	}
	return !errors.Is(os.Mkdir(filepath.Join(day, hooks.NewKey(word)), 0o700), fs.ErrExist)
}
