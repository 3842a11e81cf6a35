package capability

import (
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/profile"
)

// What follows was measured with Claude Code 2.1.197, Gemini CLI 0.61.0, Codex
// 0.169.0 and opencode 1.18.33; Cursor's agent is unavailable without an account.

// claude is Claude Code. It replaces .claude.json by rename and keeps its MCP
// servers there, so the clone is one folder, named by CLAUDE_CONFIG_DIR, that
// holds that file too.
func claude() Capability {
	return Capability{
		Name:    "claude",
		Program: "claude",
		Updates: []string{"update", "upgrade", "install"},
		Folders: []Folder{{
			Path: "~/.claude",
			Var:  "CLAUDE_CONFIG_DIR",
			Files: []File{
				{Name: ".credentials.json", Edit: without("mcpOAuth"), Login: true},
				{Name: "settings.json", Edit: claudeSettings, Servers: []string{"env.ANTHROPIC_BASE_URL"}},
				{Name: ".claude.json", Beside: "~/.claude.json", Edit: claudeState},
				{Name: "CLAUDE.md", Only: true},
			},
			Trees:   []string{"agents", "commands", "output-styles", "skills"},
			Scripts: claudeCommands(),
			Empty:   []string{"cache", "file-history", "history", "plans", "projects", "sessions", "session-env", "shell-snapshots", "tasks", "todos"},
		}},
		Env: []profile.KV{
			// The user allowed the profile with `inner allow`: that is the trust
			// question, asked once.
			{Key: "CLAUDE_CODE_SANDBOXED", Value: "1"},
			// Root may let it run commands without asking only where this says so.
			{Key: "IS_SANDBOX", Value: "1"},
			// The program is read-only in the box.
			{Key: "DISABLE_AUTOUPDATER", Value: "1"},
			{Key: "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL", Value: "1"},
		},
		// Its own sandbox cannot start in the box, and every command would fail. The command
		// line goes before the settings of the user and the project, which it may be on in.
		Args: []string{"--settings", `{"sandbox":{"enabled":false}}`},
		Login: &Login{
			File:   ".credentials.json",
			Fields: []string{"claudeAiOauth.accessToken", "claudeAiOauth.refreshToken", "claudeAiOauth.expiresAt"},
			Stamp:  "claudeAiOauth.expiresAt",
			Ends:   true,
			Renew:  []string{"claude", "auth", "status"},
			Instead: []string{
				"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN",
				"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY",
			},
			Expired: Words{
				"Claude OAuth token is expired and could not be refreshed automatically.",
				"inner bypass claude, which renews it on the host",
			},
		},
		// "Don't ask again" is written there, in place where no file can be made beside it.
		Own: []profile.KV{{Key: ".claude/settings.local.json", Value: "{}\n"}},
		// The API, and where a login is renewed (measured: strings of the program).
		// Without statsig, Datadog, downloads and the pages of claude.ai it works.
		Hosts:     []string{"api.anthropic.com", "platform.claude.com"},
		Telemetry: []string{"statsig.anthropic.com", "http-intake.logs.us5.datadoghq.com", "browser-intake-us5-datadoghq.com"},
		Endpoints: []string{"ANTHROPIC_BASE_URL"},
		Notes: []string{
			"MCP servers, plugins and the state of other projects stay behind; sessions stay in a home of the box's own, and end with the run in any other",
			"hooks, status line and helpers whose scripts the box would not have are left out",
		},
	}
}

// claudeSettings answers the warning about commands without questions as well: whoever allowed a
// profile with that flag has read it.
func claudeSettings(doc map[string]any, _ string) {
	drop(doc, "mcpServers", "enabledPlugins")
	doc["skipDangerousModePermissionPrompt"] = true
}

// claudeState drops MCP servers and every project but this one and what lies in
// it, which go along without their servers and prompts.
func claudeState(doc map[string]any, workdir string) {
	drop(doc, "mcpServers", "githubRepoPaths")
	projects := onlyHere(doc, "projects", workdir)
	for _, path := range names(projects) {
		if here, ok := projects[path].(map[string]any); ok {
			drop(here, "mcpServers", "history")
		}
	}
}

// gemini is Gemini CLI. With GEMINI_SANDBOX = false it starts no sandbox of its own, whatever
// settings say. SANDBOX would do that, too, and is not set: it tells Gemini that whoever made the
// sandbox starts it again when it ends with code 199, as after a sign-in with Google (measured
// with 0.61.0). Without it Gemini does that itself, in the box. With file storage it asks no
// keyring: there is no session bus in the box.
func gemini() Capability {
	servers := []string{"GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL", "CODE_ASSIST_ENDPOINT"}
	return Capability{
		Name:    "gemini",
		Program: "gemini",
		Folders: []Folder{{
			Path: "~/.gemini",
			Var:  "GEMINI_CLI_HOME",
			Up:   true,
			Files: []File{
				{Name: "settings.json", Edit: geminiSettings},
				{Name: "oauth_creds.json", Login: true},
				{Name: "google_accounts.json", Login: true},
				{Name: "gemini-credentials.json", Login: true},
				{Name: ".env", Servers: servers},
				{Name: "trustedFolders.json", Edit: func(doc map[string]any, workdir string) { keepHere(doc, workdir) }},
				{Name: "GEMINI.md", Only: true},
			},
			Trees: []string{"commands"},
		}},
		Env: []profile.KV{
			{Key: "GEMINI_CLI_TRUST_WORKSPACE", Value: "true"},
			{Key: "GEMINI_FORCE_FILE_STORAGE", Value: "true"},
			{Key: "GEMINI_SANDBOX", Value: "false"},
		},
		// The API with a key, the one for those who signed in with Google, and where
		// that login is renewed. Vertex AI has a host for each region: those are for
		// network_allow.
		Hosts:     []string{"generativelanguage.googleapis.com", "cloudcode-pa.googleapis.com", "oauth2.googleapis.com", "www.googleapis.com"},
		Telemetry: []string{"play.googleapis.com"},
		Endpoints: servers,
		Notes: []string{
			"MCP servers, extensions, history and other trusted folders stay behind",
			"a key that is in the desktop's keyring stays there: GEMINI_API_KEY brings one along",
		},
	}
}

func geminiSettings(doc map[string]any, _ string) {
	drop(doc, "mcpServers", "mcp", "extensions", "sandbox", "tools.sandbox")
	general := table(doc, "general") // the program is read-only in the box
	general["enableAutoUpdate"], general["enableAutoUpdateNotification"] = false, false
}

// cursor is Cursor's agent.
func cursor() Capability {
	return Capability{
		Name:    "cursor",
		Program: "cursor-agent",
		Updates: []string{"update", "upgrade"},
		Folders: []Folder{
			{
				Path:  "~/.cursor",
				Files: []File{{Name: "cli-config.json", Edit: without("mcpServers")}},
				Trees: []string{"skills-cursor"},
				Empty: []string{"ai-tracking", "extensions", "projects"},
			},
			{Path: "~/.config/cursor", Files: []File{{Name: "auth.json", Login: true}}},
		},
		// Not measured: the agent spreads its work over hosts below this one, and
		// Cursor's own list for firewalls says so.
		Hosts: []string{"*.cursor.sh"},
		Notes: []string{"MCP servers (mcp.json), extensions and the state of projects stay behind"},
	}
}

// codex is OpenAI's Codex. Its background server would copy the program into
// the clone (400 MB) and outlive the terminal; a feature switch turns it off.
func codex() Capability {
	return Capability{
		Name:    "codex",
		Program: "codex",
		Updates: []string{"update"},
		Folders: []Folder{{
			Path: "~/.codex",
			Var:  "CODEX_HOME",
			Files: []File{
				{Name: "auth.json", Login: true},
				{Name: "config.toml", Edit: codexConfig, Servers: []string{"openai_base_url", "chatgpt_base_url", "model_providers.*.base_url"}},
				{Name: "AGENTS.md", Only: true},
			},
			Trees: []string{"prompts", "rules", "skills"},
		}},
		Login: &Login{
			File:   "auth.json",
			Fields: []string{"tokens.id_token", "tokens.access_token", "tokens.refresh_token", "last_refresh"},
			Stamp:  "last_refresh",
		},
		// The API with a key, the one for those who signed in, and where that login is
		// renewed.
		Hosts:     []string{"api.openai.com", "chatgpt.com", "auth.openai.com"},
		Telemetry: []string{"ab.chatgpt.com"},
		Endpoints: []string{"OPENAI_BASE_URL"},
		Notes: []string{
			"MCP servers, plugins, notify programs, hooks and other trusted projects stay behind",
			"no background server, no update checks; the working folder is trusted",
		},
	}
}

func codexConfig(doc map[string]any, workdir string) {
	drop(doc, "mcp_servers", "notify", "plugins", "marketplaces", "hooks", "cli_auth_credentials_store", "tui.notifications")
	doc["check_for_update_on_startup"] = false
	features := table(doc, "features")
	features["daemon_auto_start"], features["in_app_updates"] = false, false
	projects := table(doc, "projects")
	keepHere(projects, workdir)
	if _, decided := projects[workdir]; !decided {
		projects[workdir] = map[string]any{"trust_level": "trusted"}
	}
}

// opencode keeps its things where XDG says, in four folders.
func opencode() Capability {
	settings := func(name string) File {
		return File{Name: name, Edit: without("mcp", "plugin"), Servers: []string{"provider.*.options.baseURL"}}
	}
	return Capability{
		Name:    "opencode",
		Program: "opencode",
		Updates: []string{"upgrade"},
		Folders: []Folder{
			{
				Path: "~/.config/opencode", Var: "XDG_CONFIG_HOME", Up: true,
				Files: []File{settings("config.json"), settings("opencode.json"), settings("opencode.jsonc"), settings("tui.json"), {Name: "AGENTS.md", Only: true}},
				Trees: []string{"agent", "agents", "command", "commands", "themes"},
			},
			{Path: "~/.local/share/opencode", Var: "XDG_DATA_HOME", Up: true, Files: []File{{Name: "auth.json", Login: true}}},
			{Path: "~/.local/state/opencode", Var: "XDG_STATE_HOME", Up: true},
			// The list of models, public, is fetched anew otherwise.
			{Path: "~/.cache/opencode", Var: "XDG_CACHE_HOME", Up: true, Files: []File{{Name: "models.json"}}},
		},
		Env:   []profile.KV{{Key: "OPENCODE_DISABLE_AUTOUPDATE", Value: "true"}},
		Wants: []profile.KV{{Key: ".opencode/.gitignore", Value: "node_modules\npackage.json\npackage-lock.json\nbun.lock\n.gitignore\n"}},
		// Its own service, its list of models, and the providers most have a key of.
		// Any other is for network_allow.
		Hosts:     []string{"opencode.ai", "models.opencode.ai", "models.dev", "api.anthropic.com", "api.openai.com", "generativelanguage.googleapis.com"},
		Endpoints: []string{"ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"},
		Notes:     []string{"MCP servers, plugins and sessions stay behind"},
	}
}

// without is an Edit that takes values out, by their dotted paths.
func without(paths ...string) Edit {
	return func(doc map[string]any, _ string) { drop(doc, paths...) }
}

// onlyHere leaves of a table whose keys are folders those of the working folder
// and what lies in it.
func onlyHere(doc map[string]any, key, workdir string) map[string]any {
	folders, ok := doc[key].(map[string]any)
	if !ok {
		delete(doc, key)
		return nil
	}
	keepHere(folders, workdir)
	return folders
}

func keepHere(folders map[string]any, workdir string) {
	for path := range folders {
		if !paths.Below(workdir, path) {
			delete(folders, path)
		}
	}
}
