package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Claude Code runs outside, and its commands in boxes, by what `inner agent install` wrote:
// also with inner gone nothing of them runs outside.
func TestClaudeTools(t *testing.T) {
	need(t, "bwrap", "bash")
	claude := os.Getenv("INNER_TEST_CLAUDE")
	if claude == "" {
		missing(t, "Claude Code is not there; make test installs it from npm (contrib/agents.sh install claude)")
	}
	p := newPerson(t)
	p.path(filepath.Dir(claude))
	p.write(".inner/config.toml", "[roles]\n\"*\" = \"guest\"\n")
	p.run("inner", "profile", "list")
	p.write("app/.env", "SECRET\n")
	p.write("app/AGENTS.md", "rules\n")
	p.write("app/src/x", "")
	p.run("inner", "agent", "install", "claude", "--as", "guest")
	talk := func() string {
		api := newFakeAnthropic(t, "cat .env; echo changed >AGENTS.md; echo box=$INNER_SANDBOX; touch /tmp/note; cd src", "pwd; ls /tmp/note")
		cmd := exec.Command(claude, "-p", "--dangerously-skip-permissions", "do it")
		cmd.Dir = p.app
		cmd.Env = append(p.env, "ANTHROPIC_BASE_URL=http://127.0.0.1:"+api.port, "ANTHROPIC_API_KEY=sk-ant-api03-none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1")
		out, err := cmd.CombinedOutput()
		answers := strings.Join(api.answers(), "\n")
		t.Logf("claude said (%v):\n%s\nits tools answered:\n%s", err, out, answers)
		if len(api.answers()) != 2 {
			t.Errorf("its tools answered %d times", len(api.answers()))
		}
		if rules, err := os.ReadFile(filepath.Join(p.app, "AGENTS.md")); err != nil || string(rules) != "rules\n" || strings.Contains(answers, "SECRET") {
			t.Errorf("a command ran outside: AGENTS.md is %q", rules)
		}
		return answers
	}
	answers := talk()
	for _, want := range []string{"box=guest", "/app/src", "/tmp/note"} {
		if !strings.Contains(answers, want) {
			t.Errorf("no %q in the answers", want)
		}
	}
	line := filepath.Join(p.home, ".inner", "tools", "as-guest", "line")
	script, err := os.ReadFile(line)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(line, []byte(strings.Replace(string(script), "/inner ", "/inner-is-gone ", 1)), 0o700); err != nil {
		t.Fatal(err)
	}
	if answers := talk(); strings.Contains(answers, "box=") {
		t.Error("a command ran with inner gone")
	}
}
