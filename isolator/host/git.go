package host

import (
	"os"
	"path/filepath"
)

// guardGit looks at the repository at the top of a writable folder. What git
// on the host would execute from it (hooks) or obey (config, and the files
// that redirect to another config) must stay as it is.
//
// Source: gitrepository-layout(5), git-config(1) "core.hooksPath",
// "extensions.worktreeConfig".
func guardGit(root string) (GitGuard, bool) {
	dir := filepath.Join(root, ".git")
	fi, err := os.Lstat(dir)
	if err != nil {
		return GitGuard{}, false
	}
	if fi.Mode().IsRegular() {
		return GitGuard{Dir: dir, Pointer: true}, true
	}
	if !fi.IsDir() {
		// A link: what it leads to is guarded where it is, if it is a folder.
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return GitGuard{}, false
		}
		if fi, err = os.Lstat(real); err != nil || !fi.IsDir() {
			return GitGuard{}, false
		}
		dir = real
	}
	g := GitGuard{Dir: dir}
	add := func(rel string) {
		p := filepath.Join(dir, rel)
		if fi, err := os.Lstat(p); err == nil && (fi.IsDir() || fi.Mode().IsRegular()) {
			g.ReadOnly = append(g.ReadOnly, p)
		}
	}
	for _, rel := range []string{"hooks", "config", "config.worktree", "commondir", "info/attributes", "objects/info/alternates"} {
		add(rel)
	}
	mods, _ := filepath.Glob(filepath.Join(dir, "modules", "*"))
	for _, m := range mods {
		rel, err := filepath.Rel(dir, m)
		if err != nil {
			continue
		}
		add(filepath.Join(rel, "hooks"))
		add(filepath.Join(rel, "config"))
	}
	return g, true
}
