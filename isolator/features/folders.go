package features

import (
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
