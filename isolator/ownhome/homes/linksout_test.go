package homes

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestLinksOut(t *testing.T) {
	top := filepath.Join(t.TempDir(), "copy")
	if err := os.MkdirAll(filepath.Join(top, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	var want []string
	for name, to := range map[string]string{
		"in": "sub", "sub/in": "../sub", "sub/none": "missing", "all": ".", // stay
		"abs": "/etc", "sub/up": "../..", "sub/nowhere": "../../missing", "by": "sub/up", "away": "sub/in/../../x", // lead out
	} {
		if err := os.Symlink(to, filepath.Join(top, name)); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains([]string{"in", "sub/in", "sub/none", "all"}, name) {
			want = append(want, filepath.Join(top, name))
		}
	}
	slices.Sort(want)
	if got := LinksOut(top); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := LinksOut(filepath.Join(top, "abs")); len(got) != 1 {
		t.Errorf("a link itself: %q", got)
	}
	if got := LinksOut(filepath.Join(top, "missing")); got != nil {
		t.Errorf("nothing: %q", got)
	}
}
