package sensitive

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/enr/inner/internal/paths"
)

// Resource is one thing of the host that a box does not see unless the
// profile lists its Key in [sandbox] allow. The table is resources.toml, which
// also says what each field means; resources_table.go is generated from it, because
// decoding it at each start takes 6 ms, and lines of text 0.3 ms.
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

// ResourcesTOML returns the table as it is documented.
func ResourcesTOML() string { return resourcesTOML }

// Resources returns the table of sensitive resources.
func Resources() []Resource { return slices.Clone(resourceTable) }

// EmptyPlaces returns the rows of the folders that are emptied.
func EmptyPlaces() []Resource {
	var out []Resource
	for _, r := range resourceTable {
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
