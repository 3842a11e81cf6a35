package plan

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// Live is a folder of the host that a box that runs gets, read-only.
type Live struct {
	Source  string    `json:"source"`
	Dest    string    `json:"dest"`
	ID      host.ID   `json:"id"` // of the source
	Covered []Covered `json:"covered"`
	Masked  []string  `json:"masked"` // these, as box paths, see Plan.Masked
	Pins    []string  `json:"pins"`   // folders on the way to Dest that the box could move
	Base    string    `json:"base"`   // a box path: below it what is missing on the way to Dest is made; "" where nothing is
}

// Covered is a place below a folder that the box does not see.
type Covered struct {
	Path   string  `json:"path"`
	Folder bool    `json:"folder"`
	ID     host.ID `json:"id"` // of what is there
}

// Later takes a folder that is to be read out of a plan of a box with a home of its own, where it is at that place: the
// launcher mounts it, see Plan.Late. The RunConfig becomes one without it. Where that is not all that differs, both
// stay as they are.
func Later(p Plan, rc profile.RunConfig, f host.Facts, s Staged, place string) (Plan, profile.RunConfig) {
	there := func(at string) bool {
		rest, in := paths.Rest(f.Home, at)
		return in && rest == place
	}
	without := rc
	without.Mounts = slices.DeleteFunc(slices.Clone(rc.Mounts), func(m profile.Mount) bool { return there(m.Dest) })
	without.HomeAllow = slices.DeleteFunc(slices.Clone(rc.HomeAllow), there)
	less, err := Build(without, f, s)
	l, ok := Added(less, p, f)
	if err != nil || !ok || l.Dest == "" {
		return p, rc
	}
	less.Late = append([]Live{l}, p.Late...) // what holds the way to others comes before them
	return less, without
}

// Shows reports whether the box has a folder of the host at its own path, or a copy of it there.
func (p Plan) Shows(folder string) bool {
	if slices.ContainsFunc(p.Late, func(l Live) bool { return l.Source == l.Dest && paths.Below(l.Dest, folder) }) {
		return true
	}
	for _, o := range slices.Backward(p.Ops) {
		if o.Mounts() && paths.Below(o.Dest, folder) {
			return o.bound() && o.hostPlace(folder) == folder
		}
	}
	return false
}

// Added is what a box that runs has to get so that its plan becomes another one: both are made in the same way, of the
// host as it is now. Where that is more, or less, than one folder to be read, with what is hidden in it, ok is
// false (with nothing at all it is true): so whoever judges a mount does it for both, and what has to be made
// before the start is not left out.
func Added(old, now Plan, f host.Facts) (l Live, ok bool) {
	known := map[string]int{}
	word := func(o Op) string {
		return fmt.Sprintf("%d %q %q %o %d %v %v %v", o.Kind, o.Source, o.Dest, o.Perms, o.Data, o.own, o.empty, o.Flags)
	}
	for _, o := range old.Ops {
		known[word(o)]++
	}
	var more []Op
	for _, o := range now.Ops {
		if known[word(o)]--; known[word(o)] < 0 && o.Kind != OpNote {
			more = append(more, o)
		}
	}
	for _, o := range more { // parents come before what is in them, and pins before what they pin
		below, in := paths.Rest(l.Dest, o.Dest)
		switch in = in && l.Dest != ""; {
		case o.Kind == OpReadOnly && o.bound() && l.Dest == "":
			at := f.Look(o.Source)
			if l.Source, l.Dest, l.ID = o.Source, o.Dest, at.ID; at.Kind != host.Dir || at.ID == (host.ID{}) {
				return l, false
			}
		case o.own && o.Reason == inPlace && l.Dest == "":
			l.Pins = append(l.Pins, o.Dest)
		case in && below != "" && (o.Kind == OpMask || o.Kind == OpData || o.Kind == OpTmpfs && (o.empty || !o.Writable())):
			l.Covered = append(l.Covered, Covered{below, o.Kind == OpTmpfs, f.Look(paths.Join(l.Source, below)).ID})
		default:
			return l, false
		}
	}
	// An empty folder of the box's own home, in which boxes mount something, may be covered, and need not be held
	// any more.
	lost := func(o Op) bool {
		covered := paths.Below(l.Dest, o.Dest)
		return (o.Mounts() && covered || known[word(o)] > 0 && o.Kind != OpNote) &&
			!(covered && o.own && o.Reason == inPlace)
	}
	if l.Dest == "" {
		return l, len(more) == 0
	}
	if slices.ContainsFunc(old.Ops, lost) ||
		slices.ContainsFunc(l.Pins, func(p string) bool { return !paths.Below(p, l.Dest) }) {
		return l, false
	}
	l.Masked = slices.DeleteFunc(slices.Clone(now.Masked), func(p string) bool { return slices.Contains(old.Masked, p) })
	under := map[string]int{}
	for i, o := range old.Ops {
		if o.Mounts() && !(o.own && o.Reason == inPlace) { // which may be taken out, too
			under[o.Dest] = i
		}
	}
	if in := last(l.Dest, under); in < 0 {
		l.Base = "/"
	} else if o := old.Ops[in]; !o.bound() && o.Dest != l.Dest {
		l.Base = o.Dest
	}
	same := slices.Equal(old.Pins, now.Pins) && slices.Equal(old.Protected,
		now.Protected) && slices.Equal(old.Env, now.Env) &&
		reflect.DeepEqual(old.Landlock, now.Landlock) && slices.Equal(old.HomeLinks, now.HomeLinks)
	return l, same
}
