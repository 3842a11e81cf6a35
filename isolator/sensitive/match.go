package sensitive

import (
	"io/fs"
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
	if cut := strings.LastIndexByte(name, '.'); cut > 0 && cut < len(name)-1 &&
		strings.Trim(name[cut+1:], "0123456789") == "" {
		name = name[:cut]
	}
	return strings.HasSuffix(name, Suffix)
}

// nameOf is a name of a row of the table of what tools obey, or, with the row beyond, of what lies anywhere in
// a project by the table of secrets. The zero value is none: rows count from 1.
type nameOf struct{ row, name uint16 }

// starry is what a name must begin with, hold and end with.
type starry struct {
	begin, middle, end string
	of                 nameOf
}

// places is how many names an index has room for, three times what there are.
const places = 2048

// index finds which of the names of both tables one may be, in lower case: a file system may not tell case. It holds
// numbers and no text, since a start that has something to look up makes it. Names with a star are looked for
// by the last byte behind their last one, or the first before their first.
type index struct {
	exact       [places]nameOf // by their sum, or in the next free place
	ends, heads [256][]starry
	others      []starry // which begin and end with a star
	deep        []string // what lies anywhere in a project, or is known to git
}

// lookup makes the index once.
var lookup = sync.OnceValue(func() *index { // allowed: written once
	x := &index{deep: []string{".git", "HEAD", "objects", "refs", "commondir"}}
	for pattern := range anywhere() {
		name, _, _ := strings.Cut(strings.TrimPrefix(pattern, "**/"), "/")
		x.deep = append(x.deep, name)
	}
	for i, row := range Rows() {
		for j := range row.Names {
			x.add(nameOf{uint16(i + 1), uint16(j)})
		}
	}
	for i := range x.deep {
		x.add(nameOf{uint16(len(Rows()) + 1), uint16(i)})
	}
	return x
})

// Prepare makes what Match and Notable look names up in, when nobody waits for it.
func Prepare() { lookup() }

// text is a name, or the last of its folders and it.
func (x *index) text(n nameOf) string {
	if int(n.row) > len(Rows()) {
		return x.deep[n.name]
	}
	name := strings.TrimSuffix(Rows()[n.row-1].Names[n.name], "/")
	return name[strings.LastIndexByte(name, '/')+1:]
}

func (x *index) add(n nameOf) {
	text := x.text(n)
	if !IsPattern(text) {
		at := place(text)
		for x.exact[at] != (nameOf{}) {
			at = (at + 1) % places
		}
		x.exact[at] = n
		return
	}
	text = strings.ToLower(text)
	first, last := strings.IndexAny(text, `*?[\`), strings.LastIndexAny(text, `*?]`)
	s := starry{begin: text[:first], end: text[max(first, last)+1:], of: n}
	if parts := strings.Split(text, "*"); len(parts) > 2 && !strings.ContainsAny(text, `?[\`) {
		s.middle = parts[1]
	}
	list := &x.others
	if s.end != "" {
		list = &x.ends[s.end[len(s.end)-1]]
	} else if s.begin != "" {
		list = &x.heads[s.begin[0]]
	}
	*list = append(*list, s)
}

// place is where a name is in the index, unless another is there.
func place(name string) int {
	sum := uint32(2166136261) // FNV-1a
	for i := range len(name) {
		sum = (sum ^ uint32(lower(name[i]))) * 16777619
	}
	return int(sum^sum>>16) % places
}

// each calls f for the names that one may match, until f returns false.
func (x *index) each(name string, f func(nameOf) bool) {
	if name == "" {
		return
	}
	name = strings.ToLower(name)
	for at := place(name); x.exact[at] != (nameOf{}); at = (at + 1) % places {
		if n := x.exact[at]; strings.EqualFold(x.text(n), name) && !f(n) {
			return
		}
	}
	for _, list := range [][]starry{x.ends[name[len(name)-1]], x.heads[name[0]], x.others} {
		for _, s := range list {
			if len(name) >= len(s.begin)+len(s.end) && strings.HasPrefix(name, s.begin) &&
				strings.HasSuffix(name, s.end) && strings.Contains(name, s.middle) && !f(s.of) {
				return
			}
		}
	}
}

// Notable reports whether a look through a project has to know of something: of folders, links and what a table or git
// may mean by the name. All else in a folder is nothing to it.
func Notable(name string, what fs.FileMode) bool {
	yes := what&(fs.ModeDir|fs.ModeSymlink) != 0
	if !yes {
		lookup().each(name, func(nameOf) bool {
			yes = true
			return false
		})
	}
	return yes
}

// Deep reports whether a pattern is one of the table for what lies anywhere in a project: all that it matches
// is Notable.
func Deep(pattern string) bool { return anywhere()[pattern] }

// anywhere are those patterns.
var anywhere = sync.OnceValue(func() map[string]bool { // allowed: written once
	patterns := map[string]bool{}
	for _, line := range table().from("project/**/") {
		pattern, _ := placeOf(line)
		patterns[strings.TrimPrefix(pattern, "PROJECT/")] = true
	}
	return patterns
})

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
	// Of several names the longest counts: its folders are part of it; of those that fit equally well, the first, and
	// one with a star after all others. A star stands for one byte at least.
	var hit Hit
	first := 0
	lookup().each(name, func(n nameOf) bool {
		row := int(n.row) - 1
		if row == len(Rows()) || Rows()[row].Where == Home {
			return true
		}
		base, ok := fits(Rows()[row].Names[n.name], dir, kind)
		text := lookup().text(n)
		if strings.Contains(text, "*") {
			row += len(Rows())
		}
		if ok && len(name) >= len(text) && (hit.Row == nil || len(base) < len(hit.Base) || len(base) == len(hit.Base) && row < first) {
			hit, first = Hit{&Rows()[n.row-1], base}, row
		}
		return true
	})
	return hit, hit.Row != nil
}

// fits reports whether the folder and the kind are those of a name of a row.
func fits(name, dir string, kind Kind) (base string, ok bool) {
	name, folder := strings.CutSuffix(name, "/")
	if kind == File && folder || kind == Folder && !folder {
		return "", false
	}
	last := strings.LastIndexByte(name, '/')
	if last < 0 {
		return dir, true
	}
	lead := name[:last] // the folders before the last name
	cut := len(dir) - len(lead) - 1
	return dir[:max(cut, 0)], cut >= 0 && dir[cut] == '/' && strings.EqualFold(dir[cut+1:], lead)
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

// trees are those folders, "/.claude/worktrees/".
var trees = sync.OnceValue(func() (out []string) { // allowed: written once
	for _, name := range WorkTrees(func(string) bool { return true }) {
		out = append(out, "/"+strings.ToLower(name)+"/")
	}
	return out
})

// inTrees reports whether rest, a path in the folder name, lies in a work tree there.
func inTrees(name, rest string) bool {
	p := "/" + strings.ToLower(name+"/"+rest)
	return slices.ContainsFunc(trees(), func(t string) bool { return strings.HasPrefix(p, t) })
}

// Trees reports whether dir is a folder in which a tool keeps work trees.
func Trees(dir string) bool {
	return slices.ContainsFunc(trees(), func(t string) bool { return strings.HasSuffix(strings.ToLower(dir)+"/", t) })
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

// Made returns the folders that are made for a run where these signs of tools are there, nil for a computer with all.
func Made(there func(sign string) bool) []string {
	return Names(func(r Row) bool { return r.Made && (there == nil || slices.ContainsFunc(r.Signs, there)) })
}

// Signs returns the programs that are signs of tools for Made.
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
