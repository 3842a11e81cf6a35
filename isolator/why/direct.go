package why

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/sensitive"
)

// Direct answers for a program outside of the box that opens a path itself, as the file
// tools of an agent do. The path is granted only where the box shows the same file of the host,
// and not where it has one of its own, as in a copy or in its home. A path at which there is
// nothing is judged like the nearest folder above it.
func (t *Table) Direct(asked string) Answer {
	host, there := real(asked)
	a := t.same(host)
	if there.kind == '-' {
		if key := t.new(host); key != "" {
			return Answer{Asked: asked, Real: host, Access: Hidden, How: "nothing may be made there", Key: key}
		}
		dir := host
		for there.kind == '-' && dir != "/" {
			dir = filepath.Dir(dir)
			_, there = real(dir)
		}
		a = t.same(dir)
	}
	a.Asked, a.Real = asked, host
	return a
}

// same answers like Path for a path of the host without links, but Outside where the box has
// another file there.
func (t *Table) same(host string) Answer {
	a := t.Path(host)
	if !a.Granted(false) {
		return a
	}
	_, r := over(t.rules, a.Box)
	if r != nil && r.kind == shown && r.source != "" {
		_, staged := t.staged(r.source)
		rest, _ := paths.Rest(r.At, a.Box)
		if real, _ := real(filepath.Join(r.source, rest)); !staged && real == host {
			return a
		}
	}
	a.Access, a.How, a.Widen = Outside, "the box has something of its own there", ""
	return a
}

// new returns the key that forbids making a file at a path where there is nothing: a file of that
// name would be hidden, or obeyed by tools outside.
func (t *Table) new(host string) string {
	if key := t.hidden(host); key != "" {
		return key
	}
	if _, text := t.pattern(host); text != "" && !strings.HasPrefix(text, "!") {
		return "sandbox.hide"
	}
	if slices.Contains(t.box.Spec.Allow, "project-config") {
		return ""
	}
	return t.obeyed(host)
}

// obeyed returns the key that forbids making a file at a path because of its name or that of a
// folder above it: a repository or a project would begin there, or tools outside would obey it.
func (t *Table) obeyed(host string) string {
	for p, kind := host, sensitive.File; p != "/" && p != t.box.Spec.Workdir; p, kind = filepath.Dir(p), sensitive.Folder {
		if name := filepath.Base(p); strings.EqualFold(name, ".git") || strings.EqualFold(name, ".inner") {
			return "sandbox.git_dir" // a repository or a project of inner would begin there
		}
		if _, obeyed := sensitive.Match(filepath.Dir(p), filepath.Base(p), kind); obeyed {
			return "project-config"
		}
	}
	return ""
}

// HidesBelow returns the first place at or below a path, which is absolute and clean, of which the
// box does not show what is there, and who reads the folder outside of the box would. That one
// reads what reads says: of a place below the path, which may be a folder.
func (t *Table) HidesBelow(asked string, reads func(rest string, folder bool) bool) (place string, found bool) {
	host, _ := real(asked)
	for _, r := range t.rules {
		rest, below := paths.Rest(host, r.At)
		if (r.Hides || r.kind == file) && below && reads(rest, disk(r.At).kind != 'f') {
			return r.At, true
		}
	}
	return "", false
}
