package plan

import (
	"slices"
	"testing"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// The box's own files of the system come over the host's, into a minimal /etc, and nowhere else.
func TestSystemFiles(t *testing.T) {
	places := []string{"/etc/passwd", "/usr/lib/ssh/x", "/srv/z", "/etc/hosts"}
	var files []Part
	for _, p := range places {
		files = append(files, Part{System: true, Op: Op{Kind: OpData, Dest: p}})
	}
	for etc, want := range map[string][]OpKind{"host": {OpData, OpData}, "minimal": {OpFile, OpData, OpFile}} {
		plan := minimal(t, func(rc *profile.RunConfig, f *host.Facts, s *Staged) {
			rc.Etc, s.Parts = etc, files
			for _, p := range places[:2] {
				f.Paths[p] = host.Path{Kind: host.File, Real: p}
			}
			f.Paths["/etc/hosts"] = host.Path{Kind: host.File, Real: "/run/static/hosts"} // a link of the host's, which the box's own /etc has not
		})
		var got []OpKind
		for _, o := range plan.Ops {
			if slices.Contains(places, o.Dest) {
				got = append(got, o.Kind)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("etc = %q: %v, want %v", etc, got, want)
		}
	}
}
