package git

import (
	"slices"
	"strings"
)

// Staged reports whether a path of the host's git directory is also in the box's at the start. The
// box reads objects from the host's own folder, and gets no files that are not git's.
func Staged(rest string) bool {
	first, below, in := strings.Cut(rest, "/")
	switch first {
	case "objects":
		return !in || below == "info" || below == "pack"
	case "hooks":
		return !in || !strings.HasSuffix(below, ".sample")
	}
	return slices.Contains([]string{"HEAD", "config", "index", "packed-refs", "shallow", "info", "logs", "refs", "worktrees", "modules"}, first)
}
