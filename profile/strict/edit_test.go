package strict

import (
	"strings"
	"testing"
)

func editable() []Key {
	return []Key{{Name: "name"}, {Name: "path"}, {Name: "words", Kind: ATable}, {Name: "limits.memory", Kind: ANumber}, {Name: "limits.cpu", Kind: ANumber}}
}

func TestEdit(t *testing.T) {
	for _, c := range []struct{ text, key, want string }{
		{"", "name", "name = V\n"},
		{"# only a comment\n", "name", "# only a comment\nname = V\n"},
		{"name = \"old\" # why\npath = \"p\"\n", "name", "name = V # why\npath = \"p\"\n"},
		{"name='old'", "name", "name=V"},
		{"name = \"\"\"\nold\nlines\"\"\"  # why\n", "name", "name = V  # why\n"},
		{"path = \"p\"\n\n# about words\n[words]\na = \"b\"\n", "name", "path = \"p\"\nname = V\n\n# about words\n[words]\na = \"b\"\n"},
		{"# top\n\n# about words\n# more\n[words]\na = \"b\"\n", "name", "# top\n\nname = V\n\n# about words\n# more\n[words]\na = \"b\"\n"},
		{"[words]\na = \"b\" # c\n\n[limits]\ncpu = 1\n", "words.new", "[words]\na = \"b\" # c\nnew = V\n\n[limits]\ncpu = 1\n"},
		{"[words]\n[limits]\n", "words.new", "[words]\nnew = V\n[limits]\n"},
		{"[words]", "words.new", "[words]\nnew = V\n"},
		{"[words]\nnew = \"x\" # y", "words.new", "[words]\nnew = V # y"},
		{"words = {}\n", "words.new", "words = { new = V }\n"},
		{"words = { a = \"b\" } # c\n", "words.new", "words = { a = \"b\", new = V } # c\n"},
		{"words = { new = \"b\", c = \"d\" }\n", "words.new", "words = { new = V, c = \"d\" }\n"},
		{"words.a = \"b\"\nname = \"n\"\n", "words.new", "words.a = \"b\"\nwords.new = V\nname = \"n\"\n"},
		{"name = \"n\"", "words.new", "name = \"n\"\n\n[words]\nnew = V\n"},
		{"name = \"n\"\n", "words.a b", "name = \"n\"\n\n[words]\n\"a b\" = V\n"},
		{"[limits]\nmemory = 5\n", "limits.cpu", "[limits]\nmemory = 5\ncpu = V\n"},
		{"[words]\r\na = \"b\"\r\n", "words.new", "[words]\r\na = \"b\"\r\nnew = V\r\n"},
		{"\ufeffname = \"n\"\r\n", "words.new", "\ufeffname = \"n\"\r\n\r\n[words]\r\nnew = V\r\n"},
		{"[limits]\nmemory = 5 \t\n", "limits.memory", "[limits]\nmemory = V \t\n"},
	} {
		got, err := Edit(c.text, strings.Split(c.key, "."), "V")
		if err != nil || got != c.want {
			t.Errorf("%q, %s:\n%q, %v\nwant\n%q", c.text, c.key, got, err, c.want)
			continue
		}
		if _, problems := Decode("f", []byte(strings.ReplaceAll(got, "V", `"v"`)), editable()); len(problems) > 0 {
			t.Errorf("%q: %v", got, problems)
		}
	}
}

// TestEditTable: a key that has a table of its own is not given another value.
func TestEditTable(t *testing.T) {
	for _, text := range []string{"[words.new]\na = 1\n", "words.new.a = 1\n"} {
		if got, err := Edit(text, []string{"words", "new"}, "V"); err == nil {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestRemove(t *testing.T) {
	for _, c := range []struct{ text, key, want string }{
		{"name = \"old\" # why\npath = \"p\"\n", "name", "path = \"p\"\n"},
		{"[words]\na = \"b\"\nc = \"\"\"x\ny\"\"\"", "words.c", "[words]\na = \"b\"\n"},
		{"[words]\na = \"b\"\n", "words.x", "!words.x is not set"},
		{"words = { a = \"b\" }\n", "words.a", "!cannot be edited: words.a shares its line with others"},
	} {
		got, err := Remove(c.text, strings.Split(c.key, "."))
		if err != nil {
			got = "!" + err.Error()
		}
		if got != c.want {
			t.Errorf("%q, %s: %q, want %q", c.text, c.key, got, c.want)
		}
	}
}

// FuzzEdit: what is edited and still decodes has the new value and every other
// value it had.
func FuzzEdit(f *testing.F) {
	f.Add("name = \"a\" # c\n[words]\nx = 'y'\n[limits]\ncpu = 1\n", "x")
	f.Add("words = { a = \"\"\"b\n\"\"\", c = \"d\" }", "z")
	f.Add("[words.a]\n[[words]]", "z")
	f.Fuzz(func(t *testing.T, text, word string) {
		before, problems := Decode("f", []byte(text), editable())
		if len(problems) > 0 || word == "" || strings.HasPrefix(text, "\xef\xbb\xbf") {
			return
		}
		got, err := Edit(text, []string{"words", word}, `"new"`)
		if err != nil {
			return
		}
		after, problems := Decode("f", []byte(got), editable())
		if len(problems) > 0 {
			return // and is then not written
		}
		if v, ok := after.Value("words").Get(word); !ok || v.Text != "new" {
			t.Fatalf("%q became %q: %q is %q", text, got, word, v.Text)
		}
		for _, e := range before.Value("words").Items {
			if v, _ := after.Value("words").Get(e.Key); e.Key != word && v.Text != e.Text {
				t.Fatalf("%q became %q: %q is %q", text, got, e.Key, v.Text)
			}
		}
		for _, k := range before.Keys() {
			if k.Kind != ATable && k.Value.V != after.Value(k.Name).V {
				t.Fatalf("%q became %q", text, got)
			}
		}
	})
}
