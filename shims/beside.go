package shims

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/own"
)

// PackageHint is what to do about a program that is not there, or not as it should be.
const PackageHint = "make install, or install the package inner again"

// FindBeside finds a program of inner: beside the inner binary, or where packages put it, and never by PATH.
// Behind the shims it is the place of Fleet that is known (State).
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
