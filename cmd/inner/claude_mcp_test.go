package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mcpServer is a server of the Model Context Protocol over stdio with one tool, which is named by the first argument. In
// the folder where it starts it leaves a file with what it sees of the secret, and of the host.
const mcpServer = `import json, os, sys
open("started-" + sys.argv[1], "w").write("secret=%s box=%s" % (os.environ.get("TOKEN"), os.path.exists("/run/.innerenv")))
for line in sys.stdin:
    ask = json.loads(line)
    if "id" not in ask:
        continue
    answer = {}
    if ask["method"] == "initialize":
        answer = {"protocolVersion": ask["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": sys.argv[1], "version": "1"}}
    elif ask["method"] == "tools/list":
        answer = {"tools": [{"name": "tool_of_" + sys.argv[1], "description": "a tool", "inputSchema": {"type": "object", "properties": {}}}]}
    print(json.dumps({"jsonrpc": "2.0", "id": ask["id"], "result": answer}), flush=True)
`

// Claude Code with MCP servers: the one of the user's that the profile names is started in the box with the variable that
// its entry names, and its tool is in the request to the model; the other one is not there, and that is said. Those of the
// project are as Claude has them outside: with -p they are there, and on its screen it asks first.
func TestClaudeMCP(t *testing.T) {
	need(t, "tmux", "bwrap", "python3", "bash", "git")
	claude := os.Getenv("INNER_TEST_CLAUDE")
	if claude == "" {
		missing(t, "Claude Code is not there; make test installs it from npm (contrib/agents.sh install claude)")
	}
	api := newFakeAnthropic(t)
	p := newPerson(t)
	p.path(filepath.Dir(claude))
	p.env = append(p.env, "MY_TOKEN=the-secret", "OTHER_TOKEN=another")
	server := p.write("app/tools/server.py", mcpServer)
	entry := func(name, token string) string {
		return fmt.Sprintf(`%q:{"command":"python3","args":[%q,%q],"env":{"TOKEN":"${%s}"}}`, name, server, name, token)
	}
	p.write(".claude.json", fmt.Sprintf(`{"hasCompletedOnboarding":true,"mcpServers":{%s,%s},"projects":{%q:{"hasTrustDialogAccepted":true,"mcpServers":{%s}}}}`,
		entry("granted", "MY_TOKEN"), entry("other", "OTHER_TOKEN"), p.app, entry("here", "MY_TOKEN")))
	p.write("app/.mcp.json", `{"mcpServers":{`+entry("shared", "MY_TOKEN")+`}}`)
	profile := func(base, mcp string) {
		p.write("app/.inner/profiles/claude.toml", `schema_version = "1"
extends = "`+base+`"
[sandbox]
host_ports = ["`+api.port+`"]
`+mcp+`
[env]
set = { ANTHROPIC_BASE_URL = "http://127.0.0.1:`+api.port+`", ANTHROPIC_API_KEY = "none", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC = "1" }
`)
		p.run("inner", "allow", "--yes", p.app)
	}
	p.run("git", "init", "-q", "-b", "main", p.app)
	inner, err := lookPath("inner", p.getenv("PATH"))
	if err != nil {
		t.Fatal(err)
	}
	// ask returns the last request to the model, and what was said.
	ask := func() (asked, said string) {
		cmd := exec.Command(inner, "run", "-p", "claude", "--", "hello")
		cmd.Env, cmd.Dir = p.env, p.app
		out, err := cmd.CombinedOutput()
		api.mu.Lock()
		defer api.mu.Unlock()
		if err != nil || len(api.asked) == 0 {
			t.Fatalf("%v\n%s(requests: %q)", err, out, api.seen)
		}
		return api.asked[len(api.asked)-1], string(out)
	}
	started := func() string {
		var all []string
		files, _ := filepath.Glob(filepath.Join(p.app, "started-*"))
		for _, file := range files {
			text, _ := os.ReadFile(file)
			all = append(all, filepath.Base(file)+" "+string(text))
			_ = os.Remove(file)
		}
		return strings.Join(all, "\n")
	}

	profile("claude-one-shot", `mcp = ["granted"]`)
	asked, said := ask()
	if !strings.Contains(asked, "tool_of_granted") || strings.Contains(asked, "tool_of_other") || strings.Contains(asked, "tool_of_here") {
		t.Errorf("the tools of the request are not those of the profile:\n%.3000s", asked)
	}
	if got := started(); !strings.HasPrefix(got, "started-granted secret=the-secret box=True\nstarted-shared ") {
		t.Errorf("the servers that started: %q", got)
	}
	if want := "inner: not in the sandbox: your MCP servers here, other: inner allow mcp:here mcp:other -p claude\n"; !strings.Contains(said, want) {
		t.Errorf("%q is not said:\n%s", want, said)
	}
	if _, again := ask(); strings.Contains(again, "MCP") {
		t.Errorf("it is said again:\n%s", again)
	}
	started()

	// None is granted: the project's has not the variable either.
	profile("claude-one-shot", "")
	asked, _ = ask()
	if got := started(); got != "started-shared secret=${MY_TOKEN} box=True" || !strings.Contains(asked, "tool_of_shared") {
		t.Errorf("the servers that started: %q", got)
	}

	profile("claude-one-shot", `mcp = ["*"]`)
	asked, _ = ask()
	for _, name := range []string{"granted", "other", "here"} {
		if !strings.Contains(asked, "tool_of_"+name) {
			t.Errorf("the tool of %s is missing", name)
		}
	}
	started()

	profile("claude-interactive", "")
	s := p.tmux("bash", "--noprofile", "--rcfile", p.write("rc", "PS1='[ready] '\neval \"$(inner hook bash)\"\n"), "-i")
	s.want(`\[ready\] $`)
	s.enter("cd ~/app; clear; claude")
	s.want(`(?is)MCP server found.*shared`)
	if got := started(); got != "" {
		t.Errorf("the project's server started unasked: %q", got)
	}
}
