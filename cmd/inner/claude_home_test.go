package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Claude Code in a home of the box's own: the next box goes on with the session of the last
// one, and a login that was made inside, with none on the host, is found by the next start.
func TestClaudeHome(t *testing.T) {
	need(t, "bwrap", "bash", "git")
	claude := os.Getenv("INNER_TEST_CLAUDE")
	if claude == "" {
		missing(t, "Claude Code is not there; make test installs it from npm (contrib/agents.sh install claude)")
	}
	api := newFakeAnthropic(t)
	p := newPerson(t)
	p.path(filepath.Dir(claude))
	profile := func(name, more string) {
		p.write("app/.inner/profiles/"+name+".toml", `schema_version = "1"
extends = "claude-one-shot"
[sandbox]
host_ports = ["`+api.port+`"]
[env]
set = { ANTHROPIC_BASE_URL = "http://127.0.0.1:`+api.port+`", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC = "1" }
`+more)
	}
	profile("claude", "")
	profile("sh", "[entrypoint]\ncmd = \"sh\"\nargs = [\"-c\"]\n[shim]\ncommands = []\n")
	p.run("git", "init", "-q", "-b", "main", p.app)
	p.run("inner", "allow", "--yes", p.app)
	inner, err := lookPath("inner", p.getenv("PATH"))
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		cmd := exec.Command(inner, append([]string{"run"}, args...)...)
		cmd.Env, cmd.Dir = p.env, p.app
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s(requests: %q)", args, err, out, api.seen)
		}
		return string(out)
	}
	last := func() string {
		api.mu.Lock()
		defer api.mu.Unlock()
		if len(api.asked) == 0 {
			return ""
		}
		return api.asked[len(api.asked)-1]
	}
	// A login as the program stores it, made in the box.
	login := fmt.Sprintf(`{"claudeAiOauth":{"accessToken":"sk-ant-oat01-madeinside","refreshToken":"sk-ant-ort01-none","expiresAt":%d,"scopes":["user:inference"],"subscriptionType":"pro"}}`,
		time.Now().Add(24*time.Hour).UnixMilli())
	run("-p", "sh", "--", "umask 077; mkdir -p ~/.claude; printf %s '"+login+"' >~/.claude/.credentials.json")

	run("-p", "claude", "--", "remember the word kingfisher")
	if got := last(); !strings.HasPrefix(got, "Bearer sk-ant-oat01-madeinside\n") {
		t.Errorf("the login that was made inside was not used: %.60q", got)
	}
	out := run("-p", "claude", "--", "--continue", "which word was it?")
	if got := last(); !strings.Contains(got, "kingfisher") || !strings.Contains(got, "which word was it?") {
		t.Errorf("the session was not continued:\n%.2000s\n%s", got, out)
	}
	if _, err := os.Lstat(filepath.Join(p.home, ".claude")); err == nil {
		t.Error("something was made in the host's ~/.claude")
	}
	if lines := strings.Count(out, "inner:"); lines > 1 {
		t.Errorf("more than one line of inner's own:\n%s", out)
	}
	t.Logf("the second call said:\n%s", out)

	// A login that was renewed is used by the next start, on whichever side that was, and the
	// other side has it, too: nobody is logged out.
	stored := func(token string, hours int) string {
		return fmt.Sprintf(`{"claudeAiOauth":{"accessToken":"sk-ant-oat01-%s","refreshToken":"sk-ant-ort01-%s","expiresAt":%d,"scopes":["user:inference"],"subscriptionType":"pro"}}`,
			token, token, time.Now().Add(time.Duration(hours)*time.Hour).UnixMilli())
	}
	uses := func(token string) {
		t.Helper()
		said := run("-p", "claude", "--", "hello")
		if got := last(); !strings.HasPrefix(got, "Bearer sk-ant-oat01-"+token+"\n") {
			t.Errorf("the login %q was not used: %.60q\n%s", token, got, said)
		}
		data, err := os.ReadFile(filepath.Join(p.home, ".claude/.credentials.json"))
		if err != nil || !strings.Contains(string(data), "sk-ant-oat01-"+token) {
			t.Errorf("the host has not the login %q: %v\n%s", token, err, data)
		}
	}
	host := func(text string) {
		if err := os.MkdirAll(filepath.Join(p.home, ".claude"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(p.home, ".claude/.credentials.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	host(stored("onthehost", 25))
	uses("onthehost")
	run("-p", "sh", "--", "printf %s '"+stored("renewedinside", 26)+"' >~/.claude/.credentials.json")
	uses("renewedinside")
	host(stored("renewedoutside", 27))
	uses("renewedoutside")
}

// "Don't ask again", answered on Claude Code's own screen, is kept for the next box, and the
// project of the host has nothing of it.
func TestClaudeRemembers(t *testing.T) {
	need(t, "tmux", "bwrap", "bash", "git")
	claude := os.Getenv("INNER_TEST_CLAUDE")
	if claude == "" {
		missing(t, "Claude Code is not there; make test installs it from npm (contrib/agents.sh install claude)")
	}
	api := newFakeAnthropic(t, "npm --version", "npm --version")
	p := newPerson(t)
	p.path(filepath.Dir(claude))
	p.write(".claude/.credentials.json", fmt.Sprintf(
		`{"claudeAiOauth":{"accessToken":"sk-ant-oat01-none","refreshToken":"sk-ant-ort01-none","expiresAt":%d,"scopes":["user:inference"],"subscriptionType":"pro"}}`,
		time.Now().Add(24*time.Hour).UnixMilli()))
	p.write(".claude/settings.json", `{"theme":"dark"}`)
	p.write(".claude.json", fmt.Sprintf(`{"hasCompletedOnboarding":true,"theme":"dark","numStartups":3,"projects":{%q:{"hasTrustDialogAccepted":true,"hasCompletedProjectOnboarding":true}}}`, p.app))
	p.write("app/.inner/profiles/claude.toml", `schema_version = "1"
extends = "claude-interactive"
[sandbox]
host_ports = ["`+api.port+`"]
[env]
set = { ANTHROPIC_BASE_URL = "http://127.0.0.1:`+api.port+`", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC = "1" }
`)
	p.run("git", "init", "-q", p.app)
	p.run("inner", "allow", "--yes", p.app)
	s := p.tmux("bash", "--noprofile", "--rcfile", p.write("rc", "PS1='[ready] '\neval \"$(inner hook bash)\"\n"), "-i")
	s.want(`\[ready\] $`)
	s.enter("cd ~/app; clear; claude --permission-mode default 'which npm?'; echo code=$?")
	s.want(`(?i)don.t ask again`)
	s.keys("2")
	s.want(`the work is done`)
	s.keys("C-c")
	s.keys("C-c")
	s.want(`code=0`)
	out := p.run("inner", "changes", "show", filepath.Join(p.app, ".claude/settings.local.json"))
	if !strings.Contains(out, "npm") {
		t.Errorf("the answer was not kept:\n%s", out)
	}
	if _, err := os.Lstat(filepath.Join(p.app, ".claude")); err == nil {
		t.Error("something was left in the project's .claude")
	}
	s.enter("clear")
	s.want(`\A\s*\[ready\]\s*\z`) // what was shown before is no answer
	s.enter("claude 'and now?'; echo code=$?")
	s.want(`the work is done`) // nobody answered
	s.keys("C-c")
	s.keys("C-c")
	s.want(`code=0`)
	s.enter("exit")
}
