package strict

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/google/go-cmp/cmp"
)

func testLanguage() []Key {
	return []Key{
		{Name: "schema_version"},
		{Name: "name"},
		{Name: "sandbox.network", Kind: ABool},
		{Name: "sandbox.allow", Kind: AList},
		{Name: "sandbox.home"},
		{Name: "sandbox.limits.memory", Kind: ANumber},
		{Name: "mounts", Kind: ATable, Of: []Key{{Name: "dest"}, {Name: "mode", Short: true}}},
		{Name: "env.set", Kind: ATable},
		{Name: "output.timeout_seconds", Kind: AnInt},
		{Name: "verify.custom.checks", Kind: Rows, Of: []Key{{Name: "name"}, {Name: "cmd"}}},
	}
}

func decode(text string) (Doc, string) {
	doc, problems := Decode("web.toml", []byte(text), testLanguage())
	return doc, problems.Error()
}

func TestProblems(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"comment only", "# hello", ""},
		{"unknown", "[sandbox]\nnetwrok = true", `web.toml:2: sandbox.netwrok: unknown key (did you mean "network"?)`},
		{"case", "[sandbox]\nNetwork = true", `web.toml:2: sandbox.Network: unknown key (did you mean "network"? keys are lower case)`},
		{"case of a table", "[Sandbox]\nnetwork = true", `web.toml:1: Sandbox: unknown key (did you mean "sandbox"? keys are lower case)`},
		{"both cases", "name = \"a\"\nNAME = \"b\"", `web.toml:2: NAME: unknown key (did you mean "name"? keys are lower case)`},
		{"wrong place", "network = true", `web.toml:1: network: unknown key ("network" belongs in [sandbox])`},
		{"wrong place, top", "[sandbox]\nname = \"x\"", `web.toml:2: sandbox.name: unknown key ("name" belongs at the top of the file, before the first [table])`},
		{"wrong place, deep", "memory = 1", `web.toml:1: memory: unknown key ("memory" belongs in [sandbox.limits])`},
		{"far from all", "zzzzzzz = 1", `web.toml:1: zzzzzzz: unknown key (one of schema_version, name, sandbox, mounts, env, output, verify)`},
		{"quoted key", "\"a b\" = 1", `web.toml:1: "a b": unknown key (one of schema_version, name, sandbox, mounts, env, output, verify)`},
		{"bool", "[sandbox]\nnetwork = \"yes\"", `web.toml:2: sandbox.network: wants true or false, is a string`},
		{"string", "name = 3", `web.toml:1: name: wants a string, is a whole number (write "3")`},
		{"string from date", "name = 2020-01-01", `web.toml:1: name: wants a string, is a date`},
		{"list from string", "[sandbox]\nallow = \"ssh-keys\"", `web.toml:2: sandbox.allow: wants a list of strings, is a string (write ["ssh-keys"])`},
		{"list items", "[sandbox]\nallow = [\n  \"a\",\n  1,\n  [\"x\"],\n]", "web.toml:4: sandbox.allow: wants a list of strings, item 2 is a whole number\nweb.toml:5: sandbox.allow: wants a list of strings, item 3 is a list"},
		{"int", "[output]\ntimeout_seconds = 1.5", `web.toml:2: output.timeout_seconds: wants a whole number, is a number`},
		{"scalar", "[sandbox.limits]\nmemory = true", `web.toml:2: sandbox.limits.memory: wants a string or a number, is a boolean`},
		{"table from string", "sandbox = \"x\"", `web.toml:1: sandbox: wants a table, is a string`},
		{"table from rows", "[[sandbox]]\nnetwork = true", `web.toml:1: sandbox: wants a table, is a list of tables`},
		{"rows from table", "[verify.custom.checks]\nname = \"x\"", `web.toml:1: verify.custom.checks: wants a list of tables, is a table`},
		{"rows from list", "[verify.custom]\nchecks = [1]", `web.toml:2: verify.custom.checks: wants a list of tables, item 1 is a whole number`},
		{"row key", "[[verify.custom.checks]]\nname = \"x\"\ncmdd = \"y\"", `web.toml:3: verify.custom.checks.cmdd: unknown key (did you mean "cmd"?)`},
		{"mount", "[mounts]\n\"~/x\" = { dst = \"/y\" }\n\"~/z\" = 3", "web.toml:2: mounts.\"~/x\".dst: unknown key (did you mean \"dest\"?)\nweb.toml:3: mounts.\"~/z\": wants a string or a table, is a whole number"},
		{"free table value", "[env.set]\nDEBUG = 1", `web.toml:2: env.set.DEBUG: wants a string, is a whole number (write "1")`},
		{"inline, dotted", "sandbox = { network = 1, limits.memoryy = 2 }", "web.toml:1: sandbox.network: wants true or false, is a whole number\nweb.toml:1: sandbox.limits.memoryy: unknown key (did you mean \"memory\"?)"},
		{"file order", "[sandbox]\nx1 = 1\n[env]\nx2 = 2\n[sandbox.limits]\nx3 = 3", "web.toml:2: sandbox.x1: unknown key (one of network, allow, home, limits)\nweb.toml:4: env.x2: unknown key (one of set)\nweb.toml:6: sandbox.limits.x3: unknown key (one of memory)"},
		{"twice", "name = \"a\"\n\nname = \"b\"", `web.toml:3: name: is written twice (first on line 1)`},
		{"inline table extended", "noop = { block = [\"x\"] }\n[noop.rewrite]\nx = \"y\"", `web.toml:2: noop.rewrite: is written twice`},
		{"dotted table extended", "[env]\nset.A = \"1\"\n[env.set]\nB = \"2\"", `web.toml:3: env.set: is written twice (first on line 2)`},
		{"table twice", "[sandbox]\nnetwork = true\n[sandbox]\n", `web.toml:3: sandbox: is written twice (first on line 1)`},
		{"syntax", "name = \"a\"\nname2 =\n", `web.toml:2: expected value but found the end of the line`},
		{"syntax, word", "[sandbox]\nnetwork = yes", `web.toml:2: expected value but found "yes"`},
		{"unclosed", "[sandbox\nnetwork = true", `web.toml:1: expected ']' to close table name`},
		{"NUL byte", "name = \"a\"\n# \x00", `web.toml:2: contains a NUL byte`},
		{"NUL escape", "name = \"a\\u0000\"", `web.toml:1: name: contains a NUL character`},
		{"NUL key", "[env.set]\n\"a\\u0000\" = \"\"", `web.toml:2: env.set."a\x00": the key contains a NUL character`},
		{"not UTF-8", "name = \"a\"\nx = \"\xff\"", `web.toml:2: byte 0xff is not UTF-8`},
		{"UTF-16", "\xff\xfea\x00", `web.toml:1: is UTF-16 (save it as UTF-8)`},
		{"BOM and CRLF", "\xef\xbb\xbfname = \"a\"\r\n\r\n[sandbox]\r\nnetwrk = true\r\n", `web.toml:4: sandbox.netwrk: unknown key (did you mean "network"?)`},
		{"bare CR", "name = \"a\"\rname2 = \"b\"", `web.toml:1: expected newline but got U+000D`},
		{"deep list", "name = " + strings.Repeat("[", 100000), `web.toml:1: arrays and inline tables are nested more than the maximum of 10000 levels deep`},
		{"deep inline", "name = " + strings.Repeat("{a=", 100000), `web.toml:1: arrays and inline tables are nested more than the maximum of 10000 levels deep`},
		{"long dotted key", "a" + strings.Repeat(".a", 10000) + " = 1", `web.toml:1: has more than 10000 keys and list items`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, got := decode(c.text)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

const full = `# a comment with = and [brackets]
schema_version = '1' # trailing
"name" = """
multi "quoted" line
""" # after

sandbox.home = "isolated"
[sandbox.limits]
memory = 512

[mounts] # order matters
"~/z" = "rw"
"~/a" = { dest = "/a#b", mode = "ro" }
'~/lit\eral' = { mode = "tmpfs", # a comment
  dest = '''/x''' }
"tab\there" = "ro"

[mounts."~/sub"]
mode = "rw"

[env]
set = { "B" = "2", A = "1" }

[[verify.custom.checks]]
name = "one"
[[verify.custom.checks]]
name = "two"
cmd = ''''quotes''''
`

func TestDecodeKeepsOrderAndLines(t *testing.T) {
	s, problems := decode(full)
	if problems != "" {
		t.Fatal(problems)
	}
	at := func(line int) Pos { return Pos{File: "web.toml", Line: line} }
	str := func(s string, line int) Value { return Value{V: s, Place: Place{true, at(line)}} }
	part := func(key, text string, line int) Item { return Item{Key: key, Text: text, At: at(line)} }
	want := map[string]Value{}
	want["schema_version"] = str("1", 2)
	want["name"] = str("multi \"quoted\" line\n", 3)
	want["sandbox.home"] = str("isolated", 7)
	want["sandbox.limits.memory"] = str("512", 9)
	want["mounts"] = Value{Place: Place{true, at(11)}, Items: []Item{
		{Key: "~/z", Text: "rw", Parts: []Item{part("mode", "rw", 12)}, At: at(12)},
		{Key: "~/a", Text: "ro", Parts: []Item{part("dest", "/a#b", 13), part("mode", "ro", 13)}, At: at(13)},
		{Key: `~/lit\eral`, Text: "tmpfs", Parts: []Item{part("mode", "tmpfs", 14), part("dest", "/x", 15)}, At: at(14)},
		{Key: "tab\there", Text: "ro", Parts: []Item{part("mode", "ro", 16)}, At: at(16)},
		{Key: "~/sub", Text: "rw", Parts: []Item{part("mode", "rw", 19)}, At: at(18)},
	}}
	want["env.set"] = Value{Place: Place{true, at(22)}, Items: []Item{part("B", "2", 22), part("A", "1", 22)}}
	want["verify.custom.checks"] = Value{Place: Place{true, at(24)}, Items: []Item{
		{Text: "one", At: at(25), Parts: []Item{part("name", "one", 25)}},
		{Text: "two", At: at(27), Parts: []Item{part("name", "two", 27), part("cmd", "'quotes'", 28)}},
	}}
	got := map[string]Value{}
	for _, k := range s.Keys() {
		if k.Value.Set {
			got[k.Name] = *k.Value
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNearest(t *testing.T) {
	words := []string{"network", "network_mode", "home", "ssh-keys", "gpg-keys", "rw", "ro"}
	for in, want := range map[string]string{
		"netwrok": "network", "Network": "network", "hom": "home", "ssh_keys": "ssh-keys", "rww": "rw",
		"zebra": "", "": "", "ssh": "", "netw": "network", strings.Repeat("x", 100): "",
	} {
		if got := Nearest(in, words); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", in, got, want)
		}
	}
}

// FuzzDecode: whatever the bytes are, Decode returns; and on text the library
// accepts the scanner sees exactly the keys the library sees.
func FuzzDecode(f *testing.F) {
	f.Add(full)
	f.Add("a = [[1, 2], ['x', \"\"\"y\"\"\"]]\n[b.c]\nd.e = { f = 1979-05-27 07:32:00, g = [ {h = 1}, ] }\n[[i.j]]\n[i.j.k]\nl=+inf")
	f.Add("\"\\u00e9\\x41\\e\" = ''''a'''''\nb = \"\"\"\\\n   c\\\"\"\"\"\"\"")
	f.Add("[a]\r\nb = 1\r\n[a.\"b c\".d]\r\n")
	f.Add("a.b = 1\n[a]\nc = 2")
	f.Fuzz(func(t *testing.T, text string) {
		_, problems := Decode("f", []byte(text), testLanguage())
		for _, p := range problems {
			if strings.ContainsAny(p.Error(), "\n\x00\x1b") {
				t.Fatalf("control characters in %q", p.Error())
			}
		}
		plain, root, fault := read([]byte(text))
		if fault != nil {
			return
		}
		m := map[string]any{}
		if toml.Unmarshal([]byte(plain), &m) != nil {
			return
		}
		sameKeys(t, "", root, m)
	})
}

func sameKeys(t *testing.T, path string, n *node, v any) {
	t.Helper()
	kids := map[string]any{}
	switch v := v.(type) {
	case map[string]any:
		kids = v
	case []any:
		for i, x := range v {
			kids[fmt.Sprint(i)] = x
		}
	case []map[string]any:
		for i, x := range v {
			kids[fmt.Sprint(i)] = x
		}
	}
	if len(kids) != len(n.kids) {
		t.Fatalf("%s: library has %d keys, scanner %d", path, len(kids), len(n.kids))
	}
	for k, x := range kids {
		kid := n.get(k)
		if kid == nil {
			t.Fatalf("%s: scanner did not see %q", path, k)
		}
		if kid.line < 1 {
			t.Fatalf("%s.%s: no line", path, k)
		}
		sameKeys(t, path+"."+k, kid, x)
	}
}

// Of a file with very many keys and items, in whatever form, no more is read than
// where there are too many.
func TestTooMany(t *testing.T) {
	many := func(format string) string { return strings.Repeat(format, maxNodes+1) }
	numbered := func(format string) string {
		var b strings.Builder
		for i := range maxNodes + 1 {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for about, text := range map[string]string{
		"keys":          numbered("k%d = 1\n"),
		"parts":         numbered("a.b%d = 1\n"),
		"headers":       numbered("[k%d]\n"),
		"rows":          many("[[a]]\n"),
		"items":         "a = [" + many("1,") + "]",
		"inline tables": "a = [" + many("{b = 1},") + "]",
		"inline keys":   "a = {" + numbered("k%d = 1,") + "}",
		"lists":         "a = [" + many("[],") + "]",
	} {
		if _, got := decode(text); !strings.Contains(got, "has more than 10000 keys and list items") || strings.Contains(got, "\n") {
			t.Errorf("%s: %.300s", about, got)
		}
	}
	if _, got := decode("[env.set]\n" + strings.Repeat("# a = 1\n", maxNodes) + "k = 'v'\n"); got != "" {
		t.Errorf("comments: %s", got)
	}
	// Nor is more read than it takes to say what is wrong.
	for text, want := range map[string]string{
		"a = ]\n" + many("k = 1000\n"):                  "web.toml:1: expected value but found \"]\"",
		"a = [" + many("1,") + "\n":                     "web.toml:1: array is incomplete",
		"a = " + strings.Repeat("{a=", 9999):            "web.toml:1: expected value, not end of input",
		"a = [" + strings.Repeat(many("1,"), 5) + "]":   "web.toml: has more than 40000 commas and dots",
		"a." + strings.Repeat(many("b."), 5) + "c = 1":  "web.toml: has more than 40000 commas and dots",
		"name = '''" + many(",") + "''' # " + many("."): "",
	} {
		if _, got := decode(text); got != want {
			t.Errorf("%.20s: %.300s", text, got)
		}
	}
}
