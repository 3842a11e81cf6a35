package picture

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/enr/inner/profile/capability"
)

func TestExplain(t *testing.T) {
	c, _ := capability.Find("claude")
	got := strings.Join(explain(c, "/h", false), "\n")
	want := `mounts a clone on ~/.claude (rw, 0700, gone after the run unless the box has a home of its own)
copies ~/.claude/.credentials.json, sanitised
copies ~/.claude/settings.json, sanitised
copies ~/.claude.json as ~/.claude/.claude.json, sanitised
copies ~/.claude/CLAUDE.md, and writes below it what the box may do
copies ~/.claude/agents/
copies ~/.claude/commands/
copies ~/.claude/output-styles/
copies ~/.claude/skills/
empty in it: cache/ file-history/ history/ plans/ projects/ sessions/ session-env/ shell-snapshots/ tasks/ todos/
before the copy, when the login has expired: runs claude auth status on the host; a login that stays expired stops the run
a login renewed inside stays there, or is written back to ~/.claude/.credentials.json with sync_credentials = true
sets CLAUDE_CONFIG_DIR=~/.claude
sets CLAUDE_CODE_SANDBOXED=1
sets IS_SANDBOX=1
sets DISABLE_AUTOUPDATER=1
sets CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL=1
reaches api.anthropic.com, platform.claude.com, where the network is by name
reaches the server that ANTHROPIC_BASE_URL, or your settings of it, names, where you do
starts claude with --settings {"sandbox":{"enabled":false}}
keeps a copy of its own of .claude/settings.local.json of the project, in a home of the box's own
MCP servers that mcp does not name, logins at MCP servers, plugins and the state of other projects stay behind; sessions stay in a home of the box's own, and end with the run in any other
hooks, status line and helpers whose scripts the box would not have are left out`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
