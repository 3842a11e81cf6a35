package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/git/program"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile/gitignore"
)

// inGit says that the .inner of a project may be committed, for the team; private keeps it out of git, by info/exclude
// of the repository.
func (a *app) inGit(root string, private bool) error {
	name, _ := host.FindHelper("git", a.Getenv("PATH"))
	git := func(args ...string) string {
		out, _ := program.Command(name, append([]string{"-C", root}, args...)...).Output()
		return string(out)
	}
	open := git("ls-files", "--others", "--exclude-standard", "--directory", "--", ".inner") != ""
	switch {
	case !private && open:
		a.Say(".inner may be committed, for all who work here; inner init --private keeps it out of git")
	case private && !open:
		a.Say("git adds no .inner in %s: it is committed or ignored already, or there is none, or no repository", a.Short(root))
	}
	if !private || !open {
		return nil
	}
	dir, prefix, _ := strings.Cut(git("rev-parse", "--path-format=absolute", "--git-common-dir", "--show-prefix"), "\n")
	exclude := filepath.Join(dir, "info", "exclude")
	text, err := files.Read(exclude, files.NoLinks, 1<<20)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(text) > 0 {
		text = append([]byte(strings.TrimSuffix(string(text), "\n")), '\n')
	}
	prefix = strings.ReplaceAll(gitignore.Escape(strings.TrimSuffix(prefix, "\n")), "\n", "?")
	text = append(text, "/"+prefix+".inner/\n"...)
	if err := errors.Join(os.MkdirAll(filepath.Dir(exclude), 0o755), files.Write(exclude, text, 0o644)); err != nil {
		return err
	}
	a.Say("%s keeps .inner out of git", a.Short(exclude))
	return nil
}
