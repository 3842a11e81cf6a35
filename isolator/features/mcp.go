package features

// MCP servers of the user's settings of agents: those that the profile names run in the box, with the variables that
// their entries name. The others are named once.

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/hooks"
	"github.com/enr/inner/profile"
)

// passVariables lets the variables pass that the entries name. Their values are never shown.
func passVariables(rc *profile.RunConfig) {
	for _, s := range rc.Servers {
		for _, name := range s.Vars {
			if !slices.Contains(rc.Env.Inherit, name) {
				rc.Env.Inherit = append(slices.Clip(rc.Env.Inherit), name)
				rc.Env.SetFrom = append(slices.Clip(rc.Env.SetFrom), profile.KV{Key: name, Value: name})
			}
		}
	}
}

// MCP are the servers that the user's settings of the agents name here, granted or not.
func (run *Run) MCP() (list []profile.MCPServer) {
	for _, c := range run.Agents {
		list = append(list, c.MCP(run.origin())...)
	}
	return list
}

// sayLeft names in one line the servers that the box does not have: those that the profile does not name once for a
// working folder, until there are others.
func (a *agentsOf) sayLeft(run *Run) {
	left := slices.Compact(slices.Sorted(slices.Values(a.left)))
	if a.left = nil; run.Mode != Program {
		return
	}
	if named := slices.DeleteFunc(slices.Clone(left), func(name string) bool { return !run.Spec.GrantsMCP(name) }); len(named) > 0 {
		run.Warn("your MCP servers %s are left out: sandboxes can change the settings that name them", strings.Join(named, ", "))
	}
	left = slices.DeleteFunc(left, run.Spec.GrantsMCP)
	if len(left) == 0 || !first(run, append([]string{run.Spec.Workdir}, left...)...) {
		return
	}
	grants := make([]string, len(left))
	for i, name := range left {
		grants[i] = "mcp:" + name
	}
	text := "not in the sandbox: your MCP servers " + strings.Join(left, ", ")
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
