package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Claude Code's own sandbox is off in the box, whoever switched it on: it could not start there,
// and every command failed.
func TestClaudeSandbox(t *testing.T) {
	need(t, "bwrap", "bash", "git")
	claude := os.Getenv("INNER_TEST_CLAUDE")
	if claude == "" {
		missing(t, "Claude Code is not there; make test installs it from npm (contrib/agents.sh install claude)")
	}
	p := newPerson(t)
	p.path(filepath.Dir(claude))
	p.run("git", "init", "-q", "-b", "main", p.app)
	// That sandbox wants socat, and leaves commands alone where there is none.
	p.write("app/tools/socat", "#!/bin/sh\nexec sleep 100\n")
	if err := os.Chmod(filepath.Join(p.app, "tools/socat"), 0o755); err != nil {
		t.Fatal(err)
	}
	inner, err := lookPath("inner", p.getenv("PATH"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"home/.claude/settings.json", "app/.claude/settings.json", "app/.claude/settings.local.json"} {
		api := newFakeAnthropic(t, "echo ran-$((6*7))")
		p.write("app/.inner/profiles/claude.toml", `schema_version = "1"
extends = "claude-one-shot"
[sandbox]
host_ports = ["`+api.port+`"]
[env]
path_prepend = ["`+p.app+`/tools"]
set = { ANTHROPIC_BASE_URL = "http://127.0.0.1:`+api.port+`", ANTHROPIC_API_KEY = "sk-ant-api03-none", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC = "1" }
`)
		p.run("inner", "allow", "--yes", p.app)
		at := filepath.Join(p.app, strings.TrimPrefix(name, "app/"))
		if rest, ok := strings.CutPrefix(name, "home/"); ok {
			at = filepath.Join(p.home, rest)
		}
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(`{"sandbox": {"enabled": true}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(inner, "run", "-p", "claude", "--", "say something")
		cmd.Env, cmd.Dir = p.env, p.app
		out, err := cmd.CombinedOutput()
		if got := strings.Join(api.answers(), "\n"); err != nil || !strings.Contains(got, "ran-42") {
			t.Errorf("%s: %v: its command answered %q\n%s", name, err, got, out)
		}
		if err := os.Remove(at); err != nil {
			t.Fatal(err)
		}
	}
}
