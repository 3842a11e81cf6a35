package repos

import (
	"slices"
	"strings"
	"testing"

	"github.com/enr/inner/isolator/stage"
)

// The look at the end lists what changed, for a summary, and names what runs on the host later.
func TestChanged(t *testing.T) {
	p := newPlace(t)
	root := p.dir + "/p"
	p.sh("for f in old gone/f gone/keep both/f sub/Makefile node_modules/x/y .git/HEAD .git/objects/x ours/x .github/workflows/a.yml; do mkdir -p $(dirname $f); echo x >$f; done")
	s := Search{Watched: stage.Watched{Roots: []string{root, root + "/sub"}, Obeyed: []string{root}, Guarded: []string{root + "/.git"}, Before: []string{root + "/ours"}}, Summary: true}
	short := func(list []string) string {
		var out []string
		for _, f := range list {
			out = append(out, strings.TrimPrefix(strings.TrimPrefix(f, root), "/"))
		}
		slices.Sort(out)
		return strings.Join(out, " ")
	}
	look := func() Found {
		found, err := s.Hold()
		must(t, err)
		return found
	}
	s.Since = p.begin()
	if f := look(); len(f.Changes.Files)+len(f.Changes.Gone)+len(f.Later) != 0 || f.Changes.Partly {
		t.Errorf("nothing changed: %+v", f)
	}
	p.sh("for f in new both/g sub/Makefile node_modules/x/y .git/HEAD .git/objects/z ours/x run.sh .github/workflows/a.yml package.json; do echo x >$f; done; rm gone/f both/f; mkdir empty; ln -s /etc link")
	f := look()
	if got, want := short(f.Changes.Files), ".git/ .github/workflows/a.yml both/g empty/ link new ours/x package.json run.sh sub/Makefile"; got != want {
		t.Errorf("changed %q, want %q", got, want)
	}
	if got := short(f.Changes.Gone); got != "gone" {
		t.Errorf("removed in %q", got)
	}
	if got, want := short(f.Later), ".github/workflows package.json run.sh sub/Makefile"; got != want {
		t.Errorf("runs later %q, want %q", got, want)
	}
	s.Summary = false
	if f := look(); short(f.Later) != ".github/workflows package.json sub/Makefile" || len(f.Changes.Files) > 0 {
		t.Errorf("without a summary: %+v", f)
	}
}
