package host

import (
	"bytes"
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
