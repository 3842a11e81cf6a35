package host

import (
	"bytes"
	"os"
	"path/filepath"
)

// How far below a writable folder repositories are looked for, and in how many
// folders at most: a start must not take long. Nearer ones come first.
const (
	repoDepth   = 4
	repoFolders = 400
)

// guardAll looks for repositories in a writable folder and in the folders below
// it. What lies in one is looked at, too: repositories lie in repositories.
func (l looker) guardAll(root string) []GitGuard {
	var list []GitGuard
	level := []string{root}
	left := repoFolders
	for range repoDepth + 1 {
		var next []string
		for _, dir := range level {
			if left--; left < 0 {
				return list
			}
			for _, n := range l.list(dir) {
				switch {
				case n.name == ".git":
					list = append(list, guardGit(dir)...)
				case n.dir && !published(n.name):
					next = append(next, dir+"/"+n.name)
				}
			}
		}
		level = next
	}
	return list
}

// guardGit looks at the repository at the top of a writable folder. What git
// on the host would execute from it (hooks) or obey (config, and the files
// that redirect to another config) must stay as it is.
//
// Source: gitrepository-layout(5), git-config(1) "core.hooksPath",
// "extensions.worktreeConfig".
func guardGit(root string) []GitGuard {
	dir := filepath.Join(root, ".git")
	fi, err := os.Lstat(dir)
	if err != nil {
		return nil
	}
	if fi.Mode().IsRegular() {
		return []GitGuard{{Dir: dir, Pointer: true}}
	}
	if !fi.IsDir() {
		return []GitGuard{{Dir: dir, Link: true}}
	}
	g := GitGuard{Dir: dir}
	rels := []string{"hooks", "config", "config.worktree", "commondir", "info/attributes", "objects/info/alternates", "modules", "worktrees"}
	var links []GitGuard
	for _, rel := range rels {
		p := filepath.Join(dir, rel)
		if fi, err := os.Lstat(p); err == nil && !fi.IsDir() && !fi.Mode().IsRegular() {
			links = append(links, GitGuard{Dir: p, Link: true})
		}
	}
	if len(links) > 0 {
		return links
	}
	if p := filepath.Join(dir, "config"); !exists(p) {
		g.Missing = append(g.Missing, Placeholder{p, []byte{}})
	}
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
	// Repositories of submodules and linked worktrees have hooks, configuration
	// and pointers of their own: modules, worktrees.
	for _, rel := range rels {
		if p := filepath.Join(dir, rel); exists(p) {
			g.ReadOnly = append(g.ReadOnly, p)
		}
	}
	return []GitGuard{g}
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
