package host

import (
	"os"
	"slices"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/profile/gitconfig"
)

// How far below a writable folder repositories are looked for, and in how many folders at most:
// a start must not take long. Nearer ones come first. Then come, with as many of their own, the
// folders of packages and build results, and last node_modules, which has thousands.
const (
	repoDepth   = 4
	repoFolders = 400
)

// repositories looks for the folders with a .git in those that the box will write, the
// nearest first. What lies in one is looked at, too: repositories lie in repositories. It
// returns the folders that it did not list as well, bare repositories among them.
func (l *looker) repositories(writable []string) (tops, unseen []string) {
	type place struct {
		dir   string
		depth int
	}
	for _, root := range writable {
		queues := [3][]place{{{l.look(root).Real, 0}}}
		for class := range queues {
			for left := repoFolders; len(queues[class]) > 0; left-- {
				at := queues[class][0]
				queues[class] = queues[class][1:]
				if _, err := os.Lstat(paths.Join(at.dir, ".git")); err == nil && !slices.Contains(tops, at.dir) {
					tops = append(tops, at.dir)
				}
				if at.depth > repoDepth || left <= 0 {
					unseen = append(unseen, at.dir)
					continue
				}
				bare, folders := l.project(at.dir)
				if bare {
					unseen = append(unseen, at.dir)
				}
				for _, name := range folders {
					next := place{paths.Join(at.dir, name), at.depth + 1}
					in := max(class, classOf(name))
					if in > class {
						next.depth = 0
					}
					queues[in] = append(queues[in], next)
				}
			}
		}
	}
	return tops, unseen
}

// classOf says when a folder of that name is looked into.
func classOf(name string) int {
	switch {
	case name == "node_modules":
		return 2
	case published(name):
		return 1
	}
	return 0
}

// project reports whether a folder is a bare repository, and returns the folders in it.
func (l *looker) project(dir string) (bare bool, folders []string) {
	has := map[string]bool{}
	for _, e := range l.list(dir) {
		has[e.Name()] = true
		if e.IsDir() && e.Name() != ".git" {
			folders = append(folders, e.Name())
		}
	}
	return has["HEAD"] && has["objects"] && has["refs"], folders
}

// EverywhereHooks are the folders of hooks that the settings of the user and of the
// system name for every repository.
func EverywhereHooks(getenv func(string) string) []string {
	var out []string
	for _, e := range gitconfig.Environment(getenv).Load() {
		if e.Key == "core.hookspath" {
			out = append(out, e.Value)
		}
	}
	return out
}
