package settings

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/profile"
)

// Place is where a call happens.
type Place struct {
	Cwd     string           // physical
	Project *profile.Project // nil outside
}

// Root is the folder of the project, or "".
func (pl Place) Root() string {
	if pl.Project == nil {
		return ""
	}
	return pl.Project.Root
}

// Here finds the working folder, by its physical path, and its project: the
// same project under two names is one.
func (s *Settings) Here() (Place, error) {
	cwd, err := unix.Getwd() // the kernel's word: $PWD can say anything
	switch {
	case errors.Is(err, unix.ENOENT):
		return Place{}, &fault.Refusal{Code: 126, Kind: fault.KindWorkdir, Msg: "the current folder does not exist any more", Hint: "cd to a folder that exists"}
	case err == nil && !filepath.IsAbs(cwd):
		return Place{}, &fault.Refusal{Code: 126, Kind: fault.KindWorkdir, Msg: fmt.Sprintf("the current folder %q is outside the root folder", cwd), Hint: "cd"}
	case err != nil:
		return Place{}, &fault.Refusal{Code: 126, Kind: fault.KindWorkdir, Msg: fmt.Sprintf("the current folder cannot be named: %v", err), Hint: "cd"}
	}
	return Place{Cwd: cwd, Project: s.ProjectOf(cwd)}, nil
}

// At is Here for another folder, an absolute path.
func (s *Settings) At(dir string) (Place, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return Place{}, &fault.Refusal{Code: 126, Kind: fault.KindWorkdir, Msg: fmt.Sprintf("the folder %q cannot be used: %v", dir, err), Hint: "name a folder that exists"}
	}
	if fi, err := os.Stat(real); err != nil || !fi.IsDir() {
		return Place{}, &fault.Refusal{Code: 126, Kind: fault.KindWorkdir, Msg: fmt.Sprintf("%q is not a folder", dir), Hint: "name a folder that exists"}
	}
	return Place{Cwd: real, Project: s.ProjectOf(real)}, nil
}

// ProjectOf is the project that a folder lies in, or nil.
func (s *Settings) ProjectOf(dir string) *profile.Project {
	return profile.FindProject(dir, s.InnerHome, filepath.Join(s.Home, ".inner"))
}

// Loader loads the profiles of a place.
func (s *Settings) Loader(pl Place) *profile.Loader {
	l := &profile.Loader{Home: s.Home, GlobalDir: s.ProfilesDir()}
	if pl.Project != nil && pl.Project.Problem == nil {
		l.Project = pl.Project
	}
	return l
}
