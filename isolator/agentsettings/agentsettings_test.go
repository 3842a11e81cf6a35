package agentsettings

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func entry() Entry {
	return Entry{
		Agent: "claude", Event: "PreToolUse", Hook: "'/bin/inner' agent hook claude --as=guest",
		Key: []string{"env", "CLAUDE_CODE_SHELL_PREFIX"}, Value: "/h/.inner/tools/guest/bash", Tools: "/h/.inner/tools",
	}
}

func TestInstall(t *testing.T) {
	e := entry()
	text, err := Install([]byte(`{"z":1,"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"mine <&>"}]}],"Stop":[]},"env":{"A":"b"},"a":2}`), e)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"z":1,"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"mine <&>"}]},{"matcher":".*","hooks":[{"type":"command","command":"'/bin/inner' agent hook claude --as=guest"}]}],"Stop":[]},"env":{"A":"b","CLAUDE_CODE_SHELL_PREFIX":"/h/.inner/tools/guest/bash"},"a":2}`
	if got := compact(t, text); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if s, err := Read(text, e); err != nil || s != (State{Hook: e.Hook, At: "1:0", Value: e.Value}) {
		t.Errorf("%+v, %v", s, err)
	}
	// Once more changes nothing, and another role takes the place of the first.
	if again, err := Install(text, e); err != nil || !bytes.Equal(again, text) {
		t.Errorf("%s, %v", again, err)
	}
	e.Hook = "'/bin/inner' agent hook claude --as=member"
	text, err = Install(text, e)
	if err != nil || bytes.Count(text, []byte("agent hook claude")) != 1 || !bytes.Contains(text, []byte("member")) {
		t.Errorf("%s, %v", text, err)
	}
	// Taken out, everything else is as it was.
	text, err = Uninstall(text, e)
	if err != nil || compact(t, text) != `{"z":1,"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"mine <&>"}]}],"Stop":[]},"env":{"A":"b"},"a":2}` {
		t.Errorf("%s, %v", text, err)
	}
}

// What is new is indented as the file is, and nothing else is another text.
func TestForm(t *testing.T) {
	const hook = `"matcher": ".*",`
	for _, old := range []string{
		"{\n    \"list\": [\"a\", \"b\"],\n\n    \"env\": { \"A\": \"b\" }\n}\n",
		"{\n\t\"z\":1,\n\t\"a\": {\"x\": [ ]}\n}",
		"\n{\"hooks\":{\"Stop\":[ ]}, \"a\": 1}\n\n",
		"{\r\n  \"hooks\": {\r\n    \"PreToolUse\": [\r\n      { \"hooks\": [] }\r\n    ]\r\n  }\r\n}\r\n",
	} {
		text, err := Install([]byte(old), entry())
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Install(text, entry()); err != nil || !bytes.Equal(again, text) {
			t.Errorf("again:\n%s\n%v", again, err)
		}
		if back, err := Uninstall(text, entry()); err != nil || string(back) != old {
			t.Errorf("%q became %q, %v", old, back, err)
		}
	}
	text, err := Install([]byte("{\n\t\"a\": [1, 2],\n\t\"hooks\": {}\n}"), entry())
	want := "{\n\t\"a\": [1, 2],\n\t\"hooks\": {\n\t\t\"PreToolUse\": [\n\t\t\t{\n\t\t\t\t" + hook
	if err != nil || !strings.HasPrefix(string(text), want) {
		t.Errorf("%s, %v", text, err)
	}
}

// The digest is as Codex 0.169 makes it: TestAgentsHooks shows that it agrees.
func TestTrusted(t *testing.T) {
	const file = "/h/.codex/hooks.json"
	s := State{Hook: "/usr/bin/inner agent hook codex --as=guest", At: "0:0"}
	config := "[hooks.state]\n[hooks.state.\"" + file + ":pre_tool_use:0:0\"]\ntrusted_hash = \"sha256:ecc98e44e764421b3ff46e55b6e74bcd9664938efedcb6b322699df6b38a5ee7\"\n"
	if !Trusted([]byte(config), file, s) {
		t.Error("it is not trusted")
	}
	other, moved := s, s
	other.Hook += " --session=x"
	moved.At = "1:0"
	for name, trusted := range map[string]bool{
		"another hook":  Trusted([]byte(config), file, other),
		"another place": Trusted([]byte(config), file, moved),
		"another file":  Trusted([]byte(config), "/x/hooks.json", s),
		"switched off":  Trusted([]byte(config+"enabled = false\n"), file, s),
		"all hooks off": Trusted([]byte(config+"[features]\nhooks = false\n"), file, s),
		"nothing":       Trusted(nil, file, s),
		"no TOML":       Trusted([]byte(config+"["), file, s),
		"another shape": Trusted([]byte("hooks = [1]\n"), file, s),
	} {
		if trusted {
			t.Errorf("%s: it is trusted", name)
		}
	}
}

func compact(t *testing.T, text []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestEmptyFile(t *testing.T) {
	for _, old := range []string{"", " \n", "{}"} {
		text, err := Install([]byte(old), entry())
		if err != nil {
			t.Fatal(err)
		}
		back, err := Uninstall(text, entry())
		if err != nil || string(back) != "{}\n" {
			t.Errorf("%q: %q, %v", old, back, err)
		}
	}
}

// What another program set, and what is not strict JSON, stays as it is.
func TestRefuses(t *testing.T) {
	for old, want := range map[string]string{
		`{"env":{"CLAUDE_CODE_SHELL_PREFIX":"/mine"}}`: "is set to something else",
		`{"env":{"CLAUDE_CODE_SHELL_PREFIX":7}}`:       "is set to something else",
		"{ // comment\n}":                              "is not strict JSON",
		`{"a":1,"a":2}`:                                `the key "a" twice`,
		`[]`:                                           "is not a JSON object",
		`{} {}`:                                        "behind its end",
		`{"hooks":[]}`:                                 "is not a JSON object",
		`{"hooks":{"PreToolUse":{}}}`:                  "is not a list",
		`{"a":1`:                                       "is not strict JSON",
	} {
		if text, err := Install([]byte(old), entry()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v", old, text, err)
		}
	}
	text, err := Uninstall([]byte(`{"env":{"CLAUDE_CODE_SHELL_PREFIX":"/mine"}}`), entry())
	if err != nil || compact(t, text) != `{"env":{"CLAUDE_CODE_SHELL_PREFIX":"/mine"}}` {
		t.Errorf("%s, %v", text, err)
	}
}

// Whatever the file holds: what comes out is JSON, says the entry, and without it means what
// it meant before.
func FuzzInstall(f *testing.F) {
	for _, s := range []string{"", "{}", `{"hooks":{"PreToolUse":[1,null,{"hooks":[]}]},"env":{}}`, `{"a":[{"b":"\u003c"}],"env":{"X":"é"}}`, `{"hooks":null}`, `{"env":null}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, old []byte) {
		e := entry()
		was, err := Read(old, e)
		if err != nil || was.Hook != "" || was.Value != "" {
			return
		}
		text, err := Install(old, e)
		if err != nil {
			return
		}
		s, err := Read(text, e)
		if err != nil || s != (State{Hook: e.Hook, At: s.At, Value: e.Value}) || !strings.HasSuffix(s.At, ":0") {
			t.Fatalf("%q: %+v, %v", text, s, err)
		}
		back, err := Uninstall(text, e)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if x, y := meaning(t, old), meaning(t, back); !reflect.DeepEqual(x, y) {
			t.Errorf("%v became %v", x, y)
		}
	})
}

// meaning is a file of settings without tables and lists that are empty, which are taken out
// with what was in them.
func meaning(t *testing.T, text []byte) map[string]any {
	if len(bytes.TrimSpace(text)) == 0 {
		return map[string]any{}
	}
	var o map[string]any
	if err := json.Unmarshal(text, &o); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	for _, path := range [][2]string{{"hooks", "PreToolUse"}, {"env", "CLAUDE_CODE_SHELL_PREFIX"}} {
		table, ok := o[path[0]].(map[string]any)
		if list, is := table[path[1]].([]any); ok && is && len(list) == 0 || ok && table[path[1]] == nil {
			delete(table, path[1])
		}
		if v := table[path[1]]; v == "" {
			delete(table, path[1])
		}
		if o[path[0]] == nil || ok && len(table) == 0 {
			delete(o, path[0])
		}
	}
	return o
}

// A person may have put our hook into a group with others: it alone goes.
func TestUninstallFromGroup(t *testing.T) {
	const ours, mine = `{"type":"command","command":"'/bin/inner' agent hook claude --as=guest"}`, `{"type":"command","timeout":1.50,"command":"mine <&>"}`
	group := func(hooks ...string) string {
		return `{"matcher":".*","x":1e2,"hooks":[` + strings.Join(hooks, ",") + `]}`
	}
	settings := func(groups ...string) string { return `{"hooks":{"PreToolUse":[` + strings.Join(groups, ",") + `]}}` }
	for old, want := range map[string]string{
		settings(group(ours, mine)):                  settings(group(mine)),
		settings(group(mine, ours, mine, ours)):      settings(group(mine, mine)),
		settings(group(ours, ours), group(mine)):     settings(group(mine)),
		settings(group(), "7", `{"hooks":"string"}`): settings(group(), "7", `{"hooks":"string"}`),
		settings(group(ours)):                        `{}`,
	} {
		text, err := Uninstall([]byte(old), entry())
		if err != nil || compact(t, text) != want {
			t.Errorf("%s\ngot  %s\nwant %s\n%v", old, compact(t, text), want, err)
		}
	}
}
