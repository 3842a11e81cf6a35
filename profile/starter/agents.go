// Package starter writes the profiles that a person begins with: one for an agent in a
// project, for `inner init`, and one of a name, for `inner profile new`.
package starter

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/capability"
)

// Agent is an agent for which there is a built-in profile.
type Agent struct {
	Command, Base, Title string // Base is the profile
	LoginHint            string

	capability capability.Capability
}

// Agents are those that inner init offers, by their commands.
func Agents() []Agent { return agents() }

var agents = sync.OnceValue(func() (list []Agent) {
	for _, name := range profile.Capabilities() {
		c, _ := capability.Find(name)
		list = append(list, Agent{Command: c.Program, Base: name + "-interactive", Title: c.Title, LoginHint: c.Hint, capability: c})
	}
	slices.SortFunc(list, func(a, b Agent) int { return strings.Compare(a.Command, b.Command) })
	return list
})

// AgentNames are the commands of the agents.
func AgentNames() (names []string) {
	for _, g := range Agents() {
		names = append(names, g.Command)
	}
	return names
}

// AgentOf is the agent of a command, nil when there is none.
func AgentOf(command string) *Agent {
	for _, g := range Agents() {
		if g.Command == command {
			return &g
		}
	}
	return nil
}

// LoggedIn reports whether a login of the agent is on this host.
func (g Agent) LoggedIn(home string, lookup func(string) (string, bool)) bool {
	if slices.ContainsFunc(g.capability.Keys, func(name string) bool { v, _ := lookup(name); return v != "" }) {
		return true
	}
	for _, folder := range g.capability.Folders {
		dir := folder.Source(capability.Origin{Home: home, Lookup: lookup})
		for _, name := range g.capability.Logins {
			if fi, err := os.Stat(filepath.Join(dir, name)); err == nil && fi.Size() > 0 {
				return true
			}
		}
	}
	return false
}
