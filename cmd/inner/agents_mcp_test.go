package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestAgentsMCP is TestClaudeMCP for the other agents: each starts the MCP server that the profile names, in the box, with
// the variable that its entry names, and offers its tool to the model; the other server is not there. The model refuses.
func TestAgentsMCP(t *testing.T) {
	if os.Getenv("INNER_TEST_AGENTS") == "" {
		t.Skip("make agents installs and tests Gemini CLI, Codex and opencode")
	}
	need(t, "bwrap", "python3", "timeout")
	for _, agent := range []struct {
		name  string
		files map[string]string // SERVER is the server, PORT where the model listens
		args  []string
	}{
		{
			name: "gemini",
			files: map[string]string{
				".gemini/settings.json": `{"security":{"auth":{"selectedType":"gemini-api-key"}},"mcpServers":{
					"granted":{"command":"python3","args":["SERVER","granted"],"env":{"TOKEN":"$MY_TOKEN"}},
					"other":{"command":"python3","args":["SERVER","other"]}}}`,
				".gemini/.env": "GEMINI_API_KEY=none\nGOOGLE_GEMINI_BASE_URL=http://127.0.0.1:PORT\n",
			},
			args: []string{"--yolo", "-p", "hello"},
		},
		{
			name: "codex",
			files: map[string]string{".codex/config.toml": `model = "m"
model_provider = "fake"
[model_providers.fake]
name = "fake"
base_url = "http://127.0.0.1:PORT/v1"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
[mcp_servers.granted]
command = "python3"
args = ["SERVER", "granted"]
env_vars = ["TOKEN"]
[mcp_servers.other]
command = "python3"
args = ["SERVER", "other"]
`},
			args: []string{"exec", "--skip-git-repo-check", "hello"},
		},
		{
			name: "opencode",
			files: map[string]string{".config/opencode/opencode.json": `{"model":"fake/m",
				"provider":{"fake":{"npm":"@ai-sdk/anthropic","options":{"baseURL":"http://127.0.0.1:PORT/v1","apiKey":"none"},"models":{"m":{"name":"m","limit":{"context":100000,"output":1000}}}}},
				"mcp":{"granted":{"type":"local","command":["python3","SERVER","granted"],"environment":{"TOKEN":"{env:MY_TOKEN}"}},
				"other":{"type":"local","command":["python3","SERVER","other"]}}}`},
			args: []string{"run", "hello"},
		},
	} {
		t.Run(agent.name, func(t *testing.T) {
			program := os.Getenv("INNER_TEST_" + strings.ToUpper(agent.name))
			if program == "" {
				t.Fatalf("%s is not there (contrib/agents.sh install %s)", agent.name, agent.name)
			}
			var mu sync.Mutex
			var asked strings.Builder
			model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(io.LimitReader(r.Body, 64<<20))
				mu.Lock()
				defer mu.Unlock()
				asked.WriteString(r.URL.Path + "\n" + string(body) + "\n")
				http.Error(w, `{"error":{"message":"no","code":400}}`, http.StatusBadRequest)
			}))
			defer model.Close()
			_, port, _ := net.SplitHostPort(model.Listener.Addr().String())
			p := newPerson(t)
			p.path(filepath.Dir(program))
			p.env = append(p.env, "TOKEN=the-secret", "MY_TOKEN=the-secret")
			server := p.write("app/tools/server.py", mcpServer)
			for name, text := range agent.files {
				p.write(name, strings.NewReplacer("SERVER", server, "PORT", port).Replace(text))
			}
			p.write("app/.inner/profiles/a.toml", "schema_version = \"1\"\nextends = \""+agent.name+"-interactive\"\n[sandbox]\nmcp = [\"granted\"]\n[shim]\ncommands = []\n")
			p.run("inner", "allow", "--yes", p.app)
			inner, err := lookPath("inner", p.getenv("PATH"))
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "timeout", append([]string{"-k", "5", "60", inner, "run", "-p", "a", "--"}, agent.args...)...)
			cmd.Env, cmd.Dir, cmd.WaitDelay = p.env, p.app, 5*time.Second
			out, err := cmd.CombinedOutput()
			mu.Lock()
			defer mu.Unlock()
			text := asked.String()
			t.Logf("%s said (%v):\n%s", agent.name, err, out)
			if !strings.Contains(text, "tool_of_granted") || strings.Contains(text, "tool_of_other") {
				t.Errorf("the tools of the request are not those of the profile:\n%.3000s", text)
			}
			if got, _ := os.ReadFile(filepath.Join(p.app, "started-granted")); string(got) != "secret=the-secret box=True" {
				t.Errorf("the server that is granted started with %q", got)
			}
			if _, err := os.Stat(filepath.Join(p.app, "started-other")); err == nil {
				t.Error("a server started that nobody granted")
			}
			if strings.Contains(string(out), "ImportProcessor") {
				t.Error("what the agent is told of its box is taken for names of files")
			}
			if !strings.Contains(string(out), "your MCP servers other: inner allow mcp:other -p a") {
				t.Error("it is not said that the other one is left out")
			}
		})
	}
}
