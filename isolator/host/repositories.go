package host

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/paths"
)

// How far below a writable folder repositories are looked for, and in how many
// folders at most: a start must not take long. Nearer ones come first. Then come the folders
// of packages and build results: in as many of these, and in the folders in them.
const (
	repoDepth   = 4
	repoFolders = 400
)

// repositories looks for the folders with a .git in those that the box will write, the
// nearest first. What lies in one is looked at, too: repositories lie in repositories. It
// returns the folders that it did not look into as well, bare repositories among them.
func (l *looker) repositories(writable []string) (tops, unseen []string) {
	for _, root := range writable {
		type place struct {
			dir   string
			depth int
		}
		queue := []place{{l.look(root).Real, 0}}
		var packages []string
		for left := repoFolders; len(queue) > 0; left-- {
			at := queue[0]
			queue = queue[1:]
			if at.depth > repoDepth || left <= 0 {
				unseen = append(unseen, at.dir)
				continue
			}
			has, folders, skipped := l.project(at.dir)
			packages = append(packages, skipped...)
			for _, dir := range folders {
				queue = append(queue, place{dir, at.depth + 1})
			}
			if has[".git"] && !slices.Contains(tops, at.dir) {
				tops = append(tops, at.dir)
			}
			if has["HEAD"] && has["objects"] && has["refs"] {
				unseen = append(unseen, at.dir)
			}
		}
		tops = append(tops, l.inPackages(packages)...)
		unseen = append(unseen, packages...)
	}
	return tops, unseen
}

// inPackages returns the repositories in folders of packages and build results, two levels down
// (vendor/ORG/NAME, build/_deps/NAME), one in node_modules but for its scopes (@ORG/NAME). Only
// their .git is asked for.
func (l *looker) inPackages(dirs []string) (tops []string) {
	type place struct {
		dir  string
		last bool
	}
	var queue []place
	for _, dir := range dirs {
		queue = append(queue, place{dir, false})
	}
	for left := repoFolders; len(queue) > 0 && left > 0; left-- {
		at := queue[0]
		queue = queue[1:]
		for _, e := range l.list(at.dir) {
			if !e.IsDir() {
				continue
			}
			dir := paths.Join(at.dir, e.Name())
			if _, err := os.Lstat(paths.Join(dir, ".git")); err == nil && e.Name() != ".git" {
				tops = append(tops, dir)
			}
			if !at.last && (filepath.Base(at.dir) != "node_modules" || strings.HasPrefix(e.Name(), "@")) {
				queue = append(queue, place{dir, true})
			}
		}
		if at.last {
			continue
		}
		if _, err := os.Lstat(paths.Join(at.dir, ".git")); err == nil {
			tops = append(tops, at.dir)
		}
	}
	return tops
}

// Packaged reports whether a path leads through a folder of packages or build results.
func Packaged(rel string) bool { return slices.ContainsFunc(strings.Split(rel, "/"), published) }

// project returns what git has in a folder, the folders there, and those that are not looked
// into.
func (l *looker) project(dir string) (has map[string]bool, folders, skipped []string) {
	has = map[string]bool{}
	for _, e := range l.list(dir) {
		name := e.Name()
		switch name {
		case ".git", "HEAD", "objects", "refs":
			has[name] = true
		}
		switch p := paths.Join(dir, name); {
		case !e.IsDir() || name == ".git":
		case published(name):
			skipped = append(skipped, p)
		default:
			folders = append(folders, p)
		}
	}
	return has, folders, skipped
}

// EverywhereHooks are the folders of hooks that the settings of the user and of the
// system name for every repository.
func EverywhereHooks(getenv func(string) string) []string {
	entries, _ := UserGit(getenv).Load()
	var out []string
	for _, e := range entries {
		if e.Key == "core.hookspath" {
			out = append(out, e.Value)
		}
	}
	return out
}
