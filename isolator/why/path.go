package why

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/sensitive"
)

// maxLinks is how many links are followed in resolving one path (path_resolution(7)).
const maxLinks = 40

// Path answers for a path, which is absolute and clean. It is looked up in the box under its
// own name, and if the box shows that part of the host at another place, also there.
func (t *Table) Path(asked string) Answer {
	box, e := t.follow(asked)
	real, onHost := real(asked)
	a, there := Answer{Asked: asked, Real: real, Box: box}, onHost.kind != '-'
	if e.kind == '-' && there {
		a.own = asked // be it a link to what the box has
		if at, shown, ok := t.elsewhere(asked); ok {
			a.Box, e = at, shown
		}
	}
	if !there && e.host != "" { // a path of the box alone
		a.Real = e.host
	}
	t.judge(&a, e, there)
	if !a.Granted(false) {
		t.source(&a)
	}
	return a
}

// judge fills in the answer that follows from the entry in the box, and whether the host has something.
func (t *Table) judge(a *Answer, e entry, there bool) {
	o := t.ops[e.op]
	a.How, a.Key, a.From = how(o), o.Key, t.from(o)
	switch {
	case e.kind == '-':
		t.nothing(a, o, there)
	case e.kind != '?' && hides(o) && e.host == "":
		a.Access = Hidden
		t.secret(a)
	case there && t.point(e, a.Real):
		a.own, a.Access, a.How = a.Asked, Outside, "the home of the box has an empty folder there, where boxes mount something"
	default:
		a.Own = there && t.own(o, e, a.Real)
		if access, how := e.barred(t.writable(o)); how != "" { // no profile gives more
			a.Access, a.How, a.Key, a.From = access, how, "", "the host's permissions"
			return
		}
		a.Access = ReadOnly
		if special := e.kind == 's' && !t.confined(a.Box); e.write && (t.writable(o) || special) { // a read-only mount does not keep a box from writing to it
			a.Access = ReadWrite
		}
	}
	t.widen(a, o)
}

// own reports whether the box has something of its own at the place of what the host has: in a folder in memory, in a
// home of its own but for what is a copy there, or what the last commit has.
func (t *Table) own(o plan.Op, e entry, real string) bool {
	home := t.Box.Facts.OwnHome
	return o.Kind == plan.OpTmpfs || o.Reason == committed || home != nil && paths.Below(home.Path, o.Source) && e.host != real && original(t.Box.Run, e.host) != real
}

// point reports whether an entry of the box's own home is there for boxes to mount something on or below, with
// nothing in it, and not what the host has of that name.
func (t *Table) point(e entry, real string) bool {
	home := t.Box.Facts.OwnHome
	if home == nil || e.host == real || !paths.Inside(home.Path, e.host) {
		return false
	}
	var points []string
	for _, p := range home.Points {
		points = append(points, filepath.Join(home.Path, p.Path))
	}
	for _, p := range t.Box.Plan.HomePoints {
		points = append(points, filepath.Join(home.Path, p.Path))
	}
	return slices.ContainsFunc(points, func(p string) bool { return paths.Below(e.host, p) }) && filepath.WalkDir(e.host, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !slices.Contains(points, p) {
			return fs.ErrExist
		}
		return nil
	}) == nil
}

// barred says how the permissions of the host keep a program from what its box shows, be it only
// from writing what is mounted to be written; "" when they do not.
func (e entry) barred(write bool) (access Access, how string) {
	switch {
	case e.kind == '?':
		return Hidden, "a folder on the way is closed to you"
	case !e.read:
		return Hidden, "shown, but its permissions (" + e.perms.String() + ") keep you out"
	case write && !e.write:
		return ReadOnly, "shown, and its permissions (" + e.perms.String() + ") keep you from writing it"
	}
	return "", ""
}

// nothing fills in the answer for a path at which the box has nothing.
func (t *Table) nothing(a *Answer, o plan.Op, there bool) {
	a.Box = ""
	switch {
	case hides(o) && there:
		a.Access, a.How = Hidden, "in an "+strings.TrimPrefix(a.How, "hidden: ")
		t.secret(a)
	case !there:
		a.Access, a.How, a.Key, a.From = Absent, "there is nothing", "", ""
		t.makeable(a)
	default:
		a.Access, a.How = Outside, "not shown in the box"
		key := t.hidden(a.Real)
		lacks := func(r sensitive.Resource) bool {
			return r.Key == key && r.Method == "place" && t.Box.Spec.Base == "minimal"
		}
		if key != "" && !slices.ContainsFunc(sensitive.Resources(), lacks) { // their words show what the base has of them
			a.Access, a.Key, a.From = Hidden, key, builtIn
		}
	}
}

// secret names the row of the table for what is hidden with all dot entries of a home: to show the entry does
// not show it.
func (t *Table) secret(a *Answer) {
	if key := t.hidden(a.Real); key != "" && a.Key == "sandbox.home" {
		a.Key, a.From = key, builtIn
	}
}

// makeable completes the answer about what is nowhere, where the box can make something of that name, and says whether
// that stays.
func (t *Table) makeable(a *Answer) {
	dir, above := t.follow(filepath.Dir(a.Asked))
	at, o := filepath.Join(dir, filepath.Base(a.Asked)), t.ops[above.op]
	if above.kind != 'd' || !above.write || !t.writable(o) || t.entry(at).kind != '-' {
		return
	}
	switch t.new(at) {
	case "":
		a.Makes, a.How, a.Key, a.From = true, "there is nothing, and the box can make it: "+how(o), o.Key, t.from(o)
	case "project-config":
		a.How = "there is nothing, and what the box makes of that name is moved aside at the end"
	}
}

// follow resolves a path as in the box, through the links that the box has.
func (t *Table) follow(p string) (string, entry) { return walk(p, t.entry) }

// real resolves a path of the host.
func real(p string) (string, entry) { return walk(p, disk) }

// walk resolves the links of a path one name after the other. A path below something that does
// not exist has no entry; its remaining names are appended unresolved.
func walk(p string, at func(string) entry) (string, entry) {
	todo := names(p)
	cur, links := "/", 0
	e := at(cur)
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		next, in := filepath.Join(cur, name), e
		if in.kind != 'd' && name != ".." {
			if in.kind != '?' {
				in.kind = '-'
			}
			return filepath.Join(append([]string{next}, todo...)...), in
		}
		if e = at(next); e.kind == '-' && e.op == 0 {
			e.op = in.op
		}
		if e.kind != 'l' {
			cur = next
			continue
		}
		if links++; links > maxLinks {
			e.kind = '-'
			return next, e
		}
		todo = append(names(e.text), todo...)
		if filepath.IsAbs(e.text) {
			cur = "/"
		}
		e = at(cur)
	}
	return cur, e
}

func names(p string) []string {
	return strings.FieldsFunc(p, func(r rune) bool { return r == '/' })
}

// entry returns what is at a path of the box, without following links.
func (t *Table) entry(p string) (e entry) {
	at := t.over(p)
	o := t.ops[at]
	switch rest, _ := paths.Rest(o.Dest, p); {
	case o.Bind():
		e = t.mounted(o, rest)
	case o.Kind == plan.OpTmpfs, o.Kind == plan.OpProc, o.Kind == plan.OpDev:
		e = t.made(at, p, rest)
	case rest == "":
		e = entry{kind: 'f', read: true, perms: 0o444}
	default:
		e.kind = '-'
	}
	e.op = at
	return e
}

// made returns what a folder in memory, or of the kernel's, has at a path: what inner makes there, and the
// folders above what is mounted in it.
func (t *Table) made(at int, p, rest string) entry {
	o := t.ops[at]
	own := entry{kind: 'd', read: true, write: t.writable(o), perms: 0o755}
	if rest == "" && o.Kind == plan.OpTmpfs {
		return own
	}
	for _, later := range t.ops[at+1:] {
		switch {
		case later.Dest == p && later.Kind == plan.OpSymlink:
			return entry{kind: 'l', text: later.Source}
		case rest != "" && paths.Below(p, later.Dest):
			return own
		}
	}
	first, _, below := strings.Cut(rest, "/")
	if o.Kind == plan.OpTmpfs || o.Kind == plan.OpDev && first != "" && (!slices.Contains(deviceNodes(), first) || below && first != "fd") {
		return entry{kind: '-'}
	}
	return disk(p) // roughly what the host's has
}

// deviceNodes returns the names that bwrap makes in /dev (bubblewrap.c, SETUP_MOUNT_DEV).
func deviceNodes() []string {
	return []string{"null", "zero", "full", "random", "urandom", "tty", "stdin", "stdout", "stderr", "fd", "core", "pts", "ptmx", "shm", "console"}
}

// elsewhere looks for another place at which the box shows a path of the host, by the name that is
// asked: what only a link leads to, which the box lacks, is not there for who asks for the link.
func (t *Table) elsewhere(asked string) (string, entry, bool) {
	for i, o := range t.ops {
		if !o.Bind() {
			continue
		}
		for _, source := range t.sources(o) {
			rest, ok := paths.Rest(source, asked)
			at := filepath.Join(o.Dest, rest)
			if !ok || source == "" || t.over(at) != i {
				continue
			}
			if box, e := t.follow(at); e.kind != '-' {
				return box, e, true
			}
		}
	}
	return "", entry{}, false
}

// sources returns the paths of the host that a place of the box shows: the real one, that of which it is a
// copy, and that of a mount as its profile writes it.
func (t *Table) sources(o plan.Op) []string {
	list := []string{o.Source}
	for _, m := range t.Box.Mirrors {
		if m.At == o.Source {
			list = append(list, m.Of)
		}
	}
	for _, m := range t.Box.Spec.Mounts {
		if m.Dest == o.Dest {
			list = append(list, m.Source)
		}
	}
	return list
}

// mounted returns what a mount has at a path below it, or will have when the run is made.
func (t *Table) mounted(o plan.Op, rest string) entry {
	place, home := filepath.Join(o.Source, rest), t.Box.Facts.OwnHome
	e := disk(place)
	if of := original(t.Box.Run, place); e.kind == '-' && of != "" {
		e = disk(of)
		if kept := home != nil && paths.Below(home.Path, place); kept && (e.kind == 'd' || e.kind == 'f') {
			e.read, e.write = true, true
		} else if kept {
			e = entry{kind: '-'}
		}
	}
	if e.kind == '-' && rest == "" { // it is made before the start
		e = entry{kind: 'd', read: true, write: true, perms: 0o755}
		if home != nil && paths.Below(home.Path, place) {
			e.host = place
		}
	}
	return e
}

// original is the path of the host whose content a place of a run will have; "" for none.
func original(run *features.Run, place string) string {
	for _, m := range run.Mirrors {
		rest, in := paths.Rest(m.At, place)
		path := filepath.Join(m.Of, rest)
		has := func(only string) bool { return paths.Below(only, rest) || paths.Below(rest, only) }
		if in && (m.Only == nil || rest == "" || slices.ContainsFunc(m.Only, has)) && !slices.ContainsFunc(m.Lacks, func(p string) bool { return paths.Below(p, path) }) {
			return path
		}
	}
	return ""
}
