package plan

import (
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// base = "minimal" turns the base around: nothing of the host is there but what
// programs need to run, what was installed for one user (profile.Toolchains) and what
// the profile mounts. What is sensitive in that is hidden as always.

// systemOnly shows the folders of programs, read-only, in the empty root that bwrap
// begins with.
func (b *builder) systemOnly() {
	b.view.add(layer{dest: "/", write: true, mask: true})
	for _, p := range profile.SystemFolders() {
		switch real := b.canon(p); {
		case b.kind(p) != host.Dir:
		case p == "/etc" && b.rc.Etc == "minimal":
			b.minimalEtc()
		case real != p: // merged into /usr
			b.symlink("programs and their settings", real, p)
		default:
			b.bind("programs and their settings", p, p, false)
		}
	}
}

// programsElsewhere shows the program, and what is installed for everybody, where that
// is in none of these folders.
func (b *builder) programsElsewhere() {
	show := func(reason string, places ...string) {
		for _, p := range places {
			k := b.kind(p)
			if paths.Below(b.home, p) || k != host.Dir && k != host.File {
				continue
			}
			if l, _ := b.view.at(p); !l.bind() {
				b.bind(reason, b.canon(p), p, false)
			}
		}
	}
	show("installed programs", toolPlaces()...)
	show("the program itself", b.packageFolders(b.s.Program)...)
}

// sealRoot makes that root read-only, after the last mount point was made in it.
func (b *builder) sealRoot() {
	if b.rc.Etc == "minimal" && b.f.Engine == nil {
		b.sealed("nothing is added to /etc", "/etc")
	}
	if b.rc.Base == "minimal" {
		b.sealed("nothing is added to /", "/")
	}
}
