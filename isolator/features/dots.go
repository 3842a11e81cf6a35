package features

import (
	"path/filepath"
	"slices"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/profile/gitconfig"
)

// dots finds the files of a home that is the host's in which the user's settings of git are, and those
// that they name as git reads them: of what begins with a dot there, these are shown, too (plan's dots).
func dots() Feature {
	make := func(run *Run) error {
		if run.Spec.HidesHome() || run.Spec.Git != nil {
			return nil
		}
		list, written, _ := gitconfig.Environment(run.Getenv).User()
		for _, home := range run.Facts.Homes() {
			from := slices.Clone(written)
			for _, e := range list {
				if slices.Contains([]string{"core.excludesfile", "core.attributesfile", "core.hookspath", "commit.template", "init.templatedir", "gpg.ssh.allowedsignersfile"}, e.Key) {
					from = append(from, gitconfig.Pathname(e.Value, filepath.Dir(e.File), home))
				}
			}
			run.Assets.GitOwn = append(run.Assets.GitOwn,
				slices.DeleteFunc(from, func(p string) bool { return !paths.Inside(home, p) || !files.Exists(p) })...)
		}
		return nil
	}
	return Feature{Name: "dot entries of the home", Make: make}
}
