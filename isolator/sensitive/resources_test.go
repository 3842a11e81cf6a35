package sensitive

import (
	"cmp"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
)

// TestParse: the table is read as a library for all of TOML reads it, and every row says what it must.
func TestParse(t *testing.T) {
	var doc struct {
		Resource []Resource
		Moved    map[string][]string
		Startup  struct{ Files, Folders, Commands []string }
	}
	meta, err := toml.Decode(resourcesTOML, &doc)
	if err != nil || len(meta.Undecoded()) > 0 {
		t.Fatal(err, meta.Undecoded())
	}
	var moved []Moved // in their order
	for _, m := range table().moved {
		moved = append(moved, Moved{m.Place, doc.Moved[m.Place]})
	}
	for i := range doc.Resource {
		doc.Resource[i].Method = cmp.Or(doc.Resource[i].Method, "empty")
	}
	var variables []string // that any place begins with
	for _, m := range regexp.MustCompile(`"\$(\w+)`).FindAllStringSubmatch(resourcesTOML, -1) {
		if !slices.Contains(variables, m[1]) {
			variables = append(variables, m[1])
		}
	}
	if want := (&document{doc.Resource, moved, doc.Startup.Files, doc.Startup.Folders, doc.Startup.Commands, variables}); !reflect.DeepEqual(table(), want) {
		t.Errorf("read as %+v\nwant %+v", table(), want)
	}
	for _, r := range Resources() {
		whole := r.Key != "" && r.What != "" && len(r.Paths) > 0 && r.Source != ""
		if !whole || !slices.Contains([]string{"dir", "file", "socket"}, r.Kind) || !slices.Contains([]string{"empty", "parent", "place"}, r.Method) {
			t.Errorf("row %q: %+v", r.Key, r)
		}
	}
	if len(moved) != len(doc.Moved) {
		t.Errorf("%d moved places, want %d", len(moved), len(doc.Moved))
	}
	for _, m := range moved {
		if !strings.HasPrefix(m.Place, "~/") || len(m.By) == 0 || slices.ContainsFunc(m.By, func(v string) bool { return v[0] != '$' }) {
			t.Errorf("moved place %q is not below ~/, or by no variable", m.Place)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		parse(resourcesTOML)
	}
}
