// Package starter writes the profiles that a person begins with: one for an agent in a
// project, for `inner init`, and one of a name, for `inner profile new`.
package starter

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/enr/inner/profile/capability"
)

// Agent is an agent for which there is a built-in profile.
type Agent struct {
	Command, Base, Title string // Base is the profile
	LoginHint            string // when a login may wait for the browser at a port of the box; "" when it takes a code (measured)

	capability   string
	logins, keys []string // files of its folder, and variables, that log in
}

// Agents are those that inner init offers.
func Agents() []Agent {
	return []Agent{
		{
			Command: "claude", Base: "claude-interactive", capability: "claude", Title: "Claude Code", logins: []string{".credentials.json"},
			keys: []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"},
		},
		{
			Command: "codex", Base: "codex-interactive", capability: "codex", Title: "Codex", logins: []string{"auth.json"}, keys: []string{"OPENAI_API_KEY", "CODEX_API_KEY"},
			LoginHint: `inner bypass codex login logs in outside; in the sandbox that needs publish = ["1455"] under [sandbox], where your browser comes back to`,
		},
		{Command: "cursor-agent", Base: "cursor-interactive", capability: "cursor", Title: "Cursor's agent", logins: []string{"auth.json"}, keys: []string{"CURSOR_API_KEY"}},
		{
			Command: "gemini", Base: "gemini-interactive", capability: "gemini", Title: "Gemini CLI",
			logins: []string{"oauth_creds.json", "gemini-credentials.json"}, keys: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"},
		},
		{
			Command: "opencode", Base: "opencode-interactive", capability: "opencode", Title: "opencode", logins: []string{"auth.json"},
			keys:      []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"},
			LoginHint: "inner bypass opencode auth login logs in outside; in the sandbox take the headless way where there is one, as the other waits for your browser at a port of the sandbox",
		},
	}
}

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
	if slices.ContainsFunc(g.keys, func(name string) bool { v, _ := lookup(name); return v != "" }) {
		return true
	}
	c, _ := capability.Find(g.capability, nil)
	for _, folder := range c.Folders {
		dir := folder.Source(capability.Origin{Home: home, Lookup: lookup})
		for _, name := range g.logins {
			if fi, err := os.Stat(filepath.Join(dir, name)); err == nil && fi.Size() > 0 {
				return true
			}
		}
	}
	return false
}
