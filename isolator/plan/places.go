package plan

import (
	"path/filepath"
	"slices"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// backPlaces binds back, into the places that are empty, the user's own homes, the program, and where an
// installed package manager keeps its programs.
func (b *builder) backPlaces() {
	b.because("sandbox.home")
	for _, home := range b.f.Homes() {
		if !b.rc.HidesHome() {
			b.showHome(home)
		}
	}
	b.because("")
	if b.rc.Base == "minimal" {
		b.because("sandbox.base")
	}
	if b.f.Engine != nil {
		return
	}
	b.show("installed programs", "/home/linuxbrew/.linuxbrew") // where a package manager installs for everybody
	for _, p := range b.packageFolders() {
		l, _ := b.at(p)
		if hidden := b.rc.Base != "minimal" && !l.empty; !hidden && (!paths.Below(b.home, p) || !b.rc.HidesHome()) { // see listedInHome
			b.show("the program itself", p)
		}
	}
}

// placesIn empties, in what is shown of the host, the parts of the system that belong to somebody or something
// else. What is mounted in one of them comes later, and is seen.
func (b *builder) placesIn(m Op) {
	defer b.because(b.key)()
	for _, p := range once(&b.empties, b.emptied) {
		if rest, _ := paths.Rest(m.Source, p.real); rest != "" {
			b.because(p.key)
			b.tmpfsMask(p.reason(), filepath.Join(m.Dest, rest))
		}
	}
}

// emptied are the places that are to be empty and are there.
func (b *builder) emptied() (out []hid) {
	for _, r := range b.table() {
		if r.Method != "place" || b.allowed[r.Key] {
			continue
		}
		for _, p := range r.At {
			if real := b.place(p); real != "" {
				out = append(out, hid{path: p, real: real, key: r.Key, what: r.What})
			}
		}
	}
	return out
}

// place is the folder that p is or, on an image-based system, leads to; "" when it is
// not there, is a home of the user, or leads to more than such a place.
func (b *builder) place(p string) string {
	real := b.canon(p)
	if b.kind(p) != host.Dir || slices.Contains(b.homes(), real) {
		return ""
	}
	if paths.Below(b.home, real) && real != p {
		return ""
	}
	needed := append(profile.SystemFolders(), "/proc", "/sys", "/dev", "/run", "/var", "/tmp")
	if real != p && slices.ContainsFunc(needed, func(dir string) bool { return paths.Below(real, dir) }) {
		return ""
	}
	return real
}

// homes are the real paths of the user's homes.
func (b *builder) homes() []string {
	return once(&b.ofUser, func() (out []string) {
		for _, h := range b.f.Homes() {
			out = append(out, b.canon(h))
		}
		return out
	})
}

// show shows what is at a path of the host, read-only, where it is, and by the name programs use, which
// may be a link. In a folder that is shown the link itself is there, and bwrap cannot mount on one with
// an absolute target.
func (b *builder) show(reason, p string) {
	if b.kind(p).Seen() {
		b.showAt(reason, b.canon(p), b.canon(p))
		b.showAt(reason, b.canon(p), b.linkFree(p))
	}
}

// showAt is show for one place, if the box has nothing of the host there.
func (b *builder) showAt(reason, real, at string) {
	if l, _ := b.at(at); !l.bound() {
		b.bind(reason, real, at, false)
	}
}

// showHome is show for a home; a name of it that is a link stays one.
func (b *builder) showHome(home string) {
	if b.kind(home) != host.Dir {
		return
	}
	real := b.canon(home)
	b.showAt("the home folder", real, real)
	name := b.linkFree(home)
	if l, _ := b.at(name); name != real && !l.bound() {
		b.symlink("the name of the home, which is a link", real, name)
	}
}

// packageFolders are the package that the program belongs to, and the name it is called by.
func (b *builder) packageFolders() []string {
	if b.f.Engine != nil {
		return nil
	}
	program := b.s.Program
	real := b.canon(program)
	for _, dir := range []string{b.rc.Workdir, b.rc.Project} {
		if dir != "" && (paths.Below(dir, program) || paths.Below(b.canon(dir), program)) &&
			!paths.Below(b.canon(dir), real) {
			return nil // a link there may be one that a box has made
		}
	}
	return []string{packageOf(real), b.linkFree(program)}
}
