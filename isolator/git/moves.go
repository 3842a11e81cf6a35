package git

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Which refs have moved since the last exchange, and where their values go.

// changedRefs names the refs of the box that have another value than at the last exchange, or
// are gone.
func (x *exchange) changedRefs() []string {
	var names []string
	for name, value := range x.boxRefs.refs {
		if x.base.refs[name] != value {
			names = append(names, name)
		}
	}
	for name := range x.base.refs {
		if _, has := x.boxRefs.refs[name]; !has && x.boxRefs.odd[name] == "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// findMoves compares the box's refs with those of the last exchange.
func (x *exchange) findMoves() error {
	names := x.changedRefs()
	if len(names)+len(x.boxRefs.odd) > maxMoves {
		return fmt.Errorf("the box changed %d refs, and no more than %d cross", len(names)+len(x.boxRefs.odd), maxMoves)
	}
	for name, why := range x.boxRefs.odd {
		x.say("the box's ref %s %s, and does not cross", plainText(name, 200), why)
	}
	for _, name := range names {
		if !hasPrefix(name, worktreeRefs()...) { // those are of one worktree, and of an operation
			x.findMove(name)
		}
	}
	// Entries below the newest come and go without a new value of the ref.
	if top := x.hostRefs[stashRef]; top != "" && top == x.boxRefs.refs[stashRef] && top == x.base.refs[stashRef] && x.stashDiffers() {
		x.moves = append(x.moves, &move{name: stashRef, old: top, new: top, to: stashRef})
	}
	return nil
}

// findMove looks at one ref that the box changed.
func (x *exchange) findMove(name string) {
	m := &move{name: name, old: x.hostRefs[name], new: x.boxRefs.refs[name], to: name}
	base, known := x.base.refs[name]
	switch {
	case m.old == m.new:
		if err := x.base.write('=', map[string]string{name: m.new}); err != nil {
			x.say("%v", err)
		}
	case slices.ContainsFunc([]string{m.old, m.new, base}, isSymbolic):
		if x.remoteHead(m) {
			x.heads = append(x.heads, m)
		} else {
			x.setting("the symbolic ref " + plainText(name, 200))
		}
	default:
		x.place(m, x.misnamed(name, known))
		x.moves = append(x.moves, m)
	}
}

func isSymbolic(value string) bool {
	_, is := symbolic(value)
	return is
}

// misnamed says why a ref of the box, with known one that was there at the last exchange, may
// not have its name on the host, or "".
func (x *exchange) misnamed(name string, known bool) string {
	switch {
	case hasPrefix(name, reservedRefs()...):
		return reservedRef
	case known:
		return ""
	}
	if why := refName(name); why != "" {
		return why
	}
	if x.folded == nil {
		x.folded = x.fold()
	}
	if other := x.folded[strings.ToLower(name)]; other != name && other != "" {
		return "differs from " + plainText(other, 200) + " by case only"
	}
	return ""
}

// maxMoves is the most refs that a box may have changed. Each takes a kilobyte of memory while it crosses.
const maxMoves = 250_000

// fold maps the lower-case names of refs to their names. The host's refs win over the box's.
func (x *exchange) fold() map[string]string {
	out := make(map[string]string, len(x.hostRefs))
	for _, name := range slices.Sorted(maps.Keys(x.boxRefs.refs)) {
		if lower := strings.ToLower(name); out[lower] == "" {
			out[lower] = name
		}
	}
	for name := range x.hostRefs {
		out[strings.ToLower(name)] = name
	}
	return out
}

// place decides where a value goes; unfit says why the host cannot have the ref's own name, or "".
func (x *exchange) place(m *move, unfit string) {
	switch {
	case unfit != "":
		x.divert(m, x.unfit(m.name), unfit)
	case x.u.Elsewhere[m.name]:
		x.divert(m, x.inner(m.name), "is checked out in a worktree that the box does not have")
	case slices.ContainsFunc(x.views, func(v *viewState) bool { return v.switched() && v.hostHead == "ref: "+m.name }):
		x.divert(m, x.inner(m.name), "was checked out outside meanwhile")
	case !x.ours(m.name, m.old):
		x.divert(m, x.inner(m.name), "was moved outside, too")
	}
}

// divert gives a value to another ref than its own. Nothing is deleted there.
func (x *exchange) divert(m *move, to, why string) {
	m.to, m.why, m.old = to, why, x.hostRefs[to]
	m.done = m.new == "" || m.old == m.new
}

// own returns the new values of those refs that are to have them on the host, too.
func own(list []*move) map[string]string {
	out := map[string]string{}
	for _, m := range list {
		if m.to == m.name {
			out[m.name] = m.new
		}
	}
	return out
}

// moved notes that the host's refs have their new values.
func (x *exchange) moved(list ...*move) error {
	for _, m := range list {
		m.done = true
		x.hostRefs.set(m.to, m.new)
	}
	return x.base.write('=', own(list))
}
