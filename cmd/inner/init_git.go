package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/git"
	"github.com/enr/inner/isolator/git/program"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile/gitignore"
)

// inGit says that the .inner of a project may be committed, for the team; private keeps it out of git, by info/exclude
// of the repository.
func (a *app) inGit(root string, private bool) error {
	name, _ := host.FindHelper("git", a.Getenv("PATH"))
	out, _ := program.Command(name, "-C", root, "ls-files", "--others", "--exclude-standard", "--directory", "--", ".inner").Output()
	open := len(out) > 0
	switch {
	case !private && open:
		a.Say(".inner may be committed, for all who work here; inner init --private keeps it out of git")
	case private && !open:
		a.Say("git adds no .inner in %s: it is committed or ignored already, or there is none, or no repository", a.Short(root))
	}
	if !private || !open {
		return nil
	}
	r, err := git.Find(files.Real(root))
	if err != nil || r.Reason != "" || r.Led { // a box may have made it
		return fault.Refuse(1, "name .inner in its info/exclude yourself", "the repository of %s is not as git makes one, and not written to", a.Short(root))
	}
	dir, err := os.OpenRoot(r.Common) // no link leads out of it
	if err != nil {
		return err
	}
	defer dir.Close()
	text, err := dir.ReadFile("info/exclude")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(text) > 0 {
		text = append([]byte(strings.TrimSuffix(string(text), "\n")), '\n')
	}
	place := gitignore.Escape(strings.TrimPrefix(files.Real(root)+"/.inner/", r.Top))
	text = append(text, strings.ReplaceAll(place, "\n", "?")+"\n"...)
	if err := errors.Join(dir.MkdirAll("info", 0o755), dir.WriteFile("info/exclude", text, 0o644)); err != nil {
		return err
	}
	a.Say("%s keeps .inner out of git", a.Short(filepath.Join(r.Common, "info/exclude")))
	return nil
}
