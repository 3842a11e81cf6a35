package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Codex and Gemini CLI run outside, and their tools in boxes or judged, by the hook that
// `inner agent install` wrote.
func TestAgentsHooks(t *testing.T) {
	if os.Getenv("INNER_TEST_AGENTS") == "" {
		t.Skip("make agents installs and tests Gemini CLI, Codex and opencode")
	}
	need(t, "bwrap", "bash", "git", "timeout")
	t.Run("codex", codexHook)
	t.Run("gemini", geminiHook)
}

// use is one call of a tool that the fake model makes: with arguments, or with a text.
type use struct {
	tool string
	args map[string]string
	text string
}

// fakeModel has an agent call tools, one after the other, by the protocol of OpenAI
// (responses) or of Gemini, and keeps what they answer and what it was asked.
type fakeModel struct {
	uses    []use
	mu      sync.Mutex
	results []string
	asked   []string // the bodies of the requests
}

func (f *fakeModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var ask struct {
		Input []struct {
			Type   string
			Output json.RawMessage
		}
		Contents []struct {
			Parts []struct {
				FunctionResponse *struct{ Response json.RawMessage }
			}
		}
	}
	body, _ := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if r.Method != http.MethodPost || json.Unmarshal(body, &ask) != nil || ask.Input == nil && ask.Contents == nil {
		_, _ = io.WriteString(w, `{"models":[],"data":[]}`)
		return
	}
	var results []string
	for _, item := range ask.Input {
		if strings.HasSuffix(item.Type, "tool_call_output") || item.Type == "function_call_output" {
			results = append(results, string(item.Output))
		}
	}
	for _, c := range ask.Contents {
		for _, p := range c.Parts {
			if p.FunctionResponse != nil {
				results = append(results, string(p.FunctionResponse.Response))
			}
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, string(body))
	if len(results) > len(f.results) {
		f.results = results
	}
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(v map[string]any) {
		data, _ := json.Marshal(v)
		if v["type"] != nil {
			_, _ = fmt.Fprintf(w, "event: %s\n", v["type"])
		}
		_, _ = fmt.Fprintf(w, "data: %s\n\n", data)
	}
	if ask.Contents != nil {
		part := map[string]any{"text": "done"}
		if n := len(results); n < len(f.uses) {
			part = map[string]any{"functionCall": map[string]any{"name": f.uses[n].tool, "args": f.uses[n].args}}
		}
		event(map[string]any{"candidates": []any{map[string]any{"content": map[string]any{"role": "model", "parts": []any{part}}, "finishReason": "STOP", "index": 0}}})
		return
	}
	item := map[string]any{"type": "message", "role": "assistant", "id": "m", "content": []any{map[string]string{"type": "output_text", "text": "done"}}}
	if n := len(results); n < len(f.uses) && f.uses[n].text != "" {
		item = map[string]any{"type": "custom_tool_call", "id": fmt.Sprint("i", n), "call_id": fmt.Sprint("c", n), "name": f.uses[n].tool, "input": f.uses[n].text}
	} else if n < len(f.uses) {
		args, _ := json.Marshal(f.uses[n].args)
		item = map[string]any{"type": "function_call", "id": fmt.Sprint("i", n), "call_id": fmt.Sprint("c", n), "name": f.uses[n].tool, "arguments": string(args)}
	}
	event(map[string]any{"type": "response.created", "response": map[string]any{"id": "r"}})
	event(map[string]any{"type": "response.output_item.done", "output_index": 0, "item": item})
	event(map[string]any{"type": "response.completed", "response": map[string]any{"id": "r", "usage": map[string]any{"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}}})
}

const (
	firstStep  = "cat .env; echo changed >AGENTS.md; echo box=$INNER_SANDBOX; touch /tmp/note; cd src"
	secondStep = "pwd; ls /tmp/note"
)

// hookedPerson works with an agent in a project that has something hidden.
func hookedPerson(t *testing.T, agent string) (p *person, program string) {
	program = os.Getenv("INNER_TEST_" + strings.ToUpper(agent))
	if program == "" {
		t.Fatalf("%s is not there (contrib/agents.sh install %s)", agent, agent)
	}
	p = newPerson(t)
	p.path(filepath.Dir(program))
	p.run("inner", "init")
	p.write(".inner/config.toml", "[roles]\n\"*\" = \"guest\"\n")
	for name, text := range map[string]string{"app/.env": "SECRET\n", "app/secrets.json": "SECRET\n", "app/AGENTS.md": "rules\n", "app/src/x": "shown\n", "app/public/x": ""} {
		p.write(name, text)
	}
	if err := os.Symlink("../.env", filepath.Join(p.app, "public/leak")); err != nil {
		t.Fatal(err)
	}
	p.run("git", "init", "-q", p.app)
	return p, program
}

// talk lets an agent make these calls, and returns what its tools answered.
func (p *person) talk(t *testing.T, uses []use, command func(url string) *exec.Cmd) []string {
	t.Helper()
	model := &fakeModel{uses: uses}
	server := httptest.NewServer(model)
	defer server.Close()
	cmd := command(server.URL)
	cmd.Dir, cmd.WaitDelay = p.app, 5*time.Second
	out, err := cmd.CombinedOutput()
	t.Logf("it said (%v):\n%s\nits tools answered:\n%s", err, out, strings.Join(model.results, "\n"))
	if len(model.results) != len(uses) {
		t.Fatalf("its tools answered %d times", len(model.results))
	}
	return model.results
}

// boxed wants the two steps to have run in a box, and nothing to have changed.
func (p *person) boxed(t *testing.T, answers []string) {
	t.Helper()
	all := strings.Join(answers, "\n")
	for _, want := range []string{"box=guest", "/app/src", "/tmp/note", "hidden in the sandbox"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in the answers", want)
		}
	}
	if strings.Contains(all, "SECRET") {
		t.Error("what is hidden was read")
	}
	if rules, err := os.ReadFile(filepath.Join(p.app, "AGENTS.md")); err != nil || string(rules) != "rules\n" {
		t.Errorf("AGENTS.md is %q, %v", rules, err)
	}
}

// holds wants a line of inner agent status.
func (p *person) holds(t *testing.T, agent, want string) {
	t.Helper()
	if out := p.run("inner", "agent", "status"); !slices.ContainsFunc(strings.Split(out, "\n"), func(line string) bool {
		return strings.HasPrefix(line, agent) && strings.HasSuffix(line, want)
	}) {
		t.Errorf("%s: %q is not in\n%s", agent, want, out)
	}
}

func codexHook(t *testing.T) {
	p, program := hookedPerson(t, "codex")
	run := func(url string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "timeout", "-k", "5", "90", program, "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-c", `model_providers.fake.base_url="`+url+`/v1"`, "do it")
		cmd.Env = p.env
		return cmd
	}
	const provider = "model = \"gpt-5.5\"\nmodel_provider = \"fake\"\n[model_providers.fake]\nname = \"fake\"\nwire_api = \"responses\"\nbase_url = \"none\"\nrequest_max_retries = 0\nstream_max_retries = 0\n"
	shell := func(line string) use { return use{tool: "exec_command", args: map[string]string{"cmd": line}} }
	p.write(".codex/config.toml", provider)
	p.run("inner", "agent", "install", "codex", "--as", "guest")
	hooks := filepath.Join(p.home, ".codex", "hooks.json")

	// A hook that nobody trusts is skipped, and the status says so.
	p.holds(t, "codex", "commands outside, file tools not judged")
	if answers := p.talk(t, []use{shell("echo box=$INNER_SANDBOX.")}, run); !strings.Contains(answers[0], "box=.") {
		t.Error("the hook ran without trust")
	}
	// With the digest that inner expects of Codex it is run.
	p.write(".codex/config.toml", provider+p.run("sh", "-c", `hook=$(sed -n 's/.*"command": "\(.*agent hook.*\)".*/\1/p' `+hooks+`)
sum=$(printf '{"event_name":"pre_tool_use","hooks":[{"async":false,"command":"%s","timeout":600,"type":"command"}],"matcher":".*"}' "$hook" | sha256sum | cut -d' ' -f1)
printf '[hooks.state."`+hooks+`:pre_tool_use:0:0"]\ntrusted_hash = "sha256:%s"\n' "$sum"`))
	p.holds(t, "codex", "commands boxed open, file tools judged")
	patch := func(text string) use {
		return use{tool: "apply_patch", text: "*** Begin Patch\n" + text + "\n*** End Patch\n"}
	}
	answers := p.talk(t, []use{
		patch("*** Update File: AGENTS.md\n@@\n-rules\n+changed"),
		patch("*** Update File: public/leak\n@@\n-SECRET\n+changed"),
		patch("*** Add File: public/new\n+shown"),
	}, run)
	for i, want := range []string{"AGENTS.md: the sandbox has it read-only", "public/leak: hidden in the sandbox", "Success"} {
		if !strings.Contains(answers[i], want) {
			t.Errorf("patch %d: no %q in %q", i, want, answers[i])
		}
	}
	if secret, err := os.ReadFile(filepath.Join(p.app, ".env")); err != nil || string(secret) != "SECRET\n" {
		t.Errorf(".env is %q, %v", secret, err)
	}
	p.boxed(t, p.talk(t, []use{shell(firstStep), shell(secondStep), {tool: "view_image", args: map[string]string{"path": "public/leak"}}}, run))
}

func geminiHook(t *testing.T) {
	need(t, "node")
	p, program := hookedPerson(t, "gemini")
	run := func(url string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "timeout", "-k", "5", "90", program, "-m", "gemini-2.5-pro", "-y", "-p", "do it")
		cmd.Env = append(slices.Clone(p.env), "GEMINI_API_KEY=none", "GOOGLE_GEMINI_BASE_URL="+url, "GEMINI_CLI_TRUST_WORKSPACE=true")
		return cmd
	}
	shell := func(line string) use { return use{tool: "run_shell_command", args: map[string]string{"command": line}} }
	file := func(tool, name string) use {
		args := map[string]string{"file_path": name}
		if tool == "write_file" {
			args["content"] = "changed\n"
		}
		return use{tool: tool, args: args}
	}
	p.write(".gemini/settings.json", `{"security": {"auth": {"selectedType": "gemini-api-key"}}}`)
	p.run("inner", "agent", "install", "gemini", "--as", "guest")
	p.holds(t, "gemini", "commands boxed open, file tools judged")
	answers := p.talk(t, []use{
		shell(firstStep), shell(secondStep), file("read_file", "public/leak"), file("read_file", "secrets.json"), file("write_file", "AGENTS.md"), file("read_file", "src/x"),
	}, run)
	p.boxed(t, answers)
	if !strings.Contains(answers[5], "shown") {
		t.Error("what guests may read was not read")
	}
	// With inner gone this version blocks the call, though its manual does not promise that.
	settings := filepath.Join(p.home, ".gemini", "settings.json")
	data, err := os.ReadFile(settings)
	if err != nil {
		t.Fatal(err)
	}
	p.write(".gemini/settings.json", strings.Replace(string(data), "/inner agent hook", "/inner-is-gone agent hook", 1))
	p.holds(t, "gemini", "commands outside, file tools not judged")
	for _, answer := range p.talk(t, []use{shell("echo changed >AGENTS.md; echo box=$INNER_SANDBOX."), file("write_file", "AGENTS.md")}, run) {
		if !strings.Contains(answer, "blocked") {
			t.Errorf("a call was made with inner gone: %s", answer)
		}
	}
}
