package shim

import (
	"cmp"
	"os"
	"syscall"

	"github.com/enr/inner/internal/fault"
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

// goOn goes on as Fleet in the place of this process, which is left as it was started: that program decides
// again. Where it is not installed bwrap makes the box of a profile that leaves it the choice.
func (p *Process) goOn(call shims.Call, argv []string, spec profile.RunConfig) error {
	path, err := shims.FindBeside(cmp.Or(p.Folder().ReadState().Fleet, p.Folder().Binary()), Fleet)
	if err != nil && spec.Backend == "auto" {
		return nil
	}
	if err != nil {
		return err
	}
	words := append([]string{path, "--build=" + p.Version, "--inner=" + p.Folder().Binary(), CallWord, call.InnerHome, call.Name}, argv...)
	err = syscall.Exec(path, words, os.Environ())
	return fault.Refuse(125, shims.PackageHint, "%q does not start: %v", path, err)
}
