package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// opencode runs outside, and its commands in boxes, by the shell that `inner agent install`
// wrote into its settings: also with inner gone nothing of them runs outside.
func TestAgentsTools(t *testing.T) {
	program := os.Getenv("INNER_TEST_OPENCODE")
	if os.Getenv("INNER_TEST_AGENTS") == "" {
		t.Skip("make agents installs and tests Gemini CLI, Codex and opencode")
	}
	need(t, "bwrap", "bash", "timeout")
	if program == "" {
		t.Fatal("opencode is not there (contrib/agents.sh install opencode)")
	}
	p := newPerson(t)
	p.path(filepath.Dir(program))
	p.run("inner", "init")
	p.write(".inner/config.toml", "[roles]\n\"*\" = \"guest\"\n")
	p.write("app/.env", "SECRET\n")
	p.write("app/AGENTS.md", "rules\n")
	talk := func() string {
		api := newFakeAnthropic(t, "cat .env; echo changed >AGENTS.md; echo box=$INNER_SANDBOX")
		p.write(".config/opencode/opencode.json", `{"model":"fake/m","provider":{"fake":{"npm":"@ai-sdk/anthropic","options":{"baseURL":"http://127.0.0.1:`+api.port+`/v1","apiKey":"none"},"models":{"m":{"name":"m","limit":{"context":100000,"output":1000}}}}}}`)
		p.run("inner", "agent", "install", "opencode", "--as", "guest")
		return p.opencode(t, program, api)
	}
	if answers := talk(); !strings.Contains(answers, "box=guest") {
		t.Error("the command did not run in the box")
	}
	for _, script := range p.toolShells() {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(script, []byte(strings.ReplaceAll(string(text), "/inner ", "/inner-is-gone ")), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	api := newFakeAnthropic(t, "echo box=$INNER_SANDBOX; echo changed >AGENTS.md")
	settings := filepath.Join(p.home, ".config/opencode/opencode.json")
	data, err := os.ReadFile(settings)
	if err != nil {
		t.Fatal(err)
	}
	before, after, _ := strings.Cut(string(data), "127.0.0.1:")
	_, after, _ = strings.Cut(after, "/v1")
	p.write(".config/opencode/opencode.json", before+"127.0.0.1:"+api.port+"/v1"+after)
	if answers := p.opencode(t, program, api); strings.Contains(answers, "box=") {
		t.Error("a command ran with inner gone")
	}
}

// toolShells are the shells of the folder that inner made for guests.
func (p *person) toolShells() []string {
	list, _ := filepath.Glob(filepath.Join(p.home, ".inner", "tools", "as-guest", "*"))
	return list
}

// opencode lets opencode do one task, and returns what its tools answered.
func (p *person) opencode(t *testing.T, program string, api *fakeAnthropic) string {
	t.Helper()
	ctx := t.Context()
	cmd := exec.CommandContext(ctx, "timeout", "-k", "5", "90", program, "run", "do it")
	cmd.WaitDelay = 5 * time.Second
	cmd.Dir, cmd.Env = p.app, p.env
	out, err := cmd.CombinedOutput()
	answers := strings.Join(api.answers(), "\n")
	t.Logf("opencode said (%v):\n%s\nits tools answered:\n%s", err, out, answers)
	if len(api.answers()) != 1 {
		t.Errorf("its tools answered %d times", len(api.answers()))
	}
	if rules, err := os.ReadFile(filepath.Join(p.app, "AGENTS.md")); err != nil || string(rules) != "rules\n" || strings.Contains(answers, "SECRET") {
		t.Errorf("a command ran outside: AGENTS.md is %q", rules)
	}
	return answers
}
