package strict

import "testing"

func TestAppend(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"[s]\na = []\n", "[s]\na = [\"new\"]\n"},
		{"[s]\na = [\"x\"] # why\nb = 1\n", "[s]\na = [\"x\", \"new\"] # why\nb = 1\n"},
		{"[s]\na = [ \"x\", 'y,#]', ] # why\n", "[s]\na = [ \"x\", 'y,#]', \"new\" ] # why\n"},
		{"[s]\na = [\n  # one\n  \"x\", # two\n  \"y\\\"#\" # three, four\n  # five\n]\n", "[s]\na = [\n  # one\n  \"x\", # two\n  \"y\\\"#\", # three, four\n  \"new\",\n  # five\n]\n"},
		{"[s]\na = [\n\t\"x\",\n\t\"y\",\n]", "[s]\na = [\n\t\"x\",\n\t\"y\",\n\t\"new\",\n]"},
		{"[s]\na = [ # nothing\n]\n", "[s]\na = [\"new\" # nothing\n]\n"},
		{"[s]\na = [\"x\",\n  \"y\"]\n", "[s]\na = [\"x\",\n  \"y\",\n  \"new\",]\n"},
		{"[s]\na = [\"\"\"x\"y\"\"\"\"]\n", "[s]\na = [\"\"\"x\"y\"\"\"\", \"new\"]\n"},
		{"s = { a = ['x'] }\n", "s = { a = ['x', \"new\"] }\n"},
		{"s.a = [\"x\"]\n", "s.a = [\"x\", \"new\"]\n"},
		{"# top\n[s]\nb = 1 # one\n\n[t]\n", "# top\n[s]\nb = 1 # one\na = [\"new\"]\n\n[t]\n"},
		{"", "[s]\na = [\"new\"]\n"},
		{"\ufeff[s]\na = []\n", "\ufeff[s]\na = [\"new\"]\n"},
	} {
		got, err := Append(c.text, []string{"s", "a"}, `"new"`)
		if err != nil || got != c.want {
			t.Errorf("%q\ngot  %q, %v\nwant %q", c.text, got, err, c.want)
		}
		// Read again, the list has one more item, the last.
		items := func(text string) []string {
			doc, _ := Decode("x", []byte(text), []Key{{Name: "s.a", Kind: AList}})
			return doc.Value("s.a").Texts()
		}
		before, after := items(c.text), items(got)
		if len(after) != len(before)+1 || after[len(after)-1] != "new" {
			t.Errorf("%q: %q became %q", c.text, before, after)
		}
	}
	for _, text := range []string{"[s]\na = 1\n", "[s]\na = \"x\"\n", "[s\n"} {
		if got, err := Append(text, []string{"s", "a"}, `"new"`); err == nil {
			t.Errorf("%q became %q", text, got)
		}
	}
}
