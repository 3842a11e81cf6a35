package features

// MCP servers of the user's settings of agents that the box does not have: they are named once.

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/hooks"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
)

// sayLeft names in one line the servers that the box does not have, and each that the profile names and that is
// not found, once for a working folder, until there are others.
func (a *agentsOf) sayLeft(run *Run) {
	left := slices.Compact(slices.Sorted(slices.Values(a.left)))
	lost := slices.DeleteFunc(slices.Clone(run.Spec.MCP), func(name string) bool {
		return name == "*" || slices.ContainsFunc(run.Spec.Servers, func(s profile.MCPServer) bool {
			_, err := run.FindReal(append(s.Command, "/")[0], plan.BoxPath(run.Spec, run.Getenv("PATH")))
			return s.Name == name && (err == nil || strings.Contains(append(s.Command, "/")[0], "/"))
		})
	})
	if a.left = nil; len(left)+len(lost) == 0 || run.Mode != Program || !first(run,
		slices.Concat([]string{run.Spec.Workdir}, left, []string{"/"}, lost)...) {
		return
	}
	for _, name := range lost {
		run.Say("MCP server %s does not start: your settings name none, or its program is not on PATH: %s",
			name, run.Profile.Question("mcp:"+name))
	}
	var grants []string
	for _, name := range left {
		grants = append(grants, "mcp:"+name)
	}
	if text := "not in the sandbox: your MCP servers " + strings.Join(left,
		", ") + ": " + run.Profile.Wider(grants...); len(left) > 0 {
		run.Say("%s", strings.TrimSuffix(text, ": "))
	}
}

// first reports whether something was never told before, and remembers it by a folder. What cannot be remembered is
// told again.
func first(run *Run, parts ...string) bool {
	told := filepath.Join(run.InnerHome, "told")
	_ = os.Mkdir(told, 0o700) // it is there from the second time on
	return !os.IsExist(os.Mkdir(filepath.Join(told, hooks.NewKey(parts...)), 0o700))
}
