package settings

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/enr/inner/internal/fault"
)

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
