package git

import (
	"slices"
	"strings"
)

// Staged reports whether the box's git directory has, at the start, a path that the host's
// has: objects come from the host's own folder, and what people keep beside stays there.
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
