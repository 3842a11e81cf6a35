package profile

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/enr/inner/profile/strict"
)

// FuzzLoad: no text makes the loader panic, and a profile that is valid is not
// changed by an empty child.
func FuzzLoad(f *testing.F) {
	f.Add(strings.ReplaceAll(base, "V1\n", "schema_version = \"1\"\n"))
	f.Add("schema_version = \"1\"\n[noop]\nblock = [\" \", \"a b\"]\nrewrite = { a = \"b\" }\n[mounts]\n\"$X\" = { dest = \"~\", mode = \"tmpfs\" }")
	f.Add("schema_version = \"1\"\n[env]\nset = { A = \"$$x${UID}~\" }\nclearenv = false\n[sandbox]\nhide = [\"*\"]\nhome_allow = [\"~/x\"]")
	f.Fuzz(func(t *testing.T, text string) {
		src, problems := parse(File{Path: "/p.toml", Data: []byte(text)})
		for _, p := range problems {
			if strings.Contains(p.Error(), "\n") {
				t.Fatalf("two lines: %q", p.Error())
			}
		}
		ScanClaims([]byte(text), "p.toml")
		if len(problems) > 0 {
			return
		}
		once := source{Doc: strict.NewDoc(language())}
		if len(merge(&once, src)) > 0 {
			return
		}
		if len(contradictions(&once, "/p.toml")) > 0 {
			return
		}
		twice := source{Doc: once.Clone()}
		if faults := merge(&twice, &source{Doc: strict.NewDoc(language())}); len(faults) > 0 {
			t.Fatal(faults)
		}
		sameSettings(t, once, twice)
		p := Profile{Name: "p", src: once}
		rc, err := p.Resolve(Context{Home: "/nonexistent/home", InnerHome: "/nonexistent/home/.inner", Cwd: "/usr/src", Lookup: func(n string) (string, bool) { return "/" + n, n != "UNSET" }})
		if err == nil {
			Grants(rc)
		}
	})
}

func BenchmarkLoad(b *testing.B) {
	w := newWorld(b, map[string]string{"p": base})
	path := filepath.Join(w.inner, "profiles/p.toml")
	for b.Loop() {
		if _, err := w.loader.Load(path, Global); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoadFiveLevels(b *testing.B) {
	files := map[string]string{"p0": base}
	for i := 1; i < 6; i++ {
		files[fmt.Sprintf("p%d", i)] = strings.Replace(base, "V1\n", fmt.Sprintf("V1\nextends = \"p%d\"\n", i-1), 1)
	}
	w := newWorld(b, files)
	path := filepath.Join(w.inner, "profiles/p5.toml")
	for b.Loop() {
		if _, err := w.loader.Load(path, Global); err != nil {
			b.Fatal(err)
		}
	}
}
