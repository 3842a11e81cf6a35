package features

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/profile"
)

// WritableRoots are the host folders that the box can write.
func WritableRoots(spec profile.RunConfig) []string {
	var out []string
	if spec.WorkdirMode == profile.RW {
		out = append(out, spec.Workdir)
	}
	for _, m := range spec.Mounts {
		if m.Mode == profile.RW {
			out = append(out, m.Source)
		}
	}
	return out
}

// realRoots are the folders that the box can write, without links.
func realRoots(spec profile.RunConfig) []string {
	var out []string
	for _, p := range WritableRoots(spec) {
		out = append(out, files.Real(p))
	}
	return out
}

// inFolder reports whether path is dir or lies below it.
func inFolder(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

func exists(p string) bool {
	_, err := os.Lstat(p)
	return err == nil
}
