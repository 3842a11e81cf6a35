package plan

import (
	"testing"

	"github.com/enr/inner/isolator/host"
)

// An agent can write where it keeps its work trees, below what it cannot write; not where a
// link leads, and no agent where the profile is for another.
func TestWorkTrees(t *testing.T) {
	dir := testWork + "/.claude"
	trees := dir + "/worktrees"
	for name, c := range map[string]struct {
		agent string
		at    host.Path
		later []host.Placeholder
		want  bool
	}{
		"there":         {"claude", host.Path{Kind: host.Dir, Real: trees}, nil, true},
		"made":          {"claude", host.Path{}, []host.Placeholder{{Path: trees}}, true},
		"both made":     {"claude", host.Path{}, []host.Placeholder{{Path: dir}, {Path: trees}}, true},
		"missing":       {"claude", host.Path{}, nil, false},
		"a link":        {"claude", host.Path{Kind: host.Dir, Link: testHome + "/other", Real: testHome + "/other"}, nil, false},
		"another agent": {"gemini", host.Path{Kind: host.Dir, Real: trees}, nil, false},
	} {
		rc, f, s := config(), machine(), staged()
		rc.Capabilities = []string{c.agent}
		f.Paths[dir] = host.Path{Kind: host.Dir, Real: dir}
		if c.at.Kind != "" {
			f.Paths[trees] = c.at
		}
		f.Later = c.later
		p, err := build(rc, f, s)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, covered := false, false
		for _, o := range p.Ops {
			if o.Dest == dir && (o.Kind == OpReadOnly || o.Kind == OpTmpfs) {
				covered = true
			}
			if o.Dest == trees {
				got = o.Kind == OpBind && o.Source == trees && covered
			}
		}
		if got != c.want || !covered {
			t.Errorf("%s: writable %v, want %v; what is around it covered %v", name, got, c.want, covered)
		}
	}
}
