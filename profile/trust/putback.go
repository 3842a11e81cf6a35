package trust

import (
	"bytes"
	"path/filepath"

	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/profile/capability"
)

// maxIndex bounds the index of git that is looked into.
const maxIndex = 256 << 20

// PutBack says how a file of a project comes back that was allowed and is gone: from git, when
// its index has it, by inner init for one of the agents, or for a config.toml as an empty one. It never names
// revoke, after which the command would run outside of any sandbox.
func PutBack(root, path string) string {
	rel, err := filepath.Rel(root, path)
	index, _ := files.Read(filepath.Join(root, ".git/index"), files.NoLinks, maxIndex)
	if err == nil && bytes.Contains(index, []byte(rel+"\x00")) {
		return "git -C " + quote.POSIX(root) + " checkout -- " + quote.POSIX(rel)
	}
	if name := nameOf(path); capability.IsProgram(name) {
		return "cd " + quote.POSIX(root) + " && inner init " + name
	}
	if filepath.Base(path) == "config.toml" { // an empty one is allowed after it was shown what no longer holds
		return "mkdir -p " + quote.POSIX(filepath.Dir(path)) + " && touch " + quote.POSIX(path) + " && inner allow " + quote.POSIX(root)
	}
	return "bring back " + quote.POSIX(path)
}
