package plan

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// What is protected may be reached through a link: a .claude that is one, a .git, a
// start-up file. What is there is bound read-only; the link itself is no place
// that bwrap can mount on, and whoever can write its folder could replace it. The
// launcher pins it: it binds the link onto itself, as open_tree(2) and
// move_mount(2) can, before the program starts. A name that is mounted on cannot be
// removed, renamed or replaced (measured with Linux 6.18: EBUSY).

// hops are the links that lead to what is protected.
func (b *builder) hops() []host.Hop {
	var lead []string
	for _, h := range b.held() {
		lead = append(lead, h.path)
	}
	if b.rc.GitDir != "rw" { // also what is not there yet
		for _, p := range b.f.Named {
			lead = append(lead, p)
		}
	}
	out := slices.Clone(b.s.GitLinks)
	for _, p := range lead {
		for _, h := range b.f.Look(p).Hops {
			if !slices.Contains(out, h) {
				out = append(out, h)
			}
		}
	}
	return out
}

// pinLinks has the launcher pin those that the box could replace. It comes after
// everything is mounted that the box can write.
func (b *builder) pinLinks() error {
	for _, h := range b.hops() {
		if b.inHidden(h.Path) {
			continue
		}
		for _, dir := range b.writable(filepath.Dir(h.Path)) {
			if b.allowed[nestedKey] {
				// The mounts of its user namespace are not the launcher's to change: move_mount
				// answers EPERM.
				return fault.Refuse(125, "make it a folder or a file of its own",
					"profile %q: %s is a link the box could replace, and in a box that makes containers (%s) none can be pinned", b.rc.Name, h.Path, nestedKey)
			}
			at := filepath.Join(dir, filepath.Base(h.Path))
			b.note(fmt.Sprintf("the link %s stays as it is: pinned before the program starts", at))
			b.plan.Pins = append(b.plan.Pins, Pin{Path: at, Target: h.Target})
		}
	}
	return nil
}

// pinBelow binds every folder between a writable mount and something below it
// that is protected, hidden or mounted over onto itself: a mount point cannot
// be renamed, so nothing is moved out from under its protection. It comes right
// after the mount, so that later ones go on top. dests are those.
func (b *builder) pinBelow(m Op, dests []string) {
	var pins []string
	for _, p := range append(b.fixedIn(m), dests...) {
		if !paths.Inside(m.Dest, p) {
			continue
		}
		for dir := filepath.Dir(p); dir != m.Dest; dir = filepath.Dir(dir) {
			pins = append(pins, dir)
		}
	}
	slices.Sort(pins) // parents first
	for _, p := range slices.Compact(pins) {
		rest, _ := paths.Rest(m.Dest, p)
		pinned := Op{Kind: OpBind, Source: filepath.Join(m.Source, rest), Dest: p, Reason: "what is in it cannot be moved away"}
		if m.original != "" {
			pinned.original = filepath.Join(m.original, rest)
		}
		b.op(pinned)
	}
}

// fixedIn are the places of what is protected or hidden in a writable mount, and of links on
// the way to it.
func (b *builder) fixedIn(m Op) (places []string) {
	inside := func(hostPath string) {
		if b.inHidden(hostPath) {
			return
		}
		if rest, ok := paths.Rest(m.Source, hostPath); ok {
			places = append(places, filepath.Join(m.Dest, rest))
		}
	}
	for _, h := range b.hops() {
		inside(h.Path)
	}
	for _, r := range b.s.Repos {
		for _, g := range r.Binds {
			inside(g.Box)
		}
	}
	for _, c := range b.rc.Mounts {
		if c.Mode == profile.SafeRW && b.kind(c.Source).Seen() { // see originals
			inside(b.canon(c.Source))
		}
	}
	for _, t := range b.fixed() {
		if b.kind(t).Seen() || b.made(t) {
			inside(b.canon(t))
		}
	}
	return places
}
