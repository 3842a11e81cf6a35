package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/git"
	"github.com/enr/inner/profile/gitignore"
)

// inGit says that the .inner of a project may be committed, for the team; private keeps it out of git, by info/exclude
// of the repository.
func (a *app) inGit(root string, private bool) error {
	root = files.Real(root)
	r, err := git.Find(root)
	if err != nil || r.Reason != "" || r.Led { // a box may have made it
		if !private {
			return nil
		}
		return fault.Refuse(1, "git init, or name .inner in info/exclude yourself", "%s is in no repository that is as git makes one", a.Short(root))
	}
	dir, err := os.OpenRoot(r.Common) // no link leads out of it
	if err != nil {
		return err
	}
	defer dir.Close()
	if fi, err := dir.Lstat("info/exclude"); err == nil && !fi.Mode().IsRegular() { // nor to another file, and no FIFO holds this up
		return fmt.Errorf("%s/info/exclude is no file", a.Short(r.Common))
	}
	data, err := dir.ReadFile("info/exclude")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text := strings.TrimSuffix("\n"+string(data), "\n") + "\n"
	place := strings.ReplaceAll(gitignore.Escape(strings.TrimPrefix(root+"/.inner/", r.Top)), "\n", "?") + "\n"
	named := strings.Contains(text, "\n"+place)
	if !private {
		if !named {
			a.Say(".inner may be committed, for all who work here; inner init --private keeps it out of git")
		}
		return nil
	}
	if !named {
		err = errors.Join(dir.MkdirAll("info", 0o755), dir.WriteFile("info/exclude", []byte(text[1:]+place), 0o644))
	}
	if err == nil {
		a.Say("%s keeps out of git what of .inner is not committed", a.Short(filepath.Join(r.Common, "info/exclude")))
	}
	return err
}
