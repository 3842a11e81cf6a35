package why

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/sensitive"
)

// Direct answers for a program outside of the box that opens a path itself, as the file
// tools of an agent do. The path is granted only where the box shows the same file of the host,
// and not where it has one of its own, as in a copy or in its home. A path at which there is
// nothing is judged like the nearest folder above it.
func (t *Table) Direct(asked string) Answer {
	path, there := real(asked)
	if key := t.new(path); there.kind == '-' && key != "" {
		return Answer{Asked: asked, Real: path, Access: Hidden, How: "nothing may be made there", Key: key}
	}
	dir := path
	for there.kind == '-' && dir != "/" {
		dir = filepath.Dir(dir)
		_, there = real(dir)
	}
	a := t.same(dir)
	a.Asked, a.Real = asked, path
	return a
}

// same answers like Path for a path of the host without links, but Outside where the box has
// another file there.
func (t *Table) same(path string) Answer {
	a := t.Path(path)
	if !a.Granted(false) {
		return a
	}
	if o := t.ops[t.over(a.Box)]; o.Bind() {
		rest, _ := paths.Rest(o.Dest, a.Box)
		if shown, _ := real(filepath.Join(o.Source, rest)); shown == path {
			return a
		}
	}
	a.Access, a.How, a.Widen = Outside, "the box has something of its own there", ""
	return a
}

// new returns the key that forbids making a file at a path where there is nothing: a file of that
// name would be hidden, or obeyed by tools outside.
func (t *Table) new(path string) string {
	if key := t.hidden(path); key != "" {
		return key
	}
	if _, text := t.pattern(path); text != "" && !strings.HasPrefix(text, "!") {
		return "sandbox.hide"
	}
	if slices.Contains(t.Box.Spec.Allow, "project-config") {
		return ""
	}
	return t.obeyed(path)
}

// obeyed returns the key that forbids making a file at a path because of its name or that of a
// folder above it: a repository or a project would begin there, or tools outside would obey it.
func (t *Table) obeyed(path string) string {
	for p := path; p != "/" && p != t.Box.Spec.Workdir; p = filepath.Dir(p) {
		if name := filepath.Base(p); strings.EqualFold(name, ".git") || strings.EqualFold(name, ".inner") {
			return "sandbox.git_dir" // a repository or a project of inner would begin there
		}
		_, file := sensitive.Match(filepath.Dir(p), filepath.Base(p), sensitive.File)
		if _, folder := sensitive.Match(filepath.Dir(p), filepath.Base(p), sensitive.Folder); folder || file && p == path {
			return "project-config"
		}
	}
	return ""
}

// HidesBelow returns the first place at or below a path, which is absolute and clean, of which the
// box does not show what is there, and who reads the folder outside of the box would. That one
// reads what reads says: of a place below the path, which may be a folder.
func (t *Table) HidesBelow(asked string, reads func(rest string, folder bool) bool) (place string, found bool) {
	path, _ := real(asked)
	for _, o := range t.ops {
		file := o.Kind == plan.OpData || o.Kind == plan.OpFile || o.Reason == committed
		rest, below := paths.Rest(path, o.Dest)
		if (hides(o) || file) && below && reads(rest, disk(o.Dest).kind != 'f') {
			return o.Dest, true
		}
	}
	return "", false
}
