package isolator

import (
	_ "embed"
	"path"
	"slices"
	"strconv"
	"strings"

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
	Paths  []string `json:"paths"` // ~, PROJECT, UID and patterns not yet expanded
	Except []string `json:"except,omitempty"`
	Part   bool     `json:"part,omitempty"` // lies inside a resource of another key
	Root   bool     `json:"root,omitempty"` // for boxes that root runs; the kernel does it for others
}

//go:embed resources.toml
var resourcesTOML string // allowed: embed writes only to a variable

// ResourcesTOML returns the table as it is documented.
func ResourcesTOML() string { return resourcesTOML }

// Resources returns the table of sensitive resources.
func Resources() []Resource { return resourceTable() }

// expand turns the row's paths into host paths and patterns. There are two
// homes when $HOME is not the one of the password file: the secrets are in
// either. roots are the folders a project's secrets may lie in.
func (r Resource) expand(homes []string, uid int, roots []string) []string {
	if r.Root && uid != 0 {
		return nil
	}
	return expandPlaces(r.Paths, homes, uid, roots)
}

func expandPlaces(paths, homes []string, uid int, roots []string) []string {
	out := make([]string, 0, len(paths))
	for _, p := range paths {
		if rest, ok := strings.CutPrefix(p, "~/"); ok {
			for _, h := range homes {
				out = append(out, under(h, rest))
			}
			continue
		}
		if rest, ok := strings.CutPrefix(p, "PROJECT/"); ok {
			for _, root := range roots {
				out = append(out, under(root, rest))
			}
			continue
		}
		out = append(out, strings.Replace(p, "/UID/", "/"+strconv.Itoa(uid)+"/", 1))
	}
	return out
}

// under joins a folder and a path of the table that may be a pattern: what the
// folder's own name holds is not one.
func under(dir, rest string) string {
	if isPattern(rest) {
		return escapePattern(dir) + "/" + rest
	}
	return dir + "/" + rest
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
func (r Resource) places(f host.Facts, roots []string) []string {
	listed := r.expand(f.Homes(), f.UID, roots)
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

// AllowKeys returns the keys of the table, sorted.
func AllowKeys() []string {
	var keys []string
	for _, r := range Resources() {
		keys = append(keys, r.Key)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
