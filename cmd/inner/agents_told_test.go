package main

import (
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Claude Code is told of its box: what it asks the model has the user's own instructions, and behind them what
// the box may do, once, in every session in the same home.
func TestClaudeTold(t *testing.T) {
	claude := os.Getenv("INNER_TEST_CLAUDE")
	if claude == "" {
		missing(t, "Claude Code is not there; make test installs it from npm (contrib/agents.sh install claude)")
	}
	api := newFakeAnthropic(t)
	toldAgent{
		name: "claude", program: claude, file: ".claude/CLAUDE.md", port: api.port,
		profile: `extends = "claude-one-shot"`,
		env:     `ANTHROPIC_API_KEY = "none", ANTHROPIC_BASE_URL = "http://127.0.0.1:` + api.port + `", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC = "1"`,
		asked:   func() []string { return api.asked },
	}.test(t)
}

// Gemini CLI, Codex and opencode, likewise.
func TestAgentsTold(t *testing.T) {
	if os.Getenv("INNER_TEST_AGENTS") == "" {
		t.Skip("make agents installs and tests Gemini CLI, Codex and opencode")
	}
	model := &fakeModel{}
	server := httptest.NewServer(model)
	defer server.Close()
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	anthropic := newFakeAnthropic(t)
	asked := func() []string { return model.asked }
	for _, a := range []toldAgent{
		{
			name: "gemini", file: ".gemini/GEMINI.md", port: at.Port(), asked: asked,
			profile:  "extends = \"gemini-one-shot\"\n[entrypoint]\nargs = [\"--yolo\", \"-m\", \"gemini-2.5-pro\", \"-p\"]",
			env:      `GEMINI_API_KEY = "none", GOOGLE_GEMINI_BASE_URL = "` + server.URL + `"`,
			settings: map[string]string{".gemini/settings.json": `{"security": {"auth": {"selectedType": "gemini-api-key"}}}`},
		},
		{
			name: "codex", file: ".codex/AGENTS.md", port: at.Port(), asked: asked,
			profile: "extends = \"codex-interactive\"\n[entrypoint]\ninteractive = false\nargs = [\"exec\", \"--skip-git-repo-check\", \"--dangerously-bypass-approvals-and-sandbox\"]",
			settings: map[string]string{".codex/config.toml": "model = \"gpt-5.5\"\nmodel_provider = \"fake\"\n[model_providers.fake]\nname = \"fake\"\nwire_api = \"responses\"\nbase_url = \"" +
				server.URL + "/v1\"\nrequest_max_retries = 0\nstream_max_retries = 0\n"},
		},
		{
			name: "opencode", file: ".config/opencode/AGENTS.md", port: anthropic.port, asked: func() []string { return anthropic.asked },
			profile: "extends = \"opencode-interactive\"\n[entrypoint]\ninteractive = false\nargs = [\"run\"]",
			settings: map[string]string{
				".config/opencode/opencode.json": `{"model":"fake/m","provider":{"fake":{"npm":"@ai-sdk/anthropic","options":{"baseURL":"http://127.0.0.1:` + anthropic.port +
					`/v1","apiKey":"none"},"models":{"m":{"name":"m","limit":{"context":100000,"output":1000}}}}}}`,
			},
		},
	} {
		t.Run(a.name, func(t *testing.T) {
			if a.program = os.Getenv("INNER_TEST_" + strings.ToUpper(a.name)); a.program == "" {
				t.Fatalf("%s is not there (contrib/agents.sh install %s)", a.name, a.name)
			}
			model.asked = nil
			a.test(t)
		})
	}
}

// toldAgent is an agent whose requests are looked at.
type toldAgent struct {
	name, program string
	file          string // of the user's instructions
	port          string // of the model
	profile, env  string // of the profile
	settings      map[string]string
	asked         func() []string // the requests
}

func (a toldAgent) test(t *testing.T) {
	need(t, "bwrap", "bash", "git", "timeout")
	p := newPerson(t)
	p.path(filepath.Dir(a.program))
	for name, text := range a.settings {
		p.write(name, text)
	}
	p.write(a.file, "Call me Heron.\n")
	top, tables, _ := strings.Cut(a.profile, "\n")
	p.write("app/.inner/profiles/"+a.name+".toml", "schema_version = \"1\"\n"+top+"\n[sandbox]\nhost_ports = [\""+a.port+"\"]\n[env]\nset = { "+a.env+" }\n"+tables+"\n")
	p.run("git", "init", "-q", "-b", "main", p.app)
	p.run("inner", "allow", "--yes", p.app)
	inner, err := lookPath("inner", p.getenv("PATH"))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		before := len(a.asked())
		cmd := exec.Command("timeout", "-k", "5", "90", inner, "run", "-p", a.name, "--", "do it")
		cmd.Env, cmd.Dir = p.env, p.app
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		told := false
		for _, request := range a.asked()[before:] {
			_, behind, user := strings.Cut(request, "Call me Heron.")
			told = told || user && strings.Contains(behind, "can change files in: ~/app") && strings.Contains(behind, "inner allow host:NAME -p "+a.name) &&
				strings.Count(request, "can change files in:") == 1
		}
		if !told {
			t.Fatalf("no request has what the box may do, once, behind the user's own text:\n%s\n%.6000s", out, strings.Join(a.asked()[before:], "\n"))
		}
	}
	if text, err := os.ReadFile(filepath.Join(p.home, a.file)); string(text) != "Call me Heron.\n" || err != nil {
		t.Errorf("the user's own file is %q, %v", text, err)
	}
}
