package sensitive

import (
	"cmp"
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/enr/inner/internal/paths"
)

// Resource is one thing of the host that a box does not see unless the
// profile lists its Key in [sandbox] allow. The table is resources.toml, which
// also says what each field means.
type Resource struct {
	Key    string   `json:"key"`
	What   string   `json:"what"`
	Kind   string   `json:"kind"`   // dir, file or socket
	Method string   `json:"method"` // empty, parent or place
	Source string   `json:"source"`
	Paths  []string `json:"paths"` // ~, PROJECT, UID, variables and patterns not yet expanded
	Except []string `json:"except,omitempty"`
	Holds  string   `json:"holds,omitempty"` // only files with this text
	Rest   bool     `json:"rest,omitempty"`  // what lies in the path of another row is that row's
	Part   bool     `json:"part,omitempty"`  // lies inside a resource of another key
	Root   bool     `json:"root,omitempty"`  // for boxes that root runs; the kernel does it for others
}

//go:embed resources.toml
var resourcesTOML string // allowed: embed writes only to a variable

// document is resources.toml as it is used.
type document struct {
	resources []Resource
	moved     []Moved
	// What only a variable names: start-up files, folders of them, and command lines that start
	// programs.
	files, folders, commands []string
}

// table is the document, read once, when it is first wanted.
var table = sync.OnceValue(func() *document { return parse(resourcesTOML) }) // allowed: written once

// parse reads the document line by line: a library for all of TOML takes ten times as long, at
// every start. What stands in quotes, without a backslash, is a string; a list may take several
// lines. TestParse compares it with such a library.
func parse(text string) *document {
	d := new(document)
	var texts map[string]*string
	var flags map[string]*bool
	var lists map[string]*[]string
	var list *[]string // that is going on
	for line := range strings.Lines(text) {
		switch line = strings.TrimSpace(line); {
		case line == "" || line[0] == '#' || line == "[moved]":
			continue
		case line == "[[resource]]":
			d.resources = append(d.resources, Resource{})
			r := &d.resources[len(d.resources)-1]
			texts = map[string]*string{"key": &r.Key, "what": &r.What, "kind": &r.Kind, "method": &r.Method, "holds": &r.Holds, "source": &r.Source}
			flags = map[string]*bool{"rest": &r.Rest, "part": &r.Part, "root": &r.Root}
			lists = map[string]*[]string{"paths": &r.Paths, "except": &r.Except}
			continue
		case strings.HasPrefix(line, `"~/`) && strings.Contains(line, " = "): // of [moved]
			place, by, _ := strings.Cut(line, " = ")
			d.moved = append(d.moved, Moved{Place: strings.Trim(place, `"`)})
			list, line = &d.moved[len(d.moved)-1].By, by
		case line == "[startup]":
			lists = map[string]*[]string{"files": &d.files, "folders": &d.folders, "commands": &d.commands}
			continue
		}
		key, _, _ := strings.Cut(line, " ")
		if flags[key] != nil {
			*flags[key] = true
		}
		list = cmp.Or(lists[key], list)
		for rest := line; ; {
			_, word, _ := strings.Cut(rest, `"`)
			var more bool
			if word, rest, more = strings.Cut(word, `"`); !more {
				break
			}
			if texts[key] != nil {
				*texts[key] = word
			} else {
				*list = append(*list, word)
			}
		}
	}
	return d
}

// Resources returns the table of sensitive resources.
func Resources() []Resource { return slices.Clone(table().resources) }

// EmptyPlaces returns the rows of the folders that are emptied.
func EmptyPlaces() []Resource {
	var out []Resource
	for _, r := range table().resources {
		if r.Method == "place" {
			out = append(out, r)
		}
	}
	return out
}

// Spot is what a path of the table stands for in one run.
type Spot struct {
	Path    string // of the host
	Pattern bool   // it stands for the paths that match it, as in path/filepath; any other means itself, whatever it holds
}

// Expand returns what the row's paths stand for.
func (s Site) Expand(r Resource) []Spot {
	if r.Root && s.UID != 0 {
		return nil
	}
	return s.expand(r.Paths)
}

// under joins a folder and a path of the table that may be a pattern: what the
// folder's own name holds is not one.
func under(dir, rest string) Spot {
	pattern := IsPattern(rest)
	if pattern {
		dir = escapePattern(dir)
	}
	if rest != "" {
		dir = paths.Join(dir, rest)
	}
	return Spot{dir, pattern}
}

// IsPattern reports whether a path of the table, as it is written there, stands for those
// that match it. Of a host path it says nothing: see Spot.
func IsPattern(p string) bool {
	for i := range len(p) { // a third of strings.ContainsAny; thousands are asked for in a run
		switch p[i] {
		case '*', '?', '[':
			return true
		}
	}
	return false
}

func escapePattern(p string) string {
	if !strings.ContainsAny(p, `*?[\`) {
		return p
	}
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(p)
}
