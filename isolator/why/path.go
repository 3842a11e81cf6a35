package why

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/paths"
)

// maxLinks is how many links are followed in resolving one path (path_resolution(7)).
const maxLinks = 40

// Path answers for a path, which is absolute and clean. It is looked up in the box under its
// own name, and if the box shows that part of the host at another place, also there.
func (t *Table) Path(asked string) Answer {
	box, e := t.follow(asked)
	a := Answer{Asked: asked, Box: box}
	var onHost entry
	a.Real, onHost = real(asked)
	if e.kind == '-' && onHost.kind != '-' {
		a.own = asked // be it a link to what the box has
		if at, there, ok := t.elsewhere(asked); ok {
			a.Box, e = at, there
		}
	}
	if onHost.kind == '-' && e.host != "" { // a path of the box alone
		a.Real = e.host
	}
	t.judge(&a, e, onHost)
	return a
}

// judge fills in the answer that follows from the entry in the box and the one on the host.
func (t *Table) judge(a *Answer, e, onHost entry) {
	r := &t.rules[e.rule]
	a.How, a.Key, a.From = r.How, r.Key, r.From
	switch {
	case e.kind == '-':
		t.nothing(a, r, onHost)
	case e.kind != '?' && r.Hides && e.host == "":
		a.Access = Hidden
	default:
		if access, how := e.barred(r.Write); how != "" { // no profile gives more
			a.Access, a.How, a.Key, a.From = access, how, "", "the host's permissions"
			return
		}
		a.Access = ReadOnly
		if e.write && (r.Write || t.special(e, a.Box)) {
			a.Access = ReadWrite
		}
	}
	a.Widen = t.widen(*a, *r)
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

// special reports whether something is a socket, a FIFO or a device, which a read-only mount does
// not keep a box from writing to, and whether Landlock does not either.
func (t *Table) special(e entry, box string) bool {
	return e.kind == 's' && !t.confined(box)
}

// nothing fills in the answer for a path at which the box has nothing.
func (t *Table) nothing(a *Answer, r *rule, onHost entry) {
	there := onHost.kind != '-'
	a.Box = ""
	switch {
	case r.Hides && there:
		a.Access, a.How = Hidden, "in an "+strings.TrimPrefix(r.How, "hidden: ")
	case !there:
		a.Access, a.How, a.Key, a.From = Absent, "there is nothing", "", ""
		t.makeable(a)
	default:
		a.Access, a.How = Outside, "not shown in the box"
		if key := t.hidden(a.Real); key != "" {
			a.Access, a.Key, a.From = Hidden, key, builtIn
		}
	}
}

// makeable completes the answer about what is nowhere, where the box can make something of that name and it stays.
func (t *Table) makeable(a *Answer) {
	dir, above := t.follow(filepath.Dir(a.Asked))
	at, r := filepath.Join(dir, filepath.Base(a.Asked)), &t.rules[above.rule]
	if above.kind == 'd' && above.write && r.Write && t.entry(at).kind == '-' && t.new(at) == "" {
		a.Makes, a.How, a.Key, a.From = true, "there is nothing, and the box can make it: "+r.How, r.Key, r.From
	}
}

// confined reports whether Landlock keeps the box from writing at a place.
func (t *Table) confined(box string) bool {
	l := t.box.Plan.Landlock
	return l != nil && l.Writes && !slices.ContainsFunc(l.Writable, func(p string) bool { return paths.Below(p, box) })
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
		if name == ".." {
			cur = filepath.Dir(cur)
			e = at(cur)
			continue
		}
		if e.kind != 'd' {
			if e.kind != '?' {
				e.kind = '-'
			}
			return filepath.Join(append([]string{cur, name}, todo...)...), e
		}
		next := filepath.Join(cur, name)
		rule := e.rule
		if e = at(next); e.kind == '-' && e.rule == 0 {
			e.rule = max(e.rule, rule)
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
func (t *Table) entry(p string) entry {
	i, r := over(t.rules, p)
	if r == nil {
		return entry{kind: '-'}
	}
	rest, _ := paths.Rest(r.At, p)
	e := t.entryOf(i, r, p, rest)
	e.rule = i
	return e
}

func (t *Table) entryOf(i int, r *rule, p, rest string) entry {
	switch r.kind {
	case file:
		if rest != "" {
			return entry{kind: '-'}
		}
		return entry{kind: 'f', read: true, perms: 0o444}
	case folder:
		return t.inMemory(i, r, p, rest)
	case kernels:
		return t.kernels(i, r, p, rest)
	}
	return t.mounted(r, rest)
}

// mounted returns what a mount of something has at a path below it.
func (t *Table) mounted(r *rule, rest string) entry {
	source, staged := t.staged(r.source)
	switch {
	case !staged:
		source = r.source
	case rest != "" && (source == "" || !t.copied(r.At, rest)):
		return entry{kind: '-'}
	case source == "": // made for the run, and known by its place alone
		return entry{kind: 'd', read: true, write: true, perms: 0o700}
	}
	e := disk(filepath.Join(source, rest))
	if e.kind != '-' {
		return e
	}
	if put, ok := t.put(source, rest); ok {
		return put
	}
	if rest == "" { // it is made before the start
		return entry{kind: 'd', read: true, write: true, perms: 0o755}
	}
	return e
}

// put returns what inner copies to a path of the box's own home at the start.
func (t *Table) put(source, rest string) (e entry, ok bool) {
	home := t.box.Facts.OwnHome
	if home == nil || source != home.Path {
		return entry{}, false
	}
	original, ok := t.copiedHome(rest)
	if !ok {
		return entry{}, false
	}
	return t.copyOf(original)
}

// copyOf returns what the box has of a file or folder of the host of which it has a copy of its
// own.
func (t *Table) copyOf(original string) (e entry, ok bool) {
	e = disk(original)
	e.read, e.write = true, true
	return e, e.kind == 'd' || e.kind == 'f'
}

// original returns the host path that is shown for a source; "" for what is made for the run and
// has none.
func (t *Table) original(source string) string {
	if original, staged := t.staged(source); staged {
		return original
	}
	return source
}

// inMemory returns what a folder in memory has at a path: what inner makes there, or the folders
// above what is mounted in it.
func (t *Table) inMemory(i int, r *rule, p, rest string) entry {
	own := entry{kind: 'd', read: true, write: r.Write, perms: 0o755}
	if rest == "" {
		return own
	}
	for _, later := range t.rules[i+1:] {
		switch {
		case later.At == p && later.kind == link:
			return entry{kind: 'l', text: later.Source}
		case paths.Below(p, later.At):
			return own
		}
	}
	return entry{kind: '-'}
}

// deviceNodes returns the names that bwrap makes in /dev (bubblewrap.c, SETUP_MOUNT_DEV).
func deviceNodes() []string {
	return []string{"null", "zero", "full", "random", "urandom", "tty", "stdin", "stdout", "stderr", "fd", "core", "pts", "ptmx", "shm", "console"}
}

// kernels returns what /proc or /dev of the box has at a path: roughly what the host's has, and
// the folders above what is mounted there.
func (t *Table) kernels(i int, r *rule, p, rest string) entry {
	if rest != "" && slices.ContainsFunc(t.rules[i+1:], func(later rule) bool { return paths.Inside(p, later.At) }) {
		return entry{kind: 'd', read: true, write: r.Write, perms: 0o755}
	}
	first, _, below := strings.Cut(rest, "/")
	if r.At == "/dev" && first != "" && (!slices.Contains(deviceNodes(), first) || below && first != "fd") {
		return entry{kind: '-'}
	}
	return disk(p)
}

// elsewhere looks for another place at which the box shows a path of the host, by the name that is
// asked: what only a link leads to, which the box lacks, is not there for who asks for the link.
func (t *Table) elsewhere(asked string) (string, entry, bool) {
	for i, r := range t.rules {
		if r.kind != shown {
			continue
		}
		for _, source := range t.sources(r) {
			rest, ok := paths.Rest(source, asked)
			if !ok || source == "" {
				continue
			}
			at := filepath.Join(r.At, rest)
			if j, _ := over(t.rules, at); j != i {
				continue
			}
			if box, e := t.follow(at); e.kind != '-' {
				return box, e, true
			}
		}
	}
	return "", entry{}, false
}

// sources returns the paths of the host that a place of the box shows: the real one, and that of
// a mount as its profile writes it.
func (t *Table) sources(r rule) []string {
	list := []string{t.original(r.source)}
	for _, m := range t.box.Spec.Mounts {
		if m.Dest == r.At {
			list = append(list, m.Source)
		}
	}
	return list
}
