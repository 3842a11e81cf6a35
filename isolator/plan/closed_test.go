package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/enr/inner/isolator/host"
)

// TestClosedFolders: a folder that inner cannot look into and the box could is hidden, and cannot be
// moved; what the profile allows is not. One that holds the project is refused.
func TestClosedFolders(t *testing.T) {
	build := func(dir string, allow ...string) (Plan, error) {
		f := machine()
		f.Paths[dir] = host.Path{Kind: host.Dir, Real: dir}
		f.Closed = []string{dir}
		rc := config()
		rc.Allow = allow
		return Build(rc, f, staged())
	}
	has := func(p Plan, words ...string) bool {
		return slices.ContainsFunc(p.Ops, func(o Op) bool {
			w := o.Words()
			return len(w) >= len(words) && slices.Equal(w[len(w)-len(words):], words)
		})
	}
	deep := testWork + "/a/locked"
	p, err := build(deep)
	if err != nil {
		t.Fatal(err)
	}
	if !has(p, "--tmpfs", deep) || !has(p, "--bind", testWork+"/a", testWork+"/a") {
		t.Error("a closed folder is seen, or can be moved")
	}
	if p, err = build(testHome+"/.kube/x", "kube-config"); err != nil || has(p, "--tmpfs", testHome+"/.kube/x") {
		t.Errorf("a closed folder of what is allowed is hidden, or refused: %v", err)
	}
	for _, dir := range []string{testWork, testHome, testHome + "/src"} {
		if _, err := build(dir); err == nil || !strings.Contains(err.Error(), dir+" cannot be looked into") {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if p, err = build("/mnt/x"); err != nil || has(p, "--tmpfs", "/mnt/x") {
		t.Errorf("a folder that no box sees: %v", err)
	}
}
