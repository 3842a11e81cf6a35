package sensitive

import (
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/enr/inner/internal/paths"
)

// Suffix is what the name of something that was moved aside ends with. No tool obeys
// such a name.
const Suffix = ".inner-held"

// Aside reports whether a name is one that something is given when it is moved aside: at its end
// is Suffix, or Suffix with a number. It says nothing of what lies in a folder of that name, which is one
// like others.
func Aside(name string) bool {
	if cut := strings.LastIndexByte(name, '.'); cut > 0 && cut < len(name)-1 && strings.Trim(name[cut+1:], "0123456789") == "" {
		name = name[:cut]
	}
	return strings.HasSuffix(name, Suffix)
}

// pattern is one name of a row, as it is compared.
type pattern struct {
	row    *Row
	lead   string // the folders before the last name, "/.config" or ""
	least  int    // bytes that the last name has at least
	folder bool
	place  int // of several that fit equally well, the first counts; those with a star come last
}

// names finds which of many patterns a name may match, in lower case: a file system may not tell case. Those with
// a star are looked for by the last byte behind their last one, or the first before their first.
type names[T any] struct {
	exact       map[string][]T
	ends, heads [256][]starry[T]
	others      []starry[T] // which begin and end with a star
}

// starry is what a name must begin with, hold and end with.
type starry[T any] struct {
	begin, middle, end string
	value              T
}

func (n *names[T]) add(text string, value T) {
	text = strings.ToLower(text)
	first, last := strings.IndexAny(text, `*?[\`), strings.LastIndexAny(text, `*?]`)
	if first < 0 {
		n.exact[text] = append(n.exact[text], value)
		return
	}
	s := starry[T]{begin: text[:first], end: text[max(first, last)+1:], value: value}
	if parts := strings.Split(text, "*"); len(parts) > 2 && !strings.ContainsAny(text, `?[\`) {
		s.middle = parts[1]
	}
	list := &n.others
	if s.end != "" {
		list = &n.ends[s.end[len(s.end)-1]]
	} else if s.begin != "" {
		list = &n.heads[s.begin[0]]
	}
	*list = append(*list, s)
}

// each calls f for the patterns that a name may match, until f returns false.
func (n *names[T]) each(name string, f func(T) bool) {
	if name == "" {
		return
	}
	name = strings.ToLower(name)
	for _, v := range n.exact[name] {
		if !f(v) {
			return
		}
	}
	for _, list := range [][]starry[T]{n.ends[name[len(name)-1]], n.heads[name[0]], n.others} {
		for _, s := range list {
			if len(name) >= len(s.begin)+len(s.end) && strings.HasPrefix(name, s.begin) && strings.HasSuffix(name, s.end) && strings.Contains(name, s.middle) && !f(s.value) {
				return
			}
		}
	}
}

// index is the rows as they are looked up: by the last name of a path.
type index struct {
	names[pattern]
	trees []string // folders of work trees, "/.claude/worktrees/"
}

// lookup makes the index once.
var lookup = sync.OnceValue(func() *index { // allowed: written once
	rows := Rows()
	x := &index{names: names[pattern]{exact: map[string][]pattern{}}}
	for i := range rows {
		if rows[i].Where == Home {
			continue
		}
		for _, name := range rows[i].Names {
			x.add(&rows[i], name, i)
		}
	}
	return x
})

// add adds a name of a row.
func (x *index) add(row *Row, name string, place int) {
	last := strings.TrimSuffix(name, "/")
	p := pattern{row: row, folder: strings.HasSuffix(name, "/"), place: place}
	if row.Trees != "" {
		x.trees = append(x.trees, "/"+strings.ToLower(last)+"/"+row.Trees+"/")
	}
	if cut := strings.LastIndexByte(last, '/'); cut >= 0 {
		p.lead, last = "/"+strings.ToLower(last[:cut]), last[cut+1:]
	}
	if p.least = len(last); strings.Contains(last, "*") { // which stands for one byte at least
		p.place += len(Rows())
	}
	x.names.add(last, p)
}

// known are the names that either table has of what may lie anywhere in a project, and those by which git knows a
// repository; deep are the patterns among them.
var known = sync.OnceValues(func() (n *names[bool], deep map[string]bool) { // allowed: written once
	n, deep = &names[bool]{exact: map[string][]bool{}}, map[string]bool{}
	for _, name := range []string{".git", "HEAD", "objects", "refs", "commondir"} {
		n.add(name, true)
	}
	for _, row := range Rows() {
		for _, name := range row.Names {
			n.add(path.Base(name), true)
		}
	}
	for _, line := range table().from("project/**/") {
		pattern, _ := placeOf(line)
		pattern = strings.TrimPrefix(pattern, "PROJECT/")
		name, _, _ := strings.Cut(strings.TrimPrefix(pattern, "**/"), "/")
		deep[pattern] = true
		n.add(name, true)
	}
	return n, deep
})

// Notable reports whether a look through a project has to know of something: of folders, links and what a table or git
// may mean by the name. All else in a folder is nothing to it.
func Notable(name string, what fs.FileMode) bool {
	yes := what&(fs.ModeDir|fs.ModeSymlink) != 0
	if !yes {
		n, _ := known()
		n.each(name, func(bool) bool {
			yes = true
			return false
		})
	}
	return yes
}

// Deep reports whether a pattern is one of the table for what lies anywhere in a project: all that it matches
// is Notable.
func Deep(pattern string) bool {
	_, deep := known()
	return deep[pattern]
}

// Kind is what lies at a path.
type Kind int

// The kinds of a path. A link matches names of files and of folders.
const (
	File Kind = iota
	Folder
	Link
)

// KindOf returns the kind of an entry of a folder.
func KindOf(what fs.FileMode) Kind {
	switch {
	case what.IsDir():
		return Folder
	case what&fs.ModeSymlink != 0:
		return Link
	}
	return File
}

// Hit is a row that a path belongs to.
type Hit struct {
	Row  *Row
	Base string // the folder in which the tool looks: the path without the names of the row
}

// Match returns the row, if any, to which what is called name in the folder dir belongs.
// It goes by names and looks at nothing; for a row with Where == Top the caller has to
// know whether Base is the top of something.
func Match(dir, name string, kind Kind) (Hit, bool) {
	if name == "" || Aside(name) {
		return Hit{}, false
	}
	// Of several names the longest counts: its folders are part of it.
	var hit Hit
	place := 0
	lookup().each(name, func(p pattern) bool {
		base, ok := p.fits(dir, kind)
		if ok && len(name) >= p.least && (hit.Row == nil || len(base) < len(hit.Base) || len(base) == len(hit.Base) && p.place < place) {
			hit, place = Hit{p.row, base}, p.place
		}
		return true
	})
	return hit, hit.Row != nil
}

// fits reports whether the folder and the kind are those of the pattern.
func (p pattern) fits(dir string, kind Kind) (base string, ok bool) {
	if kind == File && p.folder || kind == Folder && !p.folder || len(dir) < len(p.lead) {
		return "", false
	}
	cut := len(dir) - len(p.lead)
	return dir[:cut], strings.EqualFold(dir[cut:], p.lead)
}

// Below returns the hit for a path or for a folder that it lies in: what is in a folder
// that a tool obeys is obeyed. kind is that of the path. top says what a folder that a
// row wants to be a Top is; dir is where to begin, and is not looked at itself.
func Below(dir, rel string, kind Kind, top func(dir string) bool) (Hit, bool) {
	if kind != Folder && Aside(rel[strings.LastIndexByte(rel, '/')+1:]) {
		return Hit{}, false
	}
	for rest := rel; ; {
		name, more, deeper := strings.Cut(rest, "/")
		k := Folder
		if !deeper {
			k = kind
		}
		if h, ok := Match(dir, name, k); ok && (h.Row.Where != Top || top(h.Base)) && !(deeper && inTrees(name, more)) {
			return h, true
		}
		if !deeper {
			return Hit{}, false
		}
		dir, rest = paths.Join(dir, name), more
	}
}

// WorkTrees returns the folders, relative to a root, in which a tool keeps work trees of
// git, for tools of which one of these signs is there.
func WorkTrees(there func(sign string) bool) []string {
	var out []string
	for _, r := range Rows() {
		if r.Trees != "" && slices.ContainsFunc(r.Signs, there) {
			for _, n := range r.Names {
				out = append(out, n+r.Trees)
			}
		}
	}
	return out
}

// inTrees reports whether rest, a path in the folder name, lies in a work tree there.
func inTrees(name, rest string) bool {
	p := "/" + strings.ToLower(name+"/"+rest)
	return slices.ContainsFunc(lookup().trees, func(t string) bool { return strings.HasPrefix(p, t) })
}

// Trees reports whether dir is a folder in which a tool keeps work trees.
func Trees(dir string) bool {
	return slices.ContainsFunc(lookup().trees, func(t string) bool { return strings.HasSuffix(strings.ToLower(dir)+"/", t) })
}

// PartOf reports whether path is dir or belongs to it. What lies in a work tree belongs
// neither to the folder of such trees nor to the one that holds it.
func PartOf(dir, path string) bool {
	rest, ok := paths.Rest(dir, path)
	name, above := filepath.Base(dir), filepath.Base(filepath.Dir(dir))
	return ok && !inTrees(name, rest) && (rest == "" || !inTrees(above, name+"/"+rest))
}

// Packages reports whether one of the folders of a relative path holds other people's
// packages, which nobody opens or enters to work in them.
func Packages(rel string) bool {
	names := strings.Split(rel, "/")
	return slices.ContainsFunc(names, PackageFolder) || strings.Contains("/"+rel+"/", "/pkg/mod/")
}

// PackageFolder reports whether a folder of that name holds other people's packages.
func PackageFolder(name string) bool {
	switch name {
	case "node_modules", "bower_components", "jspm_packages", "site-packages", "dist-packages", "__pycache__", ".cache", ".tox", ".nox", ".pnpm-store", ".gradle", ".m2", "Pods":
		return true
	}
	return false
}

// Names returns the names of the rows for which pick says so, without the slash of
// folders.
func Names(pick func(Row) bool) []string {
	var out []string
	for _, r := range Rows() {
		if pick(r) {
			for _, n := range r.Names {
				out = append(out, strings.TrimSuffix(n, "/"))
			}
		}
	}
	return out
}

// Startup returns the start-up files and folders of a home.
func Startup() []string { return Names(func(r Row) bool { return r.Where == Home }) }

// Made returns the folders that are made for a run on a computer with all tools.
func Made() []string { return Names(func(r Row) bool { return r.Made }) }

// MadeFor returns the folders that are made for a run where these signs of tools are there.
func MadeFor(there func(sign string) bool) []string {
	return Names(func(r Row) bool { return r.Made && slices.ContainsFunc(r.Signs, there) })
}

// Signs returns the programs that are signs of tools for MadeFor.
func Signs() []string {
	var out []string
	for _, r := range Rows() {
		for _, sign := range r.Signs {
			if r.Made && !strings.HasPrefix(sign, "~/") && !slices.Contains(out, sign) {
				out = append(out, sign)
			}
		}
	}
	return out
}
