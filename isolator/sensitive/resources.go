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
	r := new(Resource) // that is being read
	var list *[]string // that is going on
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		key, _, _ := strings.Cut(line, " ")
		var word *string
		switch key {
		case "", "#", "[moved]", "[startup]":
			continue
		case "[[resource]]":
			d.resources = append(d.resources, Resource{Method: "empty"})
			r = &d.resources[len(d.resources)-1]
			continue
		case "key":
			word = &r.Key
		case "what":
			word = &r.What
		case "kind":
			word = &r.Kind
		case "method":
			word = &r.Method
		case "holds":
			word = &r.Holds
		case "source":
			word = &r.Source
		case "rest":
			r.Rest = true
		case "part":
			r.Part = true
		case "root":
			r.Root = true
		case "paths":
			list = &r.Paths
		case "except":
			list = &r.Except
		case "files":
			list = &d.files
		case "folders":
			list = &d.folders
		case "commands":
			list = &d.commands
		default:
			if place, by, ok := strings.Cut(line, ` = `); ok && strings.HasPrefix(place, `"`) { // of [moved]
				d.moved = append(d.moved, Moved{Place: strings.Trim(place, `"`)})
				list, line = &d.moved[len(d.moved)-1].By, by
			}
		}
		for rest := line; ; {
			_, text, _ := strings.Cut(rest, `"`)
			var more bool
			if text, rest, more = strings.Cut(text, `"`); !more {
				break
			}
			switch name, _, variable := variableOf(text); {
			case word != nil:
				*word = text
				continue
			case variable && !slices.Contains(d.variables, name):
				d.variables = append(d.variables, name)
			}
			*list = append(*list, text)
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
	for i := range len(p) { // a third of strings.ContainsAny; thousands are asked for in a run
		switch p[i] {
		case '*', '?', '[':
			return true
		}
	}
	return false
}
