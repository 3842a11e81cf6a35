package features

// MCP servers of the user's settings of agents that the box does not have: they are named once.

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/hooks"
)

// sayLeft names in one line the servers that the box does not have, once for a working folder, until there are others.
func (a *agentsOf) sayLeft(run *Run) {
	left := slices.Compact(slices.Sorted(slices.Values(a.left)))
	if a.left = nil; len(left) == 0 || run.Mode != Program || !first(run, append([]string{run.Spec.Workdir}, left...)...) {
		return
	}
	text, grants := "not in the sandbox: your MCP servers "+strings.Join(left, ", "), []string(nil)
	for _, name := range left {
		grants = append(grants, "mcp:"+name)
	}
	if fix := run.Profile.Wider(grants...); fix != "" {
		text += ": " + fix
	}
	run.Say("%s", text)
}

// first reports whether something was never told before, and remembers it by a folder. What cannot be remembered is
// told again.
func first(run *Run, parts ...string) bool {
	told := filepath.Join(run.InnerHome, "told")
	_ = os.Mkdir(told, 0o700) // it is there from the second time on
	return !os.IsExist(os.Mkdir(filepath.Join(told, hooks.NewKey(parts...)), 0o700))
}
