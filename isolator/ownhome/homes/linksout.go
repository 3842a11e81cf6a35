package homes

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
)

// LinksOut returns the links at and below a path that lead out of it: to an absolute path, or by
// way of one above it. What cannot be looked at is left out.
func LinksOut(top string) (out []string) {
	real, err := filepath.EvalSymlinks(filepath.Dir(top))
	if err != nil {
		return nil
	}
	real = filepath.Join(real, filepath.Base(top))
	_ = filepath.WalkDir(real, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.Type() != fs.ModeSymlink {
			return nil
		}
		to, err := os.Readlink(p)
		_, at, _ := files.Follow(p)
		_, stays := paths.Rest(real, at)
		if rest, _ := paths.Rest(real, p); err == nil && (filepath.IsAbs(to) || !stays) {
			out = append(out, filepath.Join(top, rest))
		}
		return nil
	})
	return out
}
