package host

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/profile/gitconfig"
)

// How far below a writable folder repositories are looked for, and in how many
// folders at most: a start must not take long. Nearer ones come first.
const (
	repoDepth   = 4
	repoFolders = 400
)

// guardAll looks for repositories in a writable folder and in the folders below
// it. What lies in one is looked at, too: repositories lie in repositories.
func (l looker) guardAll(root string, roots []string) (list []GitGuard, tops []string) {
	level := []string{root}
	left := repoFolders
	for range repoDepth + 1 {
		var next []string
		for _, dir := range level {
			if left--; left < 0 {
				return list, tops
			}
			for _, n := range l.list(dir) {
				switch {
				case n.name == ".git":
					list, tops = append(list, guardGit(dir, roots...)...), append(tops, dir)
				case n.dir && !published(n.name):
					next = append(next, dir+"/"+n.name)
				}
			}
		}
		level = next
	}
	return list, tops
}

// guards looks for the repositories of the folders that the box will write, each
// once and the outer ones first. It returns the folders with a .git, too, the nearest
// first.
func (l looker) guards(writable []string) (list []GitGuard, tops []string) {
	var roots []string
	for _, w := range writable {
		roots = append(roots, l.look(w).Real)
	}
	for _, root := range roots {
		more, below := l.guardAll(root, roots)
		list = append(list, more...)
		for _, top := range below {
			if !slices.Contains(tops, top) {
				tops = append(tops, top)
			}
		}
	}
	list = resolveLinks(list, roots)
	if len(list) > 0 {
		for _, value := range EverywhereHooks() {
			for _, g := range list {
				if top := filepath.Dir(g.Dir); filepath.Base(g.Dir) == ".git" && !g.Link {
					list = append(list, guardPlace(value, top, top, roots, nil)...)
				}
			}
		}
	}
	list = resolveLinks(list, roots)
	slices.SortStableFunc(list, func(x, y GitGuard) int { return strings.Compare(x.Dir, y.Dir) })
	return slices.CompactFunc(list, func(x, y GitGuard) bool { return x.Dir == y.Dir }), tops
}

// guardGit looks at the repository at the top of a folder. A pointer leads to a
// repository somewhere else: that one counts where it lies in one of the roots,
// the folders that the box can write.
func guardGit(top string, roots ...string) []GitGuard {
	dir := filepath.Join(top, ".git")
	fi, err := os.Lstat(dir)
	switch {
	case err != nil:
		return nil
	case fi.IsDir():
		return append(guardRepo(dir), guardNamed(dir, dir, top, roots)...)
	case !fi.Mode().IsRegular():
		return []GitGuard{{Dir: dir, Link: true}}
	}
	return guardPointer(dir, top, roots)
}

// guardPointer looks at what a file in the place of a repository names: file is
// the .git of top, or what that leads to.
func guardPointer(file, top string, roots []string) []GitGuard {
	list := []GitGuard{{Dir: file, Pointer: true}}
	repo, link := pointed(file, top, "gitdir: ", roots)
	switch {
	case link:
		return append(list, GitGuard{Dir: repo, Link: true})
	case repo == "":
		return list
	}
	common, link := pointed(filepath.Join(repo, "commondir"), repo, "", roots)
	switch {
	case link:
		return append(list, GitGuard{Dir: filepath.Join(repo, "commondir"), Link: true})
	case common == "" || common == repo:
		return append(append(list, guardRepo(repo)...), guardNamed(repo, repo, top, roots)...)
	}
	list = append(append(list, guardRepo(common)...), guardWorktree(repo, common))
	return append(list, guardNamed(repo, common, top, roots)...)
}

// pointed returns the real folder that a file of git names, when it lies in one
// of the roots, and whether a link in one of them leads there: the box could
// exchange that. What it names is relative to dir.
func pointed(file, dir, prefix string, roots []string) (real string, link bool) {
	data, err := files.Head(file, files.NoLinks, 1<<20)
	target, ok := strings.CutPrefix(strings.TrimRight(string(data), "\r\n"), prefix)
	if err != nil || !ok || target == "" {
		return "", false
	}
	return inRoots(target, dir, roots)
}

// inRoots resolves a path that git reads relative to dir, see pointed.
func inRoots(target, dir string, roots []string) (real string, link bool) {
	target = strings.TrimSpace(target)
	if !filepath.IsAbs(target) {
		target = filepath.Join(dir, target)
	}
	target = filepath.Clean(target)
	inRoot := func(p string) bool {
		return slices.ContainsFunc(roots, func(root string) bool { return strings.HasPrefix(p, strings.TrimSuffix(root, "/")+"/") })
	}
	real, err := filepath.EvalSymlinks(target)
	switch {
	case err != nil:
		return "", false
	case inRoot(target) && real != target:
		return target, true
	case !inRoot(real):
		return "", false
	}
	return real, false
}

// guardRepo looks at a repository. What git on the host would execute from it
// (hooks) or obey (config, and the files that redirect to another config) must
// stay as it is.
//
// Source: gitrepository-layout(5), git-config(1) "core.hooksPath",
// "extensions.worktreeConfig".
func guardRepo(dir string) []GitGuard {
	g := GitGuard{Dir: dir}
	rels := []string{"hooks", "config", "config.worktree", "commondir", "info/attributes", "objects/info/alternates", "modules", "worktrees"}
	links := linksIn(dir, rels)
	linked := func(p string) bool { return slices.ContainsFunc(links, func(l GitGuard) bool { return l.Dir == p }) }
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
	if len(g.Missing) > 0 && !writable(dir) {
		// Nothing can be made here, and its owner could lift that from inside: git
		// cannot commit in it, so all of it stays as it is.
		return append(links, GitGuard{Dir: dir, Pointer: true})
	}
	for _, rel := range rels {
		if p := filepath.Join(dir, rel); exists(p) && !linked(p) {
			g.ReadOnly = append(g.ReadOnly, p)
		}
	}
	// No repository of a submodule or linked worktree is added: git on the host
	// would take it for its own. Those that are there have hooks, configuration
	// and pointers of their own, and are worked in.
	list := append([]GitGuard{g}, links...)
	if p := filepath.Join(dir, "modules"); linked(p) {
		return list // all of it is read-only
	}
	if p := filepath.Join(dir, "worktrees"); linked(p) {
		return list
	}
	for _, repo := range reposIn(filepath.Join(dir, "modules"), 3) {
		list[0].Open = append(list[0].Open, repo)
		list = append(list, guardRepo(repo)...)
	}
	entries, _ := os.ReadDir(filepath.Join(dir, "worktrees"))
	for _, e := range entries {
		if p := filepath.Join(dir, "worktrees", e.Name()); e.IsDir() && exists(filepath.Join(p, "commondir")) {
			list[0].Open = append(list[0].Open, p)
			list = append(list, guardWorktree(p, dir))
		}
	}
	return list
}

// guardNamed looks at what the configuration of a repository names in the roots:
// the folder of its hooks, relative to the work tree, and files it includes, also
// from a file that is included.
func guardNamed(repo, common, top string, roots []string) []GitGuard {
	var list []GitGuard
	entries, _ := gitconfig.Sources{System: os.DevNull, Global: os.DevNull, Home: os.Getenv("HOME"), GitDir: repo, CommonDir: common, Every: true}.Load()
	for _, e := range entries {
		switch {
		case e.Key == "core.hookspath":
			list = append(list, guardPlace(e.Value, top, top, roots, nil)...)
		case gitconfig.Includes(e.Key):
			list = append(list, guardPlace(e.Value, filepath.Dir(e.File), top, roots, []byte{})...)
		}
	}
	return list
}

// guardPlace guards a path that git reads relative to dir, there or not. What is
// missing has that content, nil for a folder.
func guardPlace(value, dir, top string, roots []string, content []byte) []GitGuard {
	if rest, ok := strings.CutPrefix(value, "~/"); ok {
		value = filepath.Join(os.Getenv("HOME"), rest) // as git does
	}
	if strings.TrimSpace(value) == "" || strings.ContainsRune(value, 0) {
		return nil
	}
	real, link := inRoots(value, dir, roots)
	switch {
	case real == top:
		return nil
	case real != "":
		return []GitGuard{{Dir: real, Link: link, Pointer: !link}}
	}
	// Nothing is there: it is made for the run where its folder is.
	p := value
	if !filepath.IsAbs(p) {
		p = filepath.Join(dir, p)
	}
	parent, link := inRoots(filepath.Dir(p), "/", append(slices.Clip(roots), filepath.Dir(top)))
	switch {
	case parent == "" || link:
		return nil
	case exists(p):
		return []GitGuard{{Dir: p, Link: true}}
	}
	p = filepath.Join(parent, filepath.Base(p))
	return []GitGuard{{Dir: p, Pointer: true, Missing: []Placeholder{{p, content}}}}
}

// EverywhereHooks are the folders of hooks that the settings of the user and of the
// system name for every repository.
func EverywhereHooks() []string {
	entries, _ := UserGit(os.Getenv).Load()
	var out []string
	for _, e := range entries {
		if e.Key == "core.hookspath" {
			out = append(out, e.Value)
		}
	}
	return out
}

// guardWorktree looks at what a repository keeps for a linked worktree.
func guardWorktree(dir, common string) GitGuard {
	g := GitGuard{Dir: dir}
	rels := []string{"commondir", "gitdir", "config.worktree", "modules"}
	if links := linksIn(dir, rels); len(links) > 0 {
		return GitGuard{Dir: dir, Pointer: true} // nothing git makes there is a link
	}
	for _, rel := range rels {
		if p := filepath.Join(dir, rel); exists(p) {
			g.ReadOnly = append(g.ReadOnly, p)
		}
	}
	if p := filepath.Join(dir, "config.worktree"); !exists(p) && worktreeConfig(common) {
		if !writable(dir) {
			return GitGuard{Dir: dir, Pointer: true}
		}
		g.Missing = append(g.Missing, Placeholder{p, []byte{}})
	}
	return g
}

// linksIn returns a guard for each name that is neither a file nor a folder.
func linksIn(dir string, rels []string) []GitGuard {
	var links []GitGuard
	for _, rel := range rels {
		p := filepath.Join(dir, rel)
		if fi, err := os.Lstat(p); err == nil && !fi.IsDir() && !fi.Mode().IsRegular() {
			links = append(links, GitGuard{Dir: p, Link: true})
		}
	}
	return links
}

// reposIn returns the repositories in a folder of them: a submodule is called
// after its path, so they may lie some folders deep.
func reposIn(dir string, depth int) []string {
	var out []string
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		p := filepath.Join(dir, e.Name())
		switch {
		case !e.IsDir():
		case exists(filepath.Join(p, "HEAD")):
			out = append(out, p)
		case depth > 0:
			out = append(out, reposIn(p, depth-1)...)
		}
	}
	return out
}

func exists(p string) bool {
	_, err := os.Lstat(p)
	return err == nil
}

// worktreeConfig reports whether git would read config.worktree. It errs on
// the safe side: the word is enough.
func worktreeConfig(dir string) bool {
	data, err := files.Head(filepath.Join(dir, "config"), files.NoLinks, 1<<20)
	return err == nil && bytes.Contains(bytes.ToLower(data), []byte("worktreeconfig"))
}
