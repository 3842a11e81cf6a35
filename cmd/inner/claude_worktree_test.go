package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Claude Code makes a worktree of its own below the project (--worktree) and commits there.
// The branch, the commit and the worktree are outside afterwards, whole, and git works in it.
func TestClaudeWorktree(t *testing.T) {
	needServed(t)
	need(t, "bwrap", "bash", "git")
	claude := os.Getenv("INNER_TEST_CLAUDE")
	if claude == "" {
		missing(t, "Claude Code is not there; make test installs it from npm (contrib/agents.sh install claude)")
	}
	api := newFakeAnthropic(t, "pwd; git branch --show-current; git worktree list", "echo from-the-box >new.txt; git add new.txt; git -c user.name=a -c user.email=a@b commit -qm from-the-box; mkdir -p .vscode; echo {} >.vscode/tasks.json; git status --porcelain; git log --oneline")
	p := newPerson(t)
	p.path(filepath.Dir(claude))
	p.write("app/.inner/profiles/claude.toml", `schema_version = "1"
extends = "claude-one-shot"
[sandbox]
host_ports = ["`+api.port+`"]
[env]
set = { ANTHROPIC_BASE_URL = "http://127.0.0.1:`+api.port+`", ANTHROPIC_API_KEY = "sk-ant-api03-none", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC = "1" }
`)
	git := func(args ...string) string {
		return p.run("git", append([]string{"-C", p.app, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
	}
	p.run("git", "init", "-q", "-b", "main", p.app)
	p.write("app/file", "1\n")
	p.write("app/.claude/settings.json", "{}\n")
	git("add", ".")
	git("commit", "-qm", "first")
	p.run("inner", "allow", "--yes", p.app)

	inner, err := lookPath("inner", p.getenv("PATH"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(inner, "run", "-p", "claude", "--", "--worktree", "feature", "commit something")
	cmd.Env, cmd.Dir = p.env, p.app
	out, err := cmd.CombinedOutput()
	t.Logf("claude said:\n%s\nits tools answered:\n%s", out, strings.Join(api.answers(), "\n"))
	if err != nil {
		t.Fatalf("claude: %v (requests: %q)", err, api.seen)
	}
	tree := filepath.Join(p.app, ".claude", "worktrees", "feature")
	if got := git("worktree", "list", "--porcelain"); !strings.Contains(got, "worktree "+tree+"\n") {
		t.Errorf("git worktree list outside:\n%s", got)
	}
	if got := p.run("git", "-C", tree, "log", "--format=%s", "-1"); got != "from-the-box\n" {
		t.Errorf("the last commit of the worktree outside is %q", got)
	}
	if _, err := os.Stat(filepath.Join(tree, ".claude", "settings.json")); err != nil {
		t.Error("what git tracks, and lies in the project with the same bytes, is not in the worktree: ", err)
	}
	if !strings.Contains(string(out), "moved aside, because tools on your machine would obey it: .claude/worktrees/feature/.vscode (VS Code)") {
		t.Error("what editors would obey in the worktree was not moved aside")
	}
	if err := os.RemoveAll(filepath.Join(tree, ".vscode.inner-held")); err != nil {
		t.Error(err)
	}
	if got := p.run("git", "-C", tree, "status", "--porcelain"); got != "" {
		t.Errorf("git status in the worktree outside:\n%s", got)
	}
	if got := git("fsck", "--strict"); got != "" {
		t.Errorf("git fsck:\n%s", got)
	}
	if got := git("show", "HEAD:file"); got != "1\n" {
		t.Errorf("main was touched: %q", got)
	}
}
