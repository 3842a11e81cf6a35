package sensitive

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
)

var update = flag.Bool("update", false, "write resources.txt")

// TestTable: resources.txt has what resources.toml has, and every row says what it must.
func TestTable(t *testing.T) {
	text, err := os.ReadFile("resources.toml")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Resource []Resource
		Moved    map[string][]string
		Startup  struct{ Files, Folders, Commands []string }
	}
	meta, err := toml.Decode(string(text), &doc)
	if err != nil || len(meta.Undecoded()) > 0 {
		t.Fatal(err, meta.Undecoded())
	}
	var rows, moved, places, whats []string
	for i := range doc.Resource {
		r := &doc.Resource[i]
		r.Method = cmp.Or(r.Method, "empty")
		flags := ""
		for word, on := range map[string]bool{"rest": r.Rest, "part": r.Part, "root": r.Root} {
			if on {
				flags += word
			}
		}
		rows = append(rows, strings.Join(append([]string{r.Key, r.What, r.Kind, r.Method, r.Source, r.Holds, flags}, r.Except...), "\t"))
		for j, p := range r.Paths {
			if p[0] == '~' && IsPattern(p) {
				p = "?" + p[1:]
			}
			places = append(places, fmt.Sprintf("%s\t%03d%03d", p, i, j))
		}
		whats = append(whats, r.What)
	}
	slices.SortFunc(places, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
	for _, key := range meta.Keys() { // in their order
		if key[0] == "moved" && len(key) == 2 {
			by := doc.Moved[key[1]]
			moved = append(moved, strings.Join(append([]string{key[1]}, by...), "\t"))
			if !strings.HasPrefix(key[1], "~/") || len(by) == 0 || slices.ContainsFunc(by, func(v string) bool { return v[0] != '$' }) {
				t.Errorf("moved place %q is not below ~/, or by no variable", key[1])
			}
		}
	}
	var variables []string // that any place begins with
	for _, m := range regexp.MustCompile(`"\$(\w+)`).FindAllStringSubmatch(string(text), -1) {
		if !slices.Contains(variables, m[1]) {
			variables = append(variables, m[1])
		}
	}
	var lists []string
	for _, list := range [][]string{doc.Startup.Files, doc.Startup.Folders, doc.Startup.Commands, variables} {
		lists = append(lists, strings.Join(list, "\t"))
	}
	var parts []string
	for _, part := range [][]string{rows, moved, lists, places} {
		parts = append(parts, strings.Join(part, "\n"))
	}
	want := strings.Join(parts, "\n\n") + "\n"
	if *update {
		if err := os.WriteFile("resources.txt", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if resourcesText != want {
		t.Fatal("resources.txt is not that of resources.toml: go generate ./isolator/sensitive")
	}
	slices.Sort(whats)
	if len(slices.Compact(whats)) != len(doc.Resource) || !reflect.DeepEqual(table().variables, variables) {
		t.Error("two rows say the same of themselves, or a list is read wrongly")
	}
	for i, r := range Resources() {
		if r.Except = slices.Clip(r.Except); len(r.Except) == 0 {
			r.Except = nil
		}
		if !reflect.DeepEqual(r, doc.Resource[i]) {
			t.Errorf("read as %+v\nwant %+v", r, doc.Resource[i])
		}
		whole := r.Key != "" && r.What != "" && len(r.Paths) > 0 && r.Source != ""
		if !whole || !slices.Contains([]string{"dir", "file", "socket"}, r.Kind) || !slices.Contains([]string{"empty", "parent", "place"}, r.Method) {
			t.Errorf("row %q: %+v", r.Key, r)
		}
	}
}

// TestListed: what is looked up by the names that a home holds is all of the table that is there.
func TestListed(t *testing.T) {
	all := map[string]map[string]bool{}
	for _, line := range table().from("") {
		p, _ := placeOf(line)
		for p = strings.ToLower(p); strings.HasPrefix(p, "~/"); p = path.Dir(p) {
			dir := "/h" + path.Dir(p)[1:]
			if all[dir] == nil {
				all[dir] = map[string]bool{}
			}
			all[dir][path.Base(p)] = true
		}
	}
	run := Run{Homes: []string{"/h"}, Roots: []string{"/p"}, UID: 7, Env: map[string]string{"XDG_CONFIG_HOME": "/x", "CARGO_HOME": "/c"}}
	spots := func(run Run) (out []string) {
		for r, s := range NewSite(run).Spots() {
			out = append(out, r.What+" "+s.Path+" "+s.Pattern)
		}
		return out
	}
	want := spots(run)
	run.Names = func(dir string) (map[string]bool, bool) { return all[dir], true }
	if got := spots(run); !slices.Equal(got, want) || len(got) < 2000 {
		t.Errorf("%d places, and %d when the home holds all of them", len(want), len(got))
	}
	run.Env, run.Names = nil, func(string) (map[string]bool, bool) { return map[string]bool{".ssh": true}, true }
	if got := spots(run); !slices.ContainsFunc(got, func(s string) bool { return strings.HasSuffix(s, " /h/.ssh ") }) || len(got) > 700 {
		t.Errorf("of a home with one folder %d places", len(got))
	}
}

func BenchmarkTable(b *testing.B) {
	held := map[string]bool{".ssh": true, ".config": true}
	run := Run{Homes: []string{"/h"}, Roots: []string{"/p"}, Names: func(string) (map[string]bool, bool) { return held, true }}
	for b.Loop() {
		read()
		NewSite(run).Places(func(string, string, string) []string { return nil })
	}
}
