package changes

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/isolator"
)

// Protected reports whether the host would later run or obey what is at a path
// of an original: git's hooks and configuration, inner's profiles, what editors
// and agents read in a project, start-up files of the homes. A box that works
// on the original cannot write these; they are applied only when they are
// named on purpose. Case is ignored: a file system may do the same.
func Protected(full string, homes []string) bool {
	parts := strings.Split(strings.ToLower(strings.TrimPrefix(full, "/")), "/")
	for i, part := range parts {
		rest := parts[i+1:]
		switch {
		case part == ".inner":
			return true
		case part == ".git" && obeyed(rest):
			return true
		}
		for _, name := range isolator.LaterNames() {
			want := strings.Split(strings.ToLower(name), "/")
			if len(parts)-i >= len(want) && slices.Equal(parts[i:i+len(want)], want) {
				return true
			}
		}
	}
	for _, home := range homes {
		for _, name := range isolator.StartupNames() {
			if p := filepath.Join(home, name); full == p || strings.HasPrefix(full, p+"/") {
				return true
			}
		}
	}
	return false
}

// obeyed reports whether git runs or obeys a path below .git, or .git itself
// when it is no folder.
func obeyed(rest []string) bool {
	if len(rest) == 0 {
		return false // the folder; a file or link of that name is told by its kind
	}
	switch rest[0] {
	case "hooks", "config", "config.worktree", "commondir", "gitdir", "modules", "worktrees", "info",
		"rebase-merge", "rebase-apply", "sequencer": // the last three hold commands of a rebase to be continued
		return true
	case "objects":
		return len(rest) > 1 && rest[1] == "info"
	}
	return false
}

// ProtectedChange is Protected for a change: it also knows pointers to another
// repository.
func ProtectedChange(c Change, homes []string) bool {
	pointer := strings.EqualFold(filepath.Base(c.Path), ".git") && (c.New != 0 && !c.New.IsDir() || c.Old != 0 && !c.Old.IsDir())
	return pointer || Protected(c.Full(), homes)
}
