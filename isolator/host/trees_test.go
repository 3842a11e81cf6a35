package host

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The folder of an agent's work trees is made in its folder, which may be made, too, but not
// behind a link.
func TestTreesBehindLinks(t *testing.T) {
	for name, c := range map[string]struct {
		stage func(dir string) error
		want  []string
	}{
		"neither":  {func(string) error { return nil }, []string{".claude", ".claude/worktrees"}},
		"a folder": {func(dir string) error { return os.Mkdir(dir+"/.claude", 0o755) }, []string{".claude/worktrees"}},
		"both":     {func(dir string) error { return os.MkdirAll(dir+"/.claude/worktrees", 0o755) }, nil},
		"a link": {func(dir string) error {
			if err := os.Mkdir(dir+"/shared", 0o755); err != nil {
				return err
			}
			return os.Symlink("shared", dir+"/.claude")
		}, nil},
	} {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if err := c.stage(dir); err != nil {
			t.Fatal(err)
		}
		var f Facts
		newLooker().later([]Placeholder{{Path: dir + "/.claude"}, {Path: dir + "/.claude/worktrees"}}, &f)
		var got []string
		for _, p := range f.Later {
			got = append(got, p.Path[len(dir)+1:])
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
