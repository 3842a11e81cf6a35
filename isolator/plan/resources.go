package plan

import (
	_ "embed"
	"path"
	"slices"
	"strings"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
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

// ResourcesTOML returns the table as it is documented.
func ResourcesTOML() string { return resourcesTOML }

// Resources returns the table of sensitive resources.
func Resources() []Resource { return slices.Clone(resourceTable) }

// expand turns the row's paths into host paths and patterns.
func (r Resource) expand(s site) []string {
	if r.Root && s.uid != 0 {
		return nil
	}
	return s.expand(r.Paths)
}

// under joins a folder and a path of the table that may be a pattern: what the
// folder's own name holds is not one.
func under(dir, rest string) string {
	if isPattern(dir) || isPattern(rest) {
		dir = escapePattern(dir)
	}
	if rest == "" {
		return dir
	}
	return strings.TrimSuffix(dir, "/") + "/" + rest
}

func isPattern(p string) bool { return strings.ContainsAny(p, "*?[") }

func escapePattern(p string) string {
	if !strings.ContainsAny(p, `*?[\`) {
		return p
	}
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(p)
}

// projectRoots are the folders whose own secret files are hidden: what a
// person works in.
func projectRoots(rc profile.RunConfig) []string {
	var out []string
	add := func(p string) {
		if p != "" && p != "/" && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	add(rc.Project)
	add(rc.Workdir)
	for _, m := range rc.Mounts {
		if m.Mode != profile.Tmpfs {
			add(m.Source)
		}
	}
	return out
}

// places returns the host paths of a row that exist by name: its paths, with
// patterns replaced by what they matched, without its exceptions.
func (r Resource) places(f host.Facts, at site) []string {
	listed := r.expand(at)
	out := make([]string, 0, len(listed))
	for _, p := range listed {
		if isPattern(p) {
			out = append(out, f.Globs[p]...)
		} else {
			out = append(out, p)
		}
	}
	if len(r.Except) == 0 {
		return out
	}
	// Exceptions are told by name: no folder of theirs is anything else.
	return slices.DeleteFunc(out, func(p string) bool {
		return slices.ContainsFunc(r.Except, func(e string) bool {
			ok, err := path.Match(path.Base(e), path.Base(p))
			return err == nil && ok
		})
	})
}

// entries returns the rows of the table with the host paths they stand for in a
// run. What a row of the rest found in the path of another row is left to that one.
func entries(f host.Facts, at site) []entry {
	var out []entry
	var rest []int
	for _, r := range resourceTable {
		if r.Rest {
			rest = append(rest, len(out))
		}
		out = append(out, entry{r, r.places(f, at)})
	}
	for _, i := range rest {
		out[i].at = slices.DeleteFunc(out[i].at, func(p string) bool {
			return slices.ContainsFunc(out, func(other entry) bool {
				return !other.Rest && other.Method != "place" && slices.ContainsFunc(other.at, func(dir string) bool { return paths.Below(dir, p) })
			})
		})
	}
	return out
}
