package features

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/repos"
	"github.com/enr/inner/isolator/stage"
)

// TestNoted: the end of a run trusts what its start knew of a folder only where nothing was made, renamed or removed in
// it since, whatever came to its place.
func TestNoted(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	at := func(rel string) string { return filepath.Join(top, rel) }
	for _, rel := range []string{"same", "made", "renamed", "one", "two", "gone", "new/deep", "old"} {
		must(os.MkdirAll(at(rel), 0o755))
		must(os.WriteFile(at(rel+"/file"), nil, 0o644))
	}
	must(os.WriteFile(at("renamed/envrc"), nil, 0o644))
	must(os.WriteFile(at("two/.envrc"), nil, 0o644))
	time.Sleep(1100 * time.Millisecond) // what changed in the second before a look is not trusted
	f := host.Probe(host.Begin(host.Facts{}), host.Request{Writable: []string{top}, Obeyed: []string{top}})
	used := map[string]bool{}
	s := repos.Search{Limit: time.Minute, Watched: stage.Watched{Roots: []string{top}, Obeyed: []string{top}, Before: []string{at("two/.envrc")}, Since: time.Now()}}
	time.Sleep(20 * time.Millisecond) // the clock of files has steps
	must(os.WriteFile(at("made/.envrc"), nil, 0o644))
	must(os.Rename(at("renamed/envrc"), at("renamed/.envrc")))
	must(os.Rename(at("one"), at("three")))
	must(os.Rename(at("two"), at("one")))
	must(os.RemoveAll(at("gone")))
	must(os.Rename(at("old"), at("gone")))
	must(os.WriteFile(at("gone/.mcp.json"), nil, 0o644))
	must(os.WriteFile(at("new/deep/.envrc"), nil, 0o644))
	s.Noted = func(dir string, now *syscall.Stat_t) ([]files.Entry, bool) {
		list, same := f.Notes(dir, now)
		used[dir] = same
		return list, same
	}
	found, err := s.Hold()
	must(err)
	moved := map[string]bool{}
	for _, m := range found.Moved {
		moved[m.Path] = true
	}
	for _, rel := range []string{"made/.envrc", "renamed/.envrc", "gone/.mcp.json", "new/deep/.envrc"} {
		if !moved[at(rel)] {
			t.Errorf("%s is not moved aside: %v", rel, found.Moved)
		}
	}
	if !used[at("same")] || used[at("made")] || used[at("one")] || used[at("gone")] || used[top] {
		t.Errorf("taken from the start: %v", used)
	}
}
