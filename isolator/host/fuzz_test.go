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
		one := looker{dirs: map[string]Path{}, names: map[string][]name{}, meant: map[string][]string{}, held: map[string]map[string]bool{}}
		whole := looker{dirs: map[string]Path{}, names: map[string][]name{}, meant: map[string][]string{}, held: map[string]map[string]bool{}}
		var all []string
		for _, p := range paths {
			for range many {
				all = append(all, p)
			}
		}
		whole.listFull(all)
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

// FuzzGuards: whatever a repository says of itself, what is guarded lies in the folder
// the box can write, and what git would run hooks from there is guarded.
func FuzzGuards(f *testing.F) {
	f.Add("[core]\n\thooksPath = .githooks\n", "gitdir: ../.git/modules/x", "../..", "tools")
	f.Add("[core] hookspath=\"a b\"\n[include]\npath = ../x", "gitdir: /", "/", "..")
	f.Add("[core]\nhooksPath = tools\\\n/x", "gitdir: ", "", ".")
	f.Add("[includeIf \"gitdir:/\"]\n\tpath = inc\n", "gitdir: ../sub", ".", ".git/config")
	f.Fuzz(func(t *testing.T, config, pointer, common, link string) {
		base, err := filepath.EvalSymlinks(t.TempDir())
		must(t, err)
		t.Setenv("HOME", base+"/home")
		t.Setenv("XDG_CONFIG_HOME", "")
		t.Setenv("GIT_CONFIG_GLOBAL", "")
		root := base + "/root"
		for _, dir := range []string{".git/objects", ".git/refs", ".git/modules/x", ".git/worktrees/w", "sub", "tools/x", "w"} {
			must(t, os.MkdirAll(filepath.Join(root, dir), 0o700))
		}
		for name, text := range map[string]string{
			".git/HEAD": "ref: refs/heads/main\n", ".git/config": config, ".git/modules/x/HEAD": "", ".git/modules/x/config": config,
			".git/worktrees/w/commondir": common, "sub/.git": pointer, "w/.git": "gitdir: ../.git/worktrees/w\n",
		} {
			must(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
		}
		if link != "" && !strings.ContainsRune(link, 0) && len(link) < 1000 {
			must(t, os.Symlink(link, root+"/link"))
		}
		l := looker{dirs: map[string]Path{}, names: map[string][]name{}, meant: map[string][]string{}, held: map[string]map[string]bool{}}
		guards, _ := l.guards([]string{root})
		in := func(p string) bool { return p == root || strings.HasPrefix(p, root+"/") }
		var covered []string
		for _, g := range guards {
			if !in(g.Dir) {
				t.Fatalf("%s is guarded, outside of %s", g.Dir, root)
			}
			for _, m := range g.Missing {
				if !in(m.Path) || exists(m.Path) {
					t.Fatalf("%s is to be made", m.Path)
				}
				covered = append(covered, m.Path)
			}
			for _, p := range g.ReadOnly {
				if !in(p) || !exists(p) {
					t.Fatalf("%s is to be covered", p)
				}
			}
			covered = append(covered, g.ReadOnly...)
			if g.Pointer || g.Link {
				covered = append(covered, g.Dir)
			}
		}
		if !slices.Contains(covered, root+"/.git/config") || !slices.Contains(covered, root+"/.git/hooks") {
			t.Fatalf("the repository itself is not guarded: %q", covered)
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
		if err != nil || !in(real) || real == root {
			return
		}
		if !slices.ContainsFunc(covered, func(c string) bool {
			return c == real || strings.HasPrefix(real, c+"/") || c == filepath.Clean(hooks) || strings.HasPrefix(filepath.Clean(hooks), c+"/")
		}) {
			t.Fatalf("git would run what is in %q (%q), and guarded is %q", real, config, covered)
		}
	})
}
