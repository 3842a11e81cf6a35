package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The real Claude Code, told by a model on loopback, deletes a file that git does not know and rewrites ten others.
// inner undo takes it back, and then the undo.
func TestClaudeUndo(t *testing.T) {
	need(t, "bwrap", "bash", "git")
	claude := os.Getenv("INNER_TEST_CLAUDE")
	if claude == "" {
		missing(t, "Claude Code is not there; make test installs it from npm (contrib/agents.sh install claude)")
	}
	p := newPerson(t)
	p.path(filepath.Dir(claude))
	p.run("git", "init", "-q", "-b", "main", p.app)
	for i := range 10 {
		p.write(fmt.Sprintf("app/src/f%d", i), fmt.Sprintf("as it was %d\n", i))
	}
	p.run("git", "-C", p.app, "add", ".")
	p.write("app/notes.txt", "nobody else has this\n")
	api := newFakeAnthropic(t, "rm notes.txt; for f in src/*; do echo rewritten >$f; done; echo new >made")
	p.write("app/.inner/profiles/claude.toml", `schema_version = "1"
extends = "claude-one-shot"
[sandbox]
host_ports = ["`+api.port+`"]
[env.set]
ANTHROPIC_BASE_URL = "http://127.0.0.1:`+api.port+`"
ANTHROPIC_API_KEY = "sk-ant-api03-none"
CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC = "1"
`)
	p.run("inner", "allow", "--yes", p.app)
	state := func() string {
		return p.run("sh", "-c", `cd "$1"; find . -path ./.git -prune -o -path ./.inner -prune -o -type f -print0 | sort -z | xargs -0 sha256sum`, "sh", p.app)
	}
	inner, err := lookPath("inner", p.getenv("PATH"))
	if err != nil {
		t.Fatal(err)
	}
	call := func(args ...string) string {
		cmd := exec.Command(inner, args...)
		cmd.Env, cmd.Dir = p.env, p.app
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("inner %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	before := state()
	call("run", "-p", "claude", "--", "rewrite it")
	after := state()
	if strings.Contains(after, "notes.txt") || !strings.Contains(after, "made") {
		t.Fatalf("Claude Code has done something else: %q\n%s", api.answers(), after)
	}
	said := call("undo", "--yes")
	if got := state(); got != before {
		t.Errorf("%s\nis\n%s\nwas\n%s", said, got, before)
	}
	again := regexp.MustCompile(`inner undo ([0-9a-f-]+)`).FindStringSubmatch(said)
	if again == nil {
		t.Fatalf("it does not say how to take it back: %s", said)
	}
	call("undo", "--yes", again[1])
	if got := state(); got != after {
		t.Errorf("is\n%s\nwas\n%s", got, after)
	}
}
