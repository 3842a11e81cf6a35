package host

import (
	"bytes"
	"os"
	"path/filepath"
)

// guardAll looks for repositories at the top of a writable folder and in the
// folders right below it.
func guardAll(root string) []GitGuard {
	var list []GitGuard
	if g, ok := guardGit(root); ok {
		list = append(list, g)
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		return list
	}
	for _, e := range entries {
		if e.IsDir() && e.Name() != ".git" {
			if g, ok := guardGit(filepath.Join(root, e.Name())); ok {
				list = append(list, g)
			}
		}
	}
	return list
}

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
		return GitGuard{Dir: dir, Link: true}, true
	}
	g := GitGuard{Dir: dir}
	if !exists(filepath.Join(dir, "hooks")) {
		g.Missing = append(g.Missing, Placeholder{Path: filepath.Join(dir, "hooks")})
	}
	if !exists(filepath.Join(dir, "commondir")) {
		// "." is where git looks without the file (gitrepository-layout(5)).
		g.Missing = append(g.Missing, Placeholder{filepath.Join(dir, "commondir"), []byte(".\n")})
	}
	if p := filepath.Join(dir, "config.worktree"); !exists(p) && worktreeConfig(dir) {
		g.Missing = append(g.Missing, Placeholder{p, []byte{}})
	}
	add := func(rel string) {
		p := filepath.Join(dir, rel)
		if fi, err := os.Lstat(p); err == nil && (fi.IsDir() || fi.Mode().IsRegular()) {
			g.ReadOnly = append(g.ReadOnly, p)
		}
	}
	for _, rel := range []string{"hooks", "config", "config.worktree", "commondir", "info/attributes", "objects/info/alternates"} {
		add(rel)
	}
	// Repositories of submodules and linked worktrees, with hooks, configuration
	// and pointers of their own.
	add("modules")
	add("worktrees")
	return g, true
}

func exists(p string) bool {
	_, err := os.Lstat(p)
	return err == nil
}

// worktreeConfig reports whether git would read config.worktree. It errs on
// the safe side: the word is enough.
func worktreeConfig(dir string) bool {
	data, err := os.ReadFile(filepath.Join(dir, "config"))
	return err == nil && bytes.Contains(bytes.ToLower(data), []byte("worktreeconfig"))
}
