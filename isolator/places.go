package isolator

import (
	"path/filepath"
	"slices"

	"github.com/enr/inner/isolator/host"
)

// places empties the parts of the system that belong to somebody or something
// else. The user's own homes, the program, and where an installed package
// manager keeps its programs, are bound back; mounts come later and are seen.
func (b *builder) places() {
	if b.rc.Base == "minimal" {
		b.programsElsewhere() // and nothing else is there
		return
	}
	for _, r := range Resources() {
		if r.Method != "place" || b.allowed[r.Key] {
			continue
		}
		for _, p := range r.Paths {
			if b.kind(p) == host.Dir && b.canon(p) == p && !slices.Contains(b.homes(), p) && !(b.f.Bare[p] && !live(p)) {
				for _, at := range b.view.where(p) {
					if !slices.Contains(b.homes(), at) {
						b.filler("hidden: "+r.What+" ("+r.Key+")", at)
						b.emptied = append(b.emptied, at)
					}
				}
			}
		}
	}
	for _, home := range b.homes() {
		if b.rc.Home != "isolated" {
			b.showAgain("the home folder", home)
		}
	}
	for _, p := range toolPlaces() {
		b.showAgain("installed programs", p)
	}
	for _, p := range b.packageFolders(b.s.Program) {
		b.showAgain("the program itself", p)
	}
}

// placesIn empties them in a mount of what they lie in. What is mounted in one of
// them comes later.
func (b *builder) placesIn(m layer) {
	for _, r := range Resources() {
		if r.Method != "place" || b.allowed[r.Key] {
			continue
		}
		for _, p := range r.Paths {
			rest, ok := below(m.source, p)
			if ok && rest != "" && b.kind(p) == host.Dir && b.canon(p) == p && !slices.Contains(b.homes(), p) {
				b.filler("hidden: "+r.What+" ("+r.Key+")", filepath.Join(m.dest, rest))
			}
		}
	}
}

// live reports whether a place may be mounted on at any time: a disk that is
// plugged in during a run shows up in the box as well.
func live(p string) bool { return p == "/mnt" || p == "/media" }

// EmptyPlaces returns the folders that are emptied, for host.Probe to look into.
func EmptyPlaces() []string {
	var out []string
	for _, r := range Resources() {
		if r.Method == "place" {
			out = append(out, r.Paths...)
		}
	}
	return out
}

// toolPlaces are where package managers install for everybody, below a place
// that is emptied.
func toolPlaces() []string { return []string{"/home/linuxbrew/.linuxbrew"} }

// homes are the real paths of the user's homes.
func (b *builder) homes() []string {
	var out []string
	for _, h := range b.f.Homes() {
		out = append(out, b.canon(h))
	}
	return out
}

// showAgain binds back, read-only, what lies in an emptied place.
func (b *builder) showAgain(reason, p string) {
	real := b.canon(p)
	if k := b.kind(p); k != host.Dir && k != host.File {
		return
	}
	for _, at := range []string{real, b.linkFree(p)} {
		l, _ := b.view.at(at)
		inPlace := slices.Contains(b.emptied, l.dest)
		if inPlace && !l.bind() && !slices.Contains(b.homes(), filepath.Dir(l.dest)) {
			b.bind(reason, real, at, false)
		}
	}
}

// packageFolders are the name a program is called by, and the package it
// belongs to.
func (b *builder) packageFolders(program string) []string {
	return []string{b.linkFree(program), packageOf(b.canon(program))}
}
