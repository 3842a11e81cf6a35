package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/git/program"
	"github.com/enr/inner/profile/gitignore"
)

// inGit says that the .inner of a project may be committed, for the team; private keeps it out of git, by info/exclude
// of the repository. What is committed already stays.
func (a *app) inGit(root string, private bool) error {
	name, err := a.helper("git", "git")
	if err != nil && private {
		return err
	}
	git := func(args ...string) string {
		out, _ := program.Command(name, append([]string{"-C", root}, args...)...).Output()
		return string(out)
	}
	at := strings.Split(git("rev-parse", "--git-path", "info/exclude", "--show-prefix"), "\n")
	open := git("ls-files", "--others", "--exclude-standard", "--directory", "--", ".inner")
	switch {
	case !private && open != "":
		a.Say(".inner may be committed, for all who work here; inner init --private keeps it out of git")
		return nil
	case !private:
		return nil
	case len(at) != 3: // no answer, or a folder that no pattern can name
		return fault.Refuse(1, "git init", "there is no repository of git in %s", a.Short(root))
	case git("ls-files", "--", ".inner") != "":
		return fault.Refuse(1, "git rm -r --cached .inner, and commit that", ".inner is in the repository already")
	case open == "":
		a.Say(".inner is kept out of git already")
		return nil
	}
	exclude := at[0]
	if !filepath.IsAbs(exclude) {
		exclude = filepath.Join(root, exclude)
	}
	text, err := files.Read(exclude, files.NoLinks, 1<<20)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(text) > 0 {
		text = append([]byte(strings.TrimSuffix(string(text), "\n")), '\n')
	}
	text = append(text, "/"+gitignore.Escape(at[1])+".inner/\n"...)
	if err := errors.Join(os.MkdirAll(filepath.Dir(exclude), 0o755), files.Write(exclude, text, 0o644)); err != nil {
		return err
	}
	a.Say("%s keeps .inner out of git", a.Short(exclude))
	return nil
}
