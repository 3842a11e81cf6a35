package profile

import (
	"cmp"
	"crypto/sha256"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/enr/inner/profile/strict"
)

var updateCorpus = flag.Bool("update-corpus", false, "write testdata/corpus.golden anew")

// TestCorpus: what is said of published profiles, and of thousands of faulty ones made of them, is
// what was said before: the faults, and of what loads the text that it resolves to, where its
// values come from, and what is taken from it when it is a stranger's. The golden file has a digest
// for each file; -v prints the texts of those that differ.
func TestCorpus(t *testing.T) {
	paths, err := filepath.Glob("testdata/published/*.toml")
	must(t, err)
	paths = append(paths, "testdata/keys.txtar")
	var out strings.Builder
	golden, _ := os.ReadFile("testdata/corpus.golden")
	total := 0
	for _, path := range paths {
		said, faults := corpusOf(t, path)
		total += faults
		line := fmt.Sprintf("%x %d %s\n", sha256.Sum256([]byte(said)), faults, filepath.Base(path))
		if out.WriteString(line); !strings.Contains(string(golden), line) && !*updateCorpus {
			t.Errorf("of %s other things are said than before", path)
			t.Log(said)
		}
	}
	if total < 2500 {
		t.Errorf("only %d texts are faulty", total)
	}
	if *updateCorpus {
		must(t, os.WriteFile("testdata/corpus.golden", []byte(out.String()), 0o644))
	}
}

// corpusOf is what is said of a file, and of texts with one line of it changed; and how many of
// them have a fault.
func corpusOf(t *testing.T, path string) (said string, faults int) {
	data, err := os.ReadFile(path)
	must(t, err)
	texts := []string{string(data)}
	if strings.HasSuffix(path, ".txtar") {
		texts = nil
		for _, part := range strings.Split(string(data), "\n-- ")[1:] {
			_, body, _ := strings.Cut(part, " --\n")
			texts = append(texts, "schema_version = \"1\"\n"+body)
		}
	}
	rng := rand.New(rand.NewSource(int64(len(data))))
	values := []string{`5`, `true`, `[1]`, `["x", 2]`, `{ a = "b" }`, `"w"`, `1979-05-27`, `[["x"]]`, `["-x", "", "a\u0001"]`, `"a b"`, `"-"`, `[]`, `{}`}
	count := len(texts)
	for _, text := range texts[:count:count] {
		lines := strings.Split(text, "\n")
		for range max(16, 600/count) {
			changed := append([]string{}, lines...)
			line := &changed[rng.Intn(len(lines))]
			key, _, assigned := strings.Cut(*line, "=")
			switch n := rng.Intn(7); {
			case n == 0:
				*line = strings.Replace(*line, "e", "a", 1)
			case n == 1:
				*line = strings.Replace(*line, "\"", "", 2)
			case n == 2:
				*line = strings.ToUpper(*line)
			case n == 3:
				*line = strings.Replace(*line, "[", "[x.", 1)
			case n == 4:
				*line = strings.Replace(*line, "\"", "\"-", 1)
			case assigned:
				*line = key + "= " + values[rng.Intn(len(values))]
			}
			texts = append(texts, strings.Join(changed, "\n"))
		}
	}
	var b strings.Builder
	l := Loader{Home: "/nowhere", GlobalDir: "/nowhere"}
	c := Context{Home: "/nowhere", Lookup: func(string) (string, bool) { return "", false }}
	seen := map[string]bool{}
	for _, text := range texts {
		if seen[text] {
			continue
		}
		seen[text] = true
		p, err := l.LoadBytes(File{Path: "/p.toml", Data: []byte(text)}, Direct)
		if err != nil {
			faults++
			fmt.Fprintln(&b, err)
			continue
		}
		hard, dropped := p.Harden()
		fmt.Fprintf(&b, "%s\n%+v\n%q\n%+v\n", resolved(p, c), asWritten(p), dropped, hard.Origins())
	}
	return b.String(), faults
}

// written is a key that a profile has, in the form of the corpus.
type written struct {
	Key    string
	Values []string
	Pairs  []KV
	At     strict.Pos
}

func asWritten(p *Profile) (list []written) {
	for _, k := range p.Written() {
		w := written{Key: k.Name}
		for _, v := range k.Parts() {
			if w.At = v.At; v.Key == "" {
				w.Values = append(w.Values, v.Text)
				continue
			}
			if w.Key == "mounts" {
				v.Text = cmp.Or(v.Text, string(RO))
			}
			w.Values, w.Pairs = append(w.Values, v.Key), append(w.Pairs, KV{v.Key, v.Text})
		}
		if k.Kind == strict.AList {
			w.At = k.Value.At
		}
		list = append(list, w)
	}
	return list
}
