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
	if cut := strings.LastIndexByte(name, '.'); cut > 0 && cut < len(name)-1 && strings.Trim(name[cut+1:], "0123456789") == "" {
		name = name[:cut]
	}
	return strings.HasSuffix(name, Suffix)
}

// pattern is one name of a row, as it is compared.
type pattern struct {
	row    *Row
	lead   string // the folders before the last name, "/.config" or ""
	last   string // the last name, or of one with a star what it begins with
	tail   string // and ends with
	folder bool
	place  int // of several that fit equally well, the first counts; those with a star come last
}

// index is the rows as they are looked up: by the last name of a path.
type index struct {
	exact  map[string][]pattern
	starry []pattern
	trees  []string // folders of work trees, "/.claude/worktrees/"
}

// lookup makes the index once. Names are compared in lower case: a file system may do
// the same.
var lookup = sync.OnceValue(func() *index { // allowed: written once
	rows := Rows()
	x := &index{exact: map[string][]pattern{}}
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
	p := pattern{row: row, folder: strings.HasSuffix(name, "/"), place: place}
	p.last = strings.ToLower(strings.TrimSuffix(name, "/"))
	if row.Trees != "" {
		x.trees = append(x.trees, "/"+p.last+"/"+row.Trees+"/")
	}
	if cut := strings.LastIndexByte(p.last, '/'); cut >= 0 {
		p.lead, p.last = "/"+p.last[:cut], p.last[cut+1:]
	}
	if begin, tail, star := strings.Cut(p.last, "*"); star {
		p.last, p.tail, p.place = begin, tail, place+len(Rows())
		x.starry = append(x.starry, p)
		return
	}
	x.exact[p.last] = append(x.exact[p.last], p)
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
func KindOf(e fs.DirEntry) Kind {
	switch {
	case e.IsDir():
		return Folder
	case e.Type()&fs.ModeSymlink != 0:
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
	lower := strings.ToLower(name)
	if name == "" || Aside(name) {
		return Hit{}, false
	}
	// Of several names the longest counts: its folders are part of it.
	var hit Hit
	place := 0
	try := func(p pattern) {
		if base, ok := p.fits(dir, kind); ok && (hit.Row == nil || len(base) < len(hit.Base) || len(base) == len(hit.Base) && p.place < place) {
			hit, place = Hit{p.row, base}, p.place
		}
	}
	for _, p := range lookup().exact[lower] {
		try(p)
	}
	for _, p := range lookup().starry {
		if len(lower) > len(p.last)+len(p.tail) && strings.HasPrefix(lower, p.last) && strings.HasSuffix(lower, p.tail) {
			try(p)
		}
	}
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
