package host

import "slices"

// How far below a writable folder repositories are looked for, and in how many
// folders at most: a start must not take long. Nearer ones come first.
const (
	repoDepth   = 4
	repoFolders = 400
)

// repositories looks for the folders with a .git in those that the box will write, the
// nearest first. What lies in one is looked at, too: repositories lie in repositories. It
// returns the folders that it did not look into as well, bare repositories among them.
func (l *looker) repositories(writable []string) (tops, unseen []string) {
	for _, root := range writable {
		level := []string{l.look(root).Real}
		left := repoFolders
		for depth := 0; len(level) > 0; depth++ {
			var next []string
			for _, dir := range level {
				if left--; depth > repoDepth || left < 0 {
					unseen = append(unseen, dir)
					continue
				}
				has, folders, skipped := l.project(dir)
				next, unseen = append(next, folders...), append(unseen, skipped...)
				if has[".git"] && !slices.Contains(tops, dir) {
					tops = append(tops, dir)
				}
				if has["HEAD"] && has["objects"] && has["refs"] {
					unseen = append(unseen, dir)
				}
			}
			level = next
		}
	}
	return tops, unseen
}

// project returns what git has in a folder, the folders there, and those that are not looked
// into.
func (l *looker) project(dir string) (has map[string]bool, folders, skipped []string) {
	has = map[string]bool{}
	for _, e := range l.list(dir) {
		name := e.Name()
		switch {
		case name == ".git" || name == "HEAD" || name == "objects" || name == "refs":
			has[name] = true
		}
		switch p := dir + "/" + name; {
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
