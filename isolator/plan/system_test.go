package plan

import (
	"slices"
	"testing"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// The box's own files of the system come over the host's, into a minimal /etc, and nowhere else.
func TestSystemFiles(t *testing.T) {
	files := []SystemFile{{Path: "/etc/passwd", Text: []byte("me")}, {Path: "/usr/lib/ssh/x", Text: []byte("y")}, {Path: "/srv/z"}}
	for etc, want := range map[string][]OpKind{"host": {OpData, OpData}, "minimal": {OpFile, OpData}} {
		plan := minimal(t, func(rc *profile.RunConfig, f *host.Facts, s *Staged) {
			rc.Etc, s.System = etc, files
			for _, file := range files[:2] {
				f.Paths[file.Path] = host.Path{Kind: host.File, Real: file.Path}
			}
		})
		var got []OpKind
		for _, o := range plan.Ops {
			if slices.ContainsFunc(files, func(f SystemFile) bool { return f.Path == o.Dest }) {
				got = append(got, o.Kind)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("etc = %q: %v, want %v", etc, got, want)
		}
	}
}
