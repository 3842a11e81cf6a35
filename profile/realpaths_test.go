package profile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/enr/inner/internal/files"
)

// A link in a folder that a box can write is the box's choice: whatever the profile
// asks for through one is refused, and the same link elsewhere is the user's own.
func TestLinksOfBoxes(t *testing.T) {
	const refused = "leads through the link"
	for _, c := range []struct{ name, text, want string }{
		{"below the working folder, read-only", "[sandbox]\nworkdir_mode = \"ro\"\n[mounts]\n\"${workdir}/out\" = \"rw\"", refused},
		{"below the working folder, not mounted", "[sandbox]\nworkdir_mode = \"none\"\n[mounts]\n\"${workdir}/out\" = { dest = \"/mnt\", mode = \"ro\" }", refused},
		{"a link to a file", "[mounts]\n\"${workdir}/note\" = { dest = \"/tmp/note\", mode = \"ro\" }", refused},
		{"a link further up", "[mounts]\n\"${workdir}/pkg/up/data\" = { dest = \"/mnt\", mode = \"ro\" }", refused},
		{"a link that stays in the project", "[mounts]\n\"${workdir}/inside\" = { dest = \"/mnt\", mode = \"safe-rw\" }", refused},
		{"below the project by another name", "[mounts]\n\"~/alias/out\" = { dest = \"/mnt\" }", refused},
		{"below another mount", "[mounts]\n\"~/box\" = \"rw\"\n\"~/box/out\" = { dest = \"/mnt\" }", refused},
		{"below another mount, home_allow", "[sandbox]\nhome = \"isolated\"\nhome_allow = [\"~/box/out\"]\n[mounts]\n\"~/box\" = \"rw\"", refused},
		{"the working folder itself", "[mounts]\n\"~/box\" = \"rw\"\n[entrypoint]\nworkdir = \"~/box/out\"", refused},
		{"the log", "[output]\nlog = \"~/src/app/out\"", refused},
		{"below a folder of another run", "[mounts]\n\"~/other/out\" = { dest = \"/mnt\" }", refused},
		{"a missing name behind a link", "[sandbox]\nhome = \"isolated\"\nhome_allow = [\"~/src/app/out/later\"]", refused},
		{"a link of the user's own", "[mounts]\n\"~/own\" = { dest = \"/mnt\" }", ""},
		{"the way to the project", "[mounts]\n\"~/alias/data\" = { dest = \"/mnt\" }", ""},
		{"no link at all", "[mounts]\n\"${workdir}/data\" = { dest = \"/mnt\", mode = \"rw\" }", ""},
		{"below a mount that nobody can write", "[mounts]\n\"~/box\" = \"ro\"\n\"~/box/out\" = { dest = \"/mnt\" }", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, p := resolveWorld(t, c.text)
			for link, target := range map[string]string{
				"src/app/out": "../../data", "src/app/note": "../../file", "src/app/pkg/up": "../..", "src/app/inside": "data",
				"box/out": "../data", "other/out": "../data", "own": "data",
			} {
				must(t, os.Symlink(target, filepath.Join(w.home, link)))
			}
			must(t, os.MkdirAll(filepath.Join(w.home, "src/data"), 0o700))
			ctx := w.context()
			ctx.Written = func(dir string) bool { return dir == filepath.Join(w.home, "other") }
			_, err := p.Resolve(ctx)
			switch {
			case c.want == "" && err != nil && strings.Contains(err.Error(), refused), c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// Grants name and compare where a path really leads.
func TestGrantsAreRealPaths(t *testing.T) {
	w, p := resolveWorld(t, "[mounts]\n\"$WHERE\" = { dest = \"/tmp/there\", mode = \"rw\" }")
	must(t, os.Symlink("data", filepath.Join(w.home, "own")))
	grants := func(where string) []Grant {
		ctx := w.context()
		lookup := ctx.Lookup
		ctx.Lookup = func(name string) (string, bool) {
			if name == "WHERE" {
				return where, true
			}
			return lookup(name)
		}
		rc, err := p.Resolve(ctx)
		must(t, err)
		return Grants(rc)
	}
	before := grants(w.home + "/own")
	if got, want := before[1].Text, "can change files in: ~/src/app, ~/own → ~/data (there as /tmp/there)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if wider, narrower := DiffGrants(before, grants(w.home+"/data")); len(wider)+len(narrower) > 0 {
		t.Errorf("the same folder by another name: %v %v", wider, narrower)
	}
	wider, _ := DiffGrants(before, grants(w.home+"/box"))
	if got, want := lines(wider), "writes\tcan change files in: ~/box (there as /tmp/there)\n"; got != want {
		t.Errorf("another folder: %q, want %q", got, want)
	}
	must(t, os.Remove(w.home+"/own"))
	must(t, os.Symlink("box", filepath.Join(w.home, "own")))
	if wider, _ = DiffGrants(before, grants(w.home+"/own")); len(wider) != 1 {
		t.Errorf("a link that leads elsewhere now: %v", wider)
	}
}

func TestFollow(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	must(t, os.MkdirAll(dir+"/a/b", 0o700))
	for name, target := range map[string]string{"abs": dir + "/a", "rel": "a/../a/./b", "chain": "rel", "loop": "loop", "dead": "nowhere/x", "a/up": "..", "a/b/file": "/etc/passwd"} {
		must(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	for _, c := range []struct {
		path, real string
		links      []string
	}{
		{"a/b", "a/b", nil},
		{"missing/x", "missing/x", nil},
		{"a/../missing/../a/b/", "a/b", nil},
		{"abs/b", "a/b", []string{"abs"}},
		{"chain", "a/b", []string{"chain", "rel"}},
		{"dead/y", "nowhere/x/y", []string{"dead"}},
		{"a/up/a/up/a/b", "a/b", []string{"a/up", "a/up"}},
	} {
		links, real, err := files.Follow(filepath.Join(dir, c.path))
		must(t, err)
		var names []string
		for _, link := range links {
			name, _ := filepath.Rel(dir, link.Path)
			names = append(names, name)
		}
		if rel, _ := filepath.Rel(dir, real); rel != c.real || cmp.Diff(c.links, names) != "" {
			t.Errorf("%s: %s %q, want %s %q", c.path, rel, links, c.real, c.links)
		}
		want, err := filepath.EvalSymlinks(filepath.Join(dir, c.path))
		if err == nil && want != real {
			t.Errorf("%s: %s, and EvalSymlinks says %s", c.path, real, want)
		}
		if at, at2 := files.Eval(filepath.Join(dir, c.path)); at != want || errors.Is(at2, fs.ErrNotExist) != errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %s %v, and EvalSymlinks says %s %v", c.path, at, at2, want, err)
		}
	}
	if _, _, err := files.Follow(dir + "/loop"); err == nil {
		t.Error("a loop has no end")
	}
}
