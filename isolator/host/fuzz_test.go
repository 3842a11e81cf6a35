package host

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// FuzzLook: what a path leads to is what the kernel says, whatever links there are and
// whether its folder was read whole or not.
func FuzzLook(f *testing.F) {
	f.Add("a", "b", "..", "/", "a/b/c")
	f.Add("loop", ".", "x/../..", "//b", "l1/l2/l3")
	f.Add("l2", "l1", "missing/deep", "../../..", "l1/x")
	f.Fuzz(func(t *testing.T, to1, to2, to3, to4, ask string) {
		root, err := filepath.EvalSymlinks(t.TempDir())
		must(t, err)
		must(t, os.MkdirAll(root+"/a/b", 0o700))
		must(t, os.WriteFile(root+"/a/b/c", nil, 0o600))
		for at, to := range map[string]string{"l1": to1, "a/l2": to2, "l3": to3, "a/b/l4": to4} {
			if to != "" && !strings.ContainsRune(to, 0) && len(to) < 1000 {
				if strings.HasPrefix(to, "/") {
					to = root + to
				}
				must(t, os.Symlink(to, filepath.Join(root, at)))
			}
		}
		if strings.ContainsRune(ask, 0) || len(ask) > 1000 {
			return
		}
		var paths []string
		for _, rel := range []string{ask, "l1/" + ask, "a/l2/" + ask, "l3/" + ask, "a/b/l4/" + ask, "l1", "a/l2", "l3", "a/b/l4", "l1/b/c", "l3/l2/l4"} {
			paths = append(paths, filepath.Join(root, filepath.Clean("/"+rel)))
		}
		one := newLooker()
		whole := newLooker()
		for _, p := range paths {
			whole.names(filepath.Dir(p))
		}
		for _, p := range paths {
			got := one.look(p)
			if again := whole.look(p); again.Kind != got.Kind || again.Real != got.Real {
				t.Fatalf("%s: %+v, and %+v of a folder that was read whole", p, got, again)
			}
			real, err := filepath.EvalSymlinks(p)
			switch {
			case err == nil && (got.Real != real || got.Kind == Missing):
				t.Fatalf("%s: %+v, and it is %s", p, got, real)
			case err != nil && (got.Kind == File || got.Kind == Dir):
				t.Fatalf("%s: %+v, and it cannot be had: %v", p, got, err)
			case !filepath.IsAbs(got.Real) || filepath.Clean(got.Real) != got.Real:
				t.Fatalf("%s: %+v is no clean path", p, got)
			}
		}
	})
}

// FuzzNamed: whatever a repository says of itself, what is noted as named by its settings lies
// in the folder the box can write, and what git would run hooks from there is noted.
func FuzzNamed(f *testing.F) {
	f.Add("[core]\n\thooksPath = .githooks\n", "tools")
	f.Add("[core] hookspath=\"a b\"\n[include]\npath = ../x", "..")
	f.Add("[core]\nhooksPath = tools\\\n/x", ".")
	f.Add("[includeIf \"gitdir:/\"]\n\tpath = inc\n", ".git/config")
	f.Fuzz(func(t *testing.T, config, link string) {
		base, err := filepath.EvalSymlinks(t.TempDir())
		must(t, err)
		t.Setenv("HOME", base+"/home")
		t.Setenv("XDG_CONFIG_HOME", "")
		t.Setenv("GIT_CONFIG_GLOBAL", "")
		root := base + "/root"
		for _, dir := range []string{".git/objects", ".git/refs", "tools/x"} {
			must(t, os.MkdirAll(filepath.Join(root, dir), 0o700))
		}
		for name, text := range map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/config": config} {
			must(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
		}
		if link != "" && !strings.ContainsRune(link, 0) && len(link) < 1000 {
			must(t, os.Symlink(link, root+"/link"))
		}
		facts := Facts{Home: base + "/home", Env: Environment(os.Environ()), Paths: map[string]Path{}}
		wanted := newLooker().obeyed(Request{Writable: []string{root}}, &facts)
		named := facts.Named
		in := func(p string) bool { return strings.HasPrefix(p, root+"/") }
		for _, p := range named {
			if !in(p) {
				t.Fatalf("%s is noted, outside of %s", p, root)
			}
		}
		for _, w := range wanted {
			if !slices.Contains(named, w.Path) {
				t.Fatalf("%s may be made, and is not noted", w.Path)
			}
		}
		git := exec.Command("/usr/bin/git", "-C", root, "rev-parse", "--git-path", "hooks")
		git.Env = []string{"HOME=" + base + "/home", "PATH=/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM=1"}
		out, err := git.Output()
		if err != nil {
			return // git stops at what is written there
		}
		hooks := strings.TrimSuffix(string(out), "\n")
		if !filepath.IsAbs(hooks) {
			hooks = filepath.Join(root, hooks)
		}
		real, err := filepath.EvalSymlinks(hooks)
		if err != nil {
			if parent, perr := filepath.EvalSymlinks(filepath.Dir(hooks)); perr == nil {
				real, err = filepath.Join(parent, filepath.Base(hooks)), nil
			}
		}
		if err != nil || !in(real) {
			return
		}
		if !slices.ContainsFunc(append(named, root+"/.git"), func(c string) bool {
			return c == real || strings.HasPrefix(real, c+"/") || c == filepath.Clean(hooks) || strings.HasPrefix(filepath.Clean(hooks), c+"/")
		}) {
			t.Fatalf("git would run what is in %q (%q), and noted is %q", real, config, named)
		}
	})
}
