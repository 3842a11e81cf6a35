package capability

import "github.com/enr/inner/profile"

// claude is Claude Code. It replaces .claude.json by rename and keeps its MCP
// servers there, so the clone is one folder, named by CLAUDE_CONFIG_DIR, that
// holds that file too (measured with Claude Code 2.1.197).
func claude() Capability {
	return Capability{
		Name:   "claude",
		Folder: "~/.claude",
		Files: []File{
			{From: "~/.claude/.credentials.json", To: ".credentials.json", Edit: claudeCredentials},
			{From: "~/.claude/settings.json", To: "settings.json", Edit: claudeSettings},
			{From: "~/.claude.json", To: ".claude.json", Edit: claudeState},
		},
		Trees: []string{"skills"},
		Empty: []string{"projects", "sessions", "todos", "tasks", "cache"},
		Env: []profile.KV{
			{Key: "CLAUDE_CONFIG_DIR", Value: "~/.claude"},
			// The user approved the profile with `inner allow`: that is the trust
			// question, asked once.
			{Key: "CLAUDE_CODE_SANDBOXED", Value: "1"},
			// The program is read-only in the box.
			{Key: "DISABLE_AUTOUPDATER", Value: "1"},
			{Key: "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL", Value: "1"},
		},
		Notes: []string{
			"your login (.credentials.json) and preferences (settings.json, skills/) are copied for this run",
			"MCP servers, plugins and other projects' state stay behind",
			"sessions and refreshed tokens end with the run",
		},
	}
}

// claudeCredentials drops the tokens of MCP servers, which stay behind.
func claudeCredentials(doc map[string]any, _ string) { delete(doc, "mcpOAuth") }

// claudeSettings drops what would start programs of the host inside.
func claudeSettings(doc map[string]any, _ string) {
	delete(doc, "mcpServers")
	delete(doc, "enabledPlugins")
}

// claudeState drops MCP servers and every project but this one, which goes
// along without its servers and prompts.
func claudeState(doc map[string]any, workdir string) {
	delete(doc, "mcpServers")
	projects, _ := doc["projects"].(map[string]any)
	here, _ := projects[workdir].(map[string]any)
	if projects == nil {
		return
	}
	kept := map[string]any{}
	if here != nil {
		delete(here, "mcpServers")
		delete(here, "history")
		kept[workdir] = here
	}
	doc["projects"] = kept
}
