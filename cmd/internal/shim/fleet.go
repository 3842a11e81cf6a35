package shim

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/own"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/shims"
)

// Fleet is the program beside inner that knows container engines, and carries out calls of shims, too:
//
//	inner-fleet --build=VERSION --inner=PATH __call INNER_HOME NAME ARGV...
const (
	Fleet    = "inner-fleet"
	CallWord = "__call"
)

// PackageHint is what to do about a program that is not there, or not as it should be.
const PackageHint = "make install, or install the package inner again"

// goOn goes on as Fleet in the place of this process, which is left as it was started: that program decides
// again. Where it is not installed bwrap makes the box of a profile that leaves it the choice.
func (p *Process) goOn(call shims.Call, argv []string, spec profile.RunConfig) error {
	path, err := FindBeside(cmp.Or(p.Folder().ReadState().Fleet, p.Folder().Binary()), Fleet)
	if err != nil && spec.Backend == "auto" {
		return nil
	}
	if err != nil {
		return err
	}
	words := append([]string{path, "--build=" + p.Version, "--inner=" + p.Folder().Binary(), CallWord, call.InnerHome, call.Name}, argv...)
	err = syscall.Exec(path, words, os.Environ())
	return fault.Refuse(125, PackageHint, "%q does not start: %v", path, err)
}

// FindBeside finds a program of inner: beside the inner binary, or where packages put it, and never by PATH.
// Behind the shims it is the place of Fleet that is known (shims.State).
func FindBeside(inner, program string) (string, error) {
	dir := filepath.Dir(inner)
	for _, d := range []string{".", "../libexec/inner", "../lib/inner"} {
		path := filepath.Join(dir, d, program)
		fi, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", fault.Refuse(125, PackageHint, "%s cannot be used: %v", program, err)
		}
		if why := own.Fault(fi); why != "" {
			return "", fault.Refuse(125, PackageHint, "%q %s", path, why)
		}
		return path, nil
	}
	return "", fault.Refuse(125, PackageHint, "%s is neither in %s nor in ../libexec/inner or ../lib/inner beside it", program, dir)
}
