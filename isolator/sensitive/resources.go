package sensitive

import (
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
	variables                []string // that places begin with
}

// table is the document, read once, when it is first wanted.
var table = sync.OnceValue(func() *document { return parse(resourcesTOML) }) // allowed: written once

// parse reads the document line by line: a library for all of TOML takes ten times as long, at
// every start. What stands in quotes, without a backslash, is a string; a list may take several
// lines. TestParse compares it with such a library.
func parse(text string) *document {
	d := new(document)
	lists := map[string]*[]string{"files": &d.files, "folders": &d.folders, "commands": &d.commands}
	words, flags := map[string]*string{}, map[string]*bool{}
	var list *[]string // that is going on
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		key, value, assigns := strings.Cut(line, " = ")
		switch {
		case line == "" || line[0] == '#' || line[0] == '[' && line != "[[resource]]":
			continue
		case line == "[[resource]]":
			d.resources = append(d.resources, Resource{Method: "empty"})
			r := &d.resources[len(d.resources)-1]
			words["key"], words["what"], words["kind"], words["method"], words["holds"], words["source"] = &r.Key, &r.What, &r.Kind, &r.Method, &r.Holds, &r.Source
			flags["rest"], flags["part"], flags["root"] = &r.Rest, &r.Part, &r.Root
			lists["paths"], lists["except"] = &r.Paths, &r.Except
			continue
		case !assigns: // the next lines of a list
			value = line
		case flags[key] != nil:
			*flags[key] = true
			continue
		case words[key] != nil:
			*words[key] = strings.Trim(value, `"`)
			continue
		case lists[key] != nil:
			list = lists[key]
		default: // of [moved]
			d.moved = append(d.moved, Moved{Place: strings.Trim(key, `"`)})
			list = &d.moved[len(d.moved)-1].By
		}
		quoted := false // every other piece
		for text := range strings.SplitSeq(value, `"`) {
			if name, _, ok := variableOf(text); quoted && ok && !slices.Contains(d.variables, name) {
				d.variables = append(d.variables, name)
			}
			if quoted {
				*list = append(*list, text)
			}
			quoted = !quoted
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

// Spot is what a path of the table stands for in one run: a path of the host, whatever its name
// holds, or, with a Pattern, what matches that below it.
type Spot struct{ Path, Pattern string }

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
	for IsPattern(rest) {
		name, more, _ := strings.Cut(rest, "/")
		if IsPattern(name) {
			return Spot{dir, rest}
		}
		dir, rest = paths.Join(dir, name), more
	}
	if rest != "" {
		dir = paths.Join(dir, rest)
	}
	return Spot{Path: dir}
}

// IsPattern reports whether a path of the table, as it is written there, stands for those
// that match it. Of a host path it says nothing: see Spot.
func IsPattern(p string) bool {
	return strings.ContainsAny(p, "*?[")
}
