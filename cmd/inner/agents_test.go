package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Real agents as npm installs them, each typed in a hooked shell in a real
// terminal, drawing their screen inside the box on clones of made-up logins. The
// originals stay as they are, byte for byte. Claude Code has TestClaude; these
// three are half a gigabyte, so they are looked at with `make agents`.
func TestAgents(t *testing.T) {
	if os.Getenv("INNER_TEST_AGENTS") == "" {
		t.Skip("make agents installs and tests Gemini CLI, Codex and opencode")
	}
	need(t, "tmux", "bwrap", "bash", "node")
	const key = "sk-none-0000000000000000000000000000000000000000"
	for _, agent := range []struct {
		name   string
		files  map[string]string
		screen string // what it draws
		leave  string // what is seen when it has ended
		quit   int    // presses of ^C that end it
	}{
		{
			name: "gemini",
			files: map[string]string{
				".gemini/settings.json": `{
					// a comment, as people write them
					"security": {"auth": {"selectedType": "gemini-api-key"}}, "ui": {"theme": "GitHub"},
					"mcpServers": {"host": {"command": "touch", "args": ["MCP"]}}, "tools": {"sandbox": "docker"}
				}`,
				".gemini/.env":                "GEMINI_API_KEY=" + key + "\n",
				".gemini/trustedFolders.json": `{"/elsewhere":"TRUST_FOLDER"}`,
				".gemini/history/x/chat.json": "private",
			},
			screen: `(?s)Gemini CLI.*YOLO.*Type your message`, quit: 3,
		},
		{
			name: "codex",
			files: map[string]string{
				".codex/auth.json":         `{"auth_mode":"apikey","OPENAI_API_KEY":"` + key + `"}`,
				".codex/config.toml":       "model = \"gpt-5\"\nnotify = [\"touch\", \"MCP\"]\n[mcp_servers.host]\ncommand = \"touch\"\nargs = [\"MCP\"]\n",
				".codex/sessions/1.jsonl":  "private",
				".codex/history.jsonl":     "private",
				".codex/prompts/review.md": "review",
			},
			screen: `(?s)Codex.*›`, quit: 2,
		},
		{
			name: "opencode",
			files: map[string]string{
				".config/opencode/opencode.json":   `{"theme":"opencode","mcp":{"host":{"type":"local","command":["touch","MCP"]}},"plugin":["file:///nowhere.js"]}`,
				".local/share/opencode/auth.json":  `{"anthropic":{"type":"api","key":"` + key + `"}}`,
				".local/share/opencode/log/old":    "private",
				".local/state/opencode/model.json": "{}",
			},
			screen: `(?s)[▄█▀].*(Ask anything|opencode|OpenCode)`, quit: 1,
		},
	} {
		t.Run(agent.name, func(t *testing.T) {
			program := os.Getenv("INNER_TEST_" + strings.ToUpper(agent.name))
			if program == "" {
				t.Fatalf("%s is not there (contrib/agents.sh install %s)", agent.name, agent.name)
			}
			cache := filepath.Dir(filepath.Dir(filepath.Dir(program)))
			p := newPerson(t)
			p.path(filepath.Dir(program))
			var roots []string
			for name, text := range agent.files {
				p.write(name, strings.ReplaceAll(text, "MCP", filepath.Join(p.app, "mcp-ran")))
				if root := filepath.Join(p.home, strings.Split(name, "/")[0]); !strings.Contains(strings.Join(roots, " "), root) {
					roots = append(roots, root)
				}
			}
			before := digest(t, roots...)
			version := strings.TrimSpace(p.run(program, "--version"))
			t.Logf("%s --version, outside: %s", agent.name, version)
			if after := digest(t, roots...); after != before {
				before = after // --version outside writes; that is its own business
			}

			s := p.tmux("bash", "--noprofile", "--rcfile", p.write("rc", "PS1='[ready] '\neval \"$(inner hook bash)\"\n"), "-i")
			s.want(`\[ready\] $`)
			s.enter("cd ~/app; inner init " + agent.name + " --yes >/dev/null 2>&1; clear; " + agent.name + " --version; echo code=$?")
			s.want(`(?s)` + regexp.QuoteMeta(version) + `.*code=0`)

			s.enter("clear; " + agent.name + "; echo code=$?")
			s.want(agent.screen)
			t.Logf("the screen:\n%s", s.shown())
			s.keys("h", "e", "l", "l", "o")
			s.want(`hello`)
			s.keys("C-c") // empties the line
			s.wantNot(`hello`)
			// Codex would put its background server there.
			if found, _ := filepath.Glob(filepath.Join(p.home, "..", "run", "inner", "2*", "clone of ~", ".*", "packages")); len(found) > 0 {
				t.Errorf("a background server was installed in the clone: %q", found)
			}
			// One at a time: one too many meets a program that ends and has given the
			// terminal back, and kills it, in the box and outside alike.
			for range agent.quit {
				s.keys("C-c")
				if s.within(700*time.Millisecond, `code=(0|130)`) {
					break
				}
			}
			s.want(`code=(0|130)`)
			s.enter("clear; stty -a | grep -c -- ' icanon'; echo back")
			s.want(`(?m)^1\nback`)

			if after := digest(t, roots...); after != before {
				t.Errorf("the host's state of %s changed:\nbefore\n%s\nafter\n%s", agent.name, before, after)
			}
			if _, err := os.Lstat(filepath.Join(p.app, "mcp-ran")); err == nil {
				t.Error("an MCP server of the host's settings was started")
			}
			if left := commandLines(cache); len(left) > 0 {
				t.Errorf("still running: %q", left)
			}
			if left, _ := filepath.Glob(filepath.Join(p.home, "..", "run", "inner", "2*")); len(left) > 0 {
				t.Errorf("left staged: %q", left)
			}
			s.enter("exit")
		})
	}
}

// commandLines are those of all processes that name something in dir.
func commandLines(dir string) []string {
	var found []string
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil && strings.Contains(string(data), dir+"/") {
			found = append(found, string(data))
		}
	}
	return found
}
