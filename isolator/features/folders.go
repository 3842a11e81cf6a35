package features

import (
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/profile"
)

// WrittenRoots are the folders that the box can write, without links.
func WrittenRoots(spec profile.RunConfig) []string {
	return files.Reals(spec.WritableRoots())
}
