package agenthook

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/enr/inner/internal/paths"
)

// box has a project without its private parts, and no host but one.
type box struct{ dir string }

func (b box) Path(path string, use Use) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path
	}
	for _, hidden := range []string{"memory", ".env"} {
		at := filepath.Join(b.dir, hidden)
		rest, below := paths.Rest(real, at)
		if real == at || strings.HasPrefix(real, at+"/") || below && use.Reads(rest, hidden == "memory") {
			return hidden + " is hidden"
		}
	}
	if real != b.dir && !strings.HasPrefix(real, b.dir+"/") {
		return path + " is outside"
	}
	if use.Write && !strings.HasPrefix(real, filepath.Join(b.dir, "public")) {
		return path + " is read-only"
	}
	return ""
}

func (b box) Host(host string) string {
	if host == "example.com:443" {
		return ""
	}
	return host + " is refused"
}

func project(t testing.TB) (dir string, o Options) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"memory", "public", "src"} {
		if err := os.Mkdir(filepath.Join(dir, p), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []string{".env", "memory/m.md", "src/main.go", "public/note"} {
		if err := os.WriteFile(filepath.Join(dir, p), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../.env", filepath.Join(dir, "public/leak")); err != nil {
		t.Fatal(err)
	}
	return dir, Options{Dir: dir, Home: "/home/u", Command: func(line string) string { return "BOX " + line }}
}

func TestReads(t *testing.T) {
	for _, c := range []struct {
		only, rest string
		folder     bool
		want       bool
	}{
		{"*.ts", ".env", false, false},
		{"*.ts", "a/.env", false, false},
		{"**/*.ts", "a/.env", false, false},
		{"**/*.ts", "a/b", true, true},
		{"*.ts", "keys", true, false},
		{"a/*.ts", "a/keys", true, false},
		{"a/*.ts", "a", true, true},
		{"*", ".env", false, true},
		{"**", "a/.env", false, true},
		{"a/**", "a/b/.env", false, true},
		{"a/**/*.env", "a/.ENV", false, true},
		{"[", "[", false, true},
		{"", "a", true, true},
	} {
		if got := (Use{Tree: true, Only: c.only}).Reads(c.rest, c.folder); got != c.want {
			t.Errorf("%q of %q: %t", c.only, c.rest, got)
		}
	}
}

// judged is what becomes of a call: "error", "deny", "same", or the new input as JSON.
func judged(t testing.TB, o Options, agent, tool string, input any) string {
	t.Helper()
	keys := [2]string{"tool_name", "tool_input"}
	if agent == "opencode" {
		keys = [2]string{"tool", "args"}
	}
	text, err := json.Marshal(map[string]any{keys[0]: tool, keys[1]: input})
	if err != nil {
		t.Fatal(err)
	}
	c, err := Parse(agent, text)
	if err != nil {
		return "error"
	}
	d, err := c.Judge(box{o.Dir}, o)
	switch {
	case err != nil:
		return "error"
	case d.Deny != "":
		return "deny"
	case d.input == nil:
		return "same"
	}
	out, err := encode(d.input)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

type m = map[string]any

func TestJudge(t *testing.T) {
	_, o := project(t)
	for _, c := range []struct {
		agent, tool string
		input       any
		want        string
	}{
		{"claude", "Read", m{"file_path": "src/main.go"}, "same"},
		{"claude", "Read", m{"file_path": ".env"}, "deny"},
		{"claude", "Read", m{"file_path": "public/leak"}, "deny"},
		{"claude", "Read", m{"file_path": "public/../.env"}, "deny"},
		{"claude", "Read", m{"file_path": "/etc/shadow"}, "deny"},
		{"claude", "Read", m{"file_path": "~/.ssh/id_rsa"}, "deny"},
		{"claude", "Read", m{"file_path": "$HOME/x"}, "deny"},
		{"claude", "Read", m{"file_path": " .env"}, "deny"},
		{"claude", "Read", m{"file_path": "a\x00b"}, "error"},
		{"claude", "Read", m{"file_path": "src/main.go", "other": strings.Repeat("a/", 2048)}, "deny"},
		{"claude", "Write", m{"file_path": "public/new", "content": "the memory/m.md"}, "same"},
		{"claude", "Write", m{"file_path": "src/new", "content": ""}, "deny"},
		{"claude", "Grep", m{"pattern": "x", "path": "src"}, "same"},
		{"claude", "Grep", m{"pattern": "x"}, "deny"},
		{"claude", "Glob", m{"pattern": "memory/**"}, "deny"},
		{"claude", "Glob", m{"pattern": "src/{a,b}"}, "deny"},
		{"claude", "Glob", m{"pattern": "public/*.ts"}, "same"},
		{"claude", "Glob", m{"pattern": "src/**/*.ts", "path": "."}, "same"},
		{"claude", "Glob", m{"pattern": "*.ts"}, "deny"}, // of memory, too
		{"claude", "Glob", m{"pattern": "**/m.md"}, "deny"},
		{"claude", "Glob", m{"pattern": "*"}, "deny"},
		{"claude", "Glob", m{"pattern": "./**"}, "deny"},
		{"claude", "Glob", m{"pattern": ".ENV"}, "deny"},
		{"claude", "Glob", m{"pattern": "!public/*.ts"}, "deny"},
		{"claude", "Glob", m{"pattern": "*/x.ts"}, "deny"}, // a link may be on the way
		{"claude", "Grep", m{"pattern": "x", "glob": "public/*.ts"}, "same"},
		{"claude", "Grep", m{"pattern": "x", "glob": "public/*.ts .env"}, "deny"},
		{"claude", "Grep", m{"pattern": "x", "glob": ""}, "deny"},
		{"codex", "grep_files", m{"pattern": "x", "include": "src/*.go"}, "same"},
		{"gemini", "glob", m{"pattern": "src/*.go"}, "same"},
		{"gemini", "grep_search", m{"pattern": "x", "include": "src/*.go"}, "deny"}, // grep of the system reads it otherwise
		{"opencode", "list", m{"path": ".", "ignore": "src/*.go"}, "deny"},
		{"claude", "WebFetch", m{"url": "https://example.com/x", "prompt": "memory"}, "same"},
		{"claude", "WebFetch", m{"url": "https://other.example/"}, "deny"},
		{"claude", "WebFetch", m{"url": "file:///etc/passwd"}, "deny"},
		{"gemini", "web_fetch", m{"prompt": "What is on <https://example.com/x>, and why?"}, "same"},
		{"gemini", "web_fetch", m{"prompt": "Compare https://example.com/x with (https://other.example/)"}, "deny"},
		{"gemini", "web_fetch", m{"prompt": "Read file:///etc/passwd"}, "deny"},
		{"claude", "Bash", m{"command": "ls"}, `{"command":"BOX ls"}`},
		{"claude", "Bash", m{"command": "ls", "cwd": "/x y"}, `{"command":"BOX cd -- '/x y' || exit\nls","cwd":"/x y"}`},
		{"claude", "Bash", m{"command": "ls", "shell": "/bin/evil"}, "deny"},
		{"claude", "Bash", m{"command": 1}, "error"},
		{"claude", "Bash", m{}, "error"},
		{"codex", "exec_command", m{"cmd": "ls"}, `{"cmd":"BOX ls"}`},
		{"gemini", "run_shell_command", m{"command": "ls"}, `{"command":"BOX ls"}`},
		{"opencode", "bash", m{"command": "ls"}, `{"command":"BOX ls"}`},
		{"opencode", "read", m{"filePath": ".env"}, "deny"},
	} {
		if got := judged(t, o, c.agent, c.tool, c.input); got != c.want {
			t.Errorf("%s %s %v: %s, want %s", c.agent, c.tool, c.input, got, c.want)
		}
	}
}

// A tool that is not known is judged by the looks of its arguments, at any depth.
func TestUnknownTool(t *testing.T) {
	_, o := project(t)
	for _, c := range []struct {
		input any
		want  string
	}{
		{m{"text": "the memory leak"}, "same"},
		{m{"text": "see memory/m.md"}, "same"}, // words for people
		{m{"note": "see memory/m.md"}, "deny"},
		{m{"x": m{"y": []any{"memory/m.md"}}}, "deny"},
		{m{"x": []any{[]any{m{"z": "memory"}}}}, "deny"},
		{m{"memory/m.md": 1}, "deny"},
		{m{"images": []any{m{"path": "public/note"}}}, "same"},
		{m{"text": []any{"memory/m.md"}}, "deny"}, // a list is no text
		{m{"run_command": "ls"}, "deny"},
		{m{"n": 1, "b": true, "z": nil}, "same"},
		{m{"u": "https://other.example/x"}, "deny"},
		{m{"p": "a\x00"}, "error"},
	} {
		if got := judged(t, o, "claude", "mcp__new__tool", c.input); got != c.want {
			t.Errorf("%v: %s, want %s", c.input, got, c.want)
		}
	}
}

// What a tool that is not known would run is told by the name of the argument, however it is spelled.
func TestUnknownCommand(t *testing.T) {
	_, o := project(t)
	for want, keys := range map[string][]string{
		"deny": {
			"command", "Command", "run_command", "shell_command_line", "commandLine", "command-lines", "cmdline", "CMD2", "argv", "script", "bash_script", "scriptText",
			"code", "python_code", "pythonCode", "PYTHON_CODE", "code_snippet", "codeBlock", "code1", "program", "source", "source_code", "sourceText", "expression", "eval",
			"run", "sh", "shell",
		},
		"same": {"line", "transcript", "subscription", "description", "resource", "postcode", "code_page", "run_id", "source_branch", "dry_run", "pipeline", "context", "publish"},
	} {
		for _, key := range keys {
			if got := judged(t, o, "claude", "mcp__new__tool", m{key: "id"}); got != want {
				t.Errorf("%s: %s, want %s", key, got, want)
			}
		}
	}
}

// /tmp is the session's folder where there is one, and no link in it is followed.
func TestSessionTmp(t *testing.T) {
	_, o := project(t)
	tmp := t.TempDir()
	if err := os.Symlink("/etc/passwd", filepath.Join(tmp, "way")); err != nil {
		t.Fatal(err)
	}
	if got := judged(t, o, "claude", "Read", m{"file_path": "/tmp/x"}); got != "deny" {
		t.Errorf("without a session: %s", got)
	}
	o.Tmp = func() (string, error) { return tmp, nil }
	want := fmt.Sprintf(`{"file_path":%q}`, filepath.Join(tmp, "x"))
	if got := judged(t, o, "claude", "Read", m{"file_path": "/tmp/x"}); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := judged(t, o, "claude", "Read", m{"file_path": "/tmp/way"}); got != "deny" {
		t.Errorf("a link: %s", got)
	}
}

func TestParseRefuses(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200)
	for _, text := range []string{
		"", "null", "[]", "{", `{"tool_name":"Read"}`, `{"tool_name":1,"tool_input":{}}`, `{"tool_input":{}}`, `{"tool_name":"Read","tool_input":[]}`,
		`{"tool_name":"Read","tool_input":{"file_path":"a","file_path":"b"}}`, `{"tool_name":"Read","tool_name":"Bash","tool_input":{}}`,
		`{"tool_name":"Read","tool_input":{}} {}`, "{\"tool_name\":\"\xff\",\"tool_input\":{}}", `{"tool_name":"Read","tool_input":` + deep + `}`,
		`{"tool_name":"Read","tool_input":{},"hook_event_name":"PostToolUse"}`, `{"tool_name":"Read","tool_input":{},"cwd":7}`,
	} {
		if _, err := Parse("claude", []byte(text)); err == nil {
			t.Errorf("%.60q is accepted", text)
		}
	}
	if _, err := Parse("nobody", []byte(`{"tool_name":"Read","tool_input":{}}`)); err == nil {
		t.Error("an agent that is not known is accepted")
	}
}

// Whatever an agent or a model writes: no panic, a decision that the agent can read, and the
// hidden file is in no call that passes.
func FuzzJudge(f *testing.F) {
	for _, s := range []string{
		`{"file_path":"public/leak"}`, `{"x":{"y":["memory/m.md"]}}`, `{"text":"memory leak"}`, `{"command":"ls","cwd":"/"}`, `{"path":"\u0000"}`, `{"pattern":"**/../.env","path":"."}`,
		`{"url":"file:///%2e%2e/.env"}`, `{"a b":".env "}`, `{"p":"~root/x"}`,
	} {
		for _, tool := range []string{"Read", "Bash", "Glob", "WebFetch", "new"} {
			f.Add("claude", tool, s)
		}
	}
	f.Add("opencode", "bash", `{"command":["a"]}`)
	_, o := project(f)
	f.Fuzz(func(t *testing.T, agent, tool, input string) {
		var v any
		if json.Unmarshal([]byte(input), &v) != nil {
			v = input
		}
		for _, name := range append(Agents(), agent) {
			got := judged(t, o, name, tool, v)
			if got != "error" && got != "deny" && got != "same" && !json.Valid([]byte(got)) {
				t.Errorf("%q is no JSON", got)
			}
			if got == "same" {
				hides(t, tools(name)[tool], v, o.Dir)
			}
		}
	})
}

// hides fails when a call that passed as it was names the hidden file as one argument.
func hides(t *testing.T, known tool, v any, dir string) {
	o, ok := v.(map[string]any)
	if !ok || known.args != nil || known.command != "" || known.patch != "" || known.use != (Use{}) {
		return
	}
	for key, arg := range o {
		if s, is := arg.(string); is && !freeText(key) && (s == ".env" || s == "memory/m.md" || s == filepath.Join(dir, ".env")) {
			t.Errorf("%q passed as %q", s, key)
		}
	}
}
