package caller

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// INNER_HOME is a folder and not a name: links on the way to it are resolved, also before it
// is made, and one that is or holds the home is refused under any name.
func TestFolders(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir+"/disk/ann", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("disk", dir+"/home"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ home, inner, want, fault string }{
		{"home/ann", "", "disk/ann/.inner", ""},
		{"disk/ann", "", "disk/ann/.inner", ""},
		{"home/ann", "home/ann/x/y", "disk/ann/x/y", ""},
		{"home/ann", "home", "disk", "holds your home folder"},
		{"home/ann", "disk/ann", "disk/ann", "holds your home folder"},
	} {
		env := map[string]string{"HOME": filepath.Join(dir, c.home)}
		if c.inner != "" {
			env["INNER_HOME"] = filepath.Join(dir, c.inner)
		}
		home, inner, err := Folders(func(name string) string { return env[name] })
		if home != env["HOME"] || inner != filepath.Join(dir, c.want) {
			t.Errorf("%+v: %s, %s", c, home, inner)
		}
		if (err != nil) != (c.fault != "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%+v: %v", c, err)
		}
		who := Caller{Home: home, InnerHome: inner}
		if got := who.Short(filepath.Join(dir, "disk/ann/x")); got != "~/x" {
			t.Errorf("%+v: in short %s", c, got)
		}
	}
}
