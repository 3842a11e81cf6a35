package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/enr/inner/profile"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// editor is a JSON schema as an editor applies it.
type editor struct {
	plain   map[string]any
	applied *jsonschema.Schema
}

func newEditor(t *testing.T) editor {
	t.Helper()
	data, err := schema()
	must(t, err)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	must(t, err)
	c := jsonschema.NewCompiler()
	must(t, c.AddResource("profile.json", doc))
	applied, err := c.Compile("profile.json")
	must(t, err)
	return editor{doc.(map[string]any), applied}
}

// refuses asks the schema, which must not refuse what the decoder takes.
func (e editor) refuses(t *testing.T, text string) bool {
	t.Helper()
	var values map[string]any
	_, err := toml.Decode(text, &values)
	must(t, err)
	refusal := e.applied.Validate(plainValues(values))
	var loader profile.Loader
	if _, err := loader.LoadBytes(profile.File{Path: "/p.toml", Data: []byte(text)}, profile.Direct); refusal != nil && err == nil {
		t.Errorf("%s\nis a profile, and the schema refuses it: %v", text, refusal)
	}
	return refusal != nil
}

// plainValues makes what the TOML library returns what a JSON library would.
func plainValues(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = plainValues(v[k])
		}
	case []map[string]any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = plainValues(v[i])
		}
		return out
	}
	return v
}

func TestJSONSchemaTakesProfiles(t *testing.T) {
	e := newEditor(t)
	seen := 0
	for _, pattern := range []string{"../../profile/builtin/*.toml", "../profiles/*.toml", "../../profile/testdata/published/*.toml"} {
		files, err := filepath.Glob(pattern)
		must(t, err)
		for _, file := range files {
			data, err := os.ReadFile(file)
			must(t, err)
			if e.refuses(t, string(data)) {
				t.Errorf("%s is refused", file)
			}
			seen++
		}
	}
	if seen < 30 {
		t.Errorf("only %d profiles were found", seen)
	}
	for _, text := range []string{
		"capabilities = [\"declared\", \"-claude\"]",
		"[sandbox]\nhome = \"host\"\nallow = [\"-ssh-keys\", \"netrc\"]\ngit_dir = \"checked\"",
		"[sandbox.limits]\nmemory = 1.5\ncpu = \"150%\"\npids = 3",
		"[mounts]\n\"/a\" = \"ro\"\n\"-/b\" = \"\"\n\"/c\" = { dest = \"/d\", mode = \"safe-rw\" }\n\"-/e\" = {}",
		"[env]\nset = { A = \"1\", \"-B\" = \"\" }\n[[verify.custom.checks]]\nname = \"a\"\ncmd = \"b\"\nseverity = \"high\"",
	} {
		if e.refuses(t, "schema_version = \"1\"\n"+text) {
			t.Errorf("%s\nis refused", text)
		}
	}
}

// TestJSONSchemaRefuses writes, for each key of the schema, every wrong type and
// a wrong word, and beside it a misspelt key: the schema and the decoder refuse.
func TestJSONSchemaRefuses(t *testing.T) {
	e := newEditor(t)
	const head = "schema_version = \"1\"\n"
	for _, text := range []string{"", "schema_version = \"2\"", "schema_version = 1", head + "[mounts]\n\"/a\" = \"\"", head + "[mounts]\n\"-/a\" = \"rw\"", head + "[sandbox]\nallow = [\"--netrc\"]", head + "[output]\ntimeout_seconds = -1", head + "[[verify.custom.checks]]\nname = \"x\"\nlevel = \"y\""} {
		if !e.refuses(t, text) {
			t.Errorf("%q is taken", text)
		}
	}
	leaves := 0
	e.walk(e.plain, nil, func(path []string, n map[string]any) {
		leaves++
		line := func(value string) string { return strings.Join(path, ".") + " = " + value + "\n" }
		text := func(value string) string {
			if path[0] == "schema_version" {
				return line(value)
			}
			return head + line(value)
		}
		wrong := []string{"{ x = {} }", "1979-05-27"}
		types := fmt.Sprint(n["type"])
		for kind, value := range map[string]string{"string": `"x\u0001/"`, "boolean": "true", "number": "1.5", "array": "[]"} {
			if !strings.Contains(types, kind) {
				wrong = append(wrong, value)
			}
		}
		if items, ok := n["items"].(map[string]any); ok {
			wrong = append(wrong, "[1]", "[[]]", "[{}]")
			if items["anyOf"] != nil {
				wrong = append(wrong, `["nobody-calls-it-this"]`)
			}
		}
		if words, ok := n["enum"].([]any); ok {
			wrong = append(wrong, `"nobody-calls-it-this"`)
			for _, word := range words {
				if e.refuses(t, text(fmt.Sprintf("%q", word))) {
					t.Errorf("%s = %q is refused", strings.Join(path, "."), word)
				}
			}
		}
		for _, value := range wrong {
			if !e.refuses(t, text(value)) {
				t.Errorf("%s is taken", line(value))
			}
		}
		misspelt := slices.Clone(path)
		misspelt[len(path)-1] += "_"
		if !e.refuses(t, head+strings.Join(misspelt, ".")+" = true\n") {
			t.Errorf("%q is taken", misspelt)
		}
	})
	if leaves < 50 {
		t.Errorf("the schema has only %d keys", leaves)
	}
}

// walk calls f for every key that is not a table.
func (e editor) walk(n map[string]any, path []string, f func([]string, map[string]any)) {
	keys, _ := n["properties"].(map[string]any)
	for key, of := range keys {
		sub := append(path[:len(path):len(path)], key)
		if of := of.(map[string]any); of["properties"] != nil {
			e.walk(of, sub, f)
		} else if of["type"] != "object" {
			f(sub, of)
		}
	}
}
