package sensitive

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestMarks: marks only leave out what a folder does not hold, in whatever case; the table
// has the marks of its paths.
func TestMarks(t *testing.T) {
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
	marked := 0
	for _, r := range resourceTable {
		if len(r.marks) != len(r.Paths) {
			t.Fatalf("%s: %d marks of %d paths", r.Key, len(r.marks), len(r.Paths))
		}
		for i, p := range r.Paths {
			if r.marks[i] != MarkOf(p) {
				t.Errorf("%s: its mark is %d, not %d: make generate", p, r.marks[i], MarkOf(p))
			}
			if r.marks[i] != unmarked {
				marked++
			}
		}
		if got, want := with.expand(r.Paths, r.marks), with.expand(r.Paths, nil); !slices.Equal(got, want) {
			t.Errorf("%s: with marks %q, without %q", r.Key, got, want)
		}
	}
	if marked < 1000 {
		t.Errorf("%d paths have a mark", marked)
	}
	for _, p := range []string{"~/.ssh", "~/.config/gh", "~/.local/share/keyrings", "~/.vault-token", "~/é/x", "~/É/x", "~/x.pem"} {
		if got := with.expand([]string{p}, []Mark{MarkOf(p)}); len(got) != 1 {
			t.Errorf("%s: %q", p, got)
		}
	}
	for _, p := range []string{"~/.sst", "~/.config/gj", "~/.local/state/keyrings"} {
		if got := with.expand([]string{p}, []Mark{MarkOf(p)}); len(got) != 0 {
			t.Errorf("%s: %q", p, got)
		}
	}
}
