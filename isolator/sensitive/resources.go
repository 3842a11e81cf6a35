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

//go:generate go test . -run TestTable -update

// resources.txt is resources.toml as a start looks it up: rows, moved places, what only variables name,
// and then every path, sorted in lower case, with a number that says which row it is of, and where in it.
//
//go:embed resources.txt
var resourcesText string // allowed: embed writes only to a variable

// document is resources.txt as it is used.
type document struct {
	rows  []Resource // without their paths
	moved []Moved
	// What only a variable names: start-up files, folders of them, and command lines that start
	// programs.
	files, folders, commands []string
	variables                []string // that places begin with
	places                   string   // lines: see placeOf
}

// table is the document, read once, when it is first wanted.
var table = sync.OnceValue(read) // allowed: written once

func read() *document {
	d := new(document)
	parts := strings.SplitN(resourcesText, "\n\n", 4)
	for line := range strings.SplitSeq(parts[0], "\n") {
		f := strings.Split(line, "\t")
		d.rows = append(d.rows, Resource{
			Key: f[0], What: f[1], Kind: f[2], Method: f[3], Source: f[4], Holds: f[5], Rest: f[6] == "rest", Part: f[6] == "part", Root: f[6] == "root", Except: f[7:],
		})
	}
	for line := range strings.SplitSeq(parts[1], "\n") {
		f := strings.Split(line, "\t")
		d.moved = append(d.moved, Moved{f[0], f[1:]})
	}
	lists := strings.Split(parts[2], "\n")
	for i, list := range []*[]string{&d.files, &d.folders, &d.commands, &d.variables} {
		*list = strings.Split(lists[i], "\t")
	}
	d.places = parts[3]
	return d
}

// placeOf reads a line: a path, a tab, and six digits. A path of the home with a pattern in it begins
// with ?/ in the place of ~/.
func placeOf(line string) (path string, row int) {
	cut := len(line) - 7
	path = line[:cut]
	if path[0] == '?' {
		path = "~" + path[1:]
	}
	for _, digit := range line[cut+1 : cut+4] {
		row = row*10 + int(digit-'0')
	}
	return path, row
}

// inOrder sorts lines by their numbers, each once.
func inOrder(lines []string) []string {
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[len(a)-6:], b[len(b)-6:]) })
	return slices.Compact(lines)
}

// from returns the lines that begin with a text in lower case. They are found where they stand: a start wants
// few of them.
func (d *document) from(text string) []string {
	first := d.search(func(line string) bool { return beginning(line, text) >= 0 })
	block := d.places[first:d.search(func(line string) bool { return beginning(line, text) > 0 })]
	if block == "" {
		return nil
	}
	return strings.Split(block[:len(block)-1], "\n")
}

// begins reports whether a line begins with a text in lower case.
func (d *document) begins(text string) bool {
	return beginning(d.places[d.search(func(line string) bool { return beginning(line, text) >= 0 }):], text) == 0
}

// search returns where the first line begins of which something is true that is true of all after it.
func (d *document) search(holds func(line string) bool) int {
	low, high := 0, len(d.places)
	for low < high {
		middle := low + (high-low)/2
		line := low + strings.LastIndexByte(d.places[low:middle], '\n') + 1
		if holds(d.places[line:]) {
			high = line
		} else {
			low = middle + strings.IndexByte(d.places[middle:], '\n') + 1
		}
	}
	return low
}

// beginning compares the beginning of a line, in lower case, with a text.
func beginning(line, text string) int {
	for i := range len(text) {
		if i == len(line) {
			return -1
		}
		if c := lower(line[i]); c != text[i] {
			return int(c) - int(text[i])
		}
	}
	return 0
}

// lower is a byte in lower case, as the tables have names: in ASCII.
func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// Resources returns the table of sensitive resources.
func Resources() []Resource {
	out := slices.Clone(table().rows)
	for _, line := range inOrder(table().from("")) {
		path, row := placeOf(line)
		out[row].Paths = append(out[row].Paths, path)
	}
	return out
}

// Spot is what a path of the table stands for in one run: a path of the host, whatever its name
// holds, or, with a Pattern, what matches that below it.
type Spot struct{ Path, Pattern string }

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
	return strings.IndexByte(p, '*') >= 0 || strings.IndexByte(p, '?') >= 0 || strings.IndexByte(p, '[') >= 0 // three times as fast as ContainsAny
}
