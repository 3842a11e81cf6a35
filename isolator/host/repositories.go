package host

import (
	"os"
	"slices"
)

// How far below a writable folder repositories are looked for, and in how many
// folders at most: a start must not take long. Nearer ones come first.
const (
	repoDepth   = 4
	repoFolders = 400
)

// repositories looks for the folders with a .git in those that the box will write, the
// nearest first. What lies in one is looked at, too: repositories lie in repositories.
func (l looker) repositories(writable []string) (tops []string) {
	for _, root := range writable {
		level := []string{l.look(root).Real}
		left := repoFolders
		for range repoDepth + 1 {
			var next []string
			for _, dir := range level {
				if left--; left < 0 {
					break
				}
				for _, n := range l.list(dir) {
					switch {
					case n.name == ".git" && !slices.Contains(tops, dir):
						tops = append(tops, dir)
					case n.dir && n.name != ".git" && !published(n.name):
						next = append(next, dir+"/"+n.name)
					}
				}
			}
			level = next
		}
	}
	return tops
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
