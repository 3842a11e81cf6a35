package capability

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestMCP reads entries as each agent has them, and shows nothing of them that may be a secret.
func TestMCP(t *testing.T) {
	for _, c := range []struct{ agent, file, text, want string }{
		{
			"claude", ".claude.json",
			`{"mcpServers":{"b":{"command":"npx","args":["-y","@scope/server-name-that-is-long-enough","--token=abc"],"env":{"K":"${B_TOKEN:-none}","L":"literal"}},
				"c":{"type":"http","url":"https://me:pass@c.example/secret?key=x","headers":{"Authorization":"Bearer ${C_TOKEN}"}}},
			"projects":{"/w":{"mcpServers":{"a":{"command":"server","args":["--api-key","abc"]}}},"/other":{"mcpServers":{"d":{"command":"d"}}}}}`,
			"a (server …), b (npx @scope/server-name-that-is-long-enough; gets B_TOKEN), c (https://c.example; gets C_TOKEN)",
		},
		{
			"codex", ".codex/config.toml",
			"[mcp_servers.a]\ncommand = \"uvx\"\nargs = [\"pkg\"]\nenv_vars = [\"A_VAR\", \"*\"]\n[mcp_servers.b]\nurl = \"https://b.example/mcp\"\nbearer_token_env_var = \"B_VAR\"\nenv_http_headers = { \"X-Key\" = \"C_VAR\" }\n",
			"a (uvx pkg; gets A_VAR), b (https://b.example; gets B_VAR; gets C_VAR)",
		},
		{
			"gemini", ".gemini/settings.json",
			`{"mcpServers":{"a":{"httpUrl":"http://a.example:8080/mcp"},"b":{"command":"sh","args":["-c","X=1 run"],"env":{"K":"$K_VAR"}},"c":{"command":"s","args":["ghp_0123456789012345678901234567890123"]}}}`,
			"a (http://a.example:8080), b (sh …; gets K_VAR), c (s …)",
		},
		{
			"opencode", ".config/opencode/opencode.json",
			`{"mcp":{"a":{"type":"local","command":["bun","x","srv"],"environment":{"K":"{env:K_VAR}"}},"b":{"type":"remote","url":"${HOST}/mcp"}}}`,
			"a (bun x; gets K_VAR), b (…; gets HOST)",
		},
		{"cursor", ".cursor/mcp.json", `{"mcpServers":{"a":{"command":"/usr/bin/srv","env":{"K":"${env:K_VAR}"}}}}`, "a (/usr/bin/srv; gets K_VAR)"},
	} {
		home := t.TempDir()
		write(t, filepath.Join(home, c.file), c.text)
		var got []string
		for _, s := range find(t, c.agent).MCP(Origin{Home: home, Workdir: "/w"}) {
			got = append(got, s.String())
			if s.File != filepath.Join(home, c.file) {
				t.Errorf("%s: %q", c.agent, s.File)
			}
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s: %s, want %s", c.agent, text, c.want)
		}
	}
}
