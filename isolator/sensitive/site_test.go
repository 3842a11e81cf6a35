package sensitive

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPresent: what folders hold only leaves out what is not there, in whatever case.
func TestPresent(t *testing.T) {
	home := t.TempDir()
	for _, p := range []string{".ssh", ".config/GH", ".local/share/keyrings", ".Vault-Token", "x.pem", ".aws", "é/x"} {
		if err := os.MkdirAll(filepath.Join(home, p), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	names := func(dir string) (map[string]bool, bool) {
		held := map[string]bool{}
		list, err := os.ReadDir(dir)
		for _, e := range list {
			held[strings.ToLower(e.Name())] = true
		}
		return held, err == nil || os.IsNotExist(err)
	}
	with := NewSite(Run{Homes: []string{home}, Names: names})
	without := NewSite(Run{Homes: []string{home}})
	found := map[Spot]bool{}
	for _, p := range with.Spots() {
		found[p] = true
	}
	for _, p := range without.Spots() {
		if _, err := os.Lstat(p.Path); err == nil && !found[p] {
			t.Errorf("%s is there and left out", p.Path)
		}
	}
	// A home that is the root folder, which containers give to users that they do not know.
	held := map[string]map[string]bool{"/": {".ssh": true, ".config": true}, "/.config": {"gh": true}}
	root := map[string]bool{}
	for _, p := range NewSite(Run{Homes: []string{"/"}, Names: func(dir string) (map[string]bool, bool) { return held[dir], true }}).Spots() {
		root[p.Path] = true
	}
	for p, want := range map[string]bool{"/.ssh": true, "/.config/gh": true, "/.aws": false, "/.config/op": false} {
		if root[p] != want {
			t.Errorf("home /, %s: %t", p, !want)
		}
	}
}
