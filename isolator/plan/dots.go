package plan

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// dots hides what begins with a dot in a home of the host, but for a list (profile.DotEntries) and
// what the profile and the program name. Mounts come after it: one of the home, or of such an
// entry, is the person's word.
func (b *builder) dots() error {
	if b.f.Engine != nil {
		return b.listedInHome()
	}
	b.because("sandbox.home")
	listed, entries := slices.Concat(ProgramFolders(b.rc, b.f), b.s.GitOwn), profile.DotEntries()
	type lead struct{ link, home, reason string }
	var leads []lead // links that are hidden: what they lead to is, too, and a listed entry may show that again
	for _, home := range b.f.Homes() {
		real := b.canon(home)
		list, whole := b.f.List(real)
		if !whole {
			return fault.Refuse(125, "chmod u+r "+typed(real),
				"what is to be hidden in your home folder %q cannot be found", home)
		}
		for _, c := range list {
			if !strings.HasPrefix(c.Name, ".") {
				continue
			}
			whole := false // all of it is listed
			for _, rel := range entries {
				if paths.Below(c.Name, rel) {
					listed, whole = append(listed, filepath.Join(home, rel)), whole || rel == c.Name
				}
			}
			at, reason := paths.Join(real, c.Name), "hidden: "+quote(c.Name)+" of your home, as all that begins with a dot but for a list (home = \"host\")"
			switch {
			case whole:
			case c.Type&fs.ModeSymlink != 0: // what it leads to has another name
				leads = append(leads, lead{at, real, reason})
			case c.IsDir():
				b.hideDot(at, host.Dir, reason)
				inside, _ := b.f.List(at) // what we cannot list the box cannot either, and it is covered
				for _, e := range inside {
					if e.Type&fs.ModeSymlink != 0 {
						leads = append(leads, lead{paths.Join(at, e.Name), real, reason})
					}
				}
			default:
				b.hideDot(at, host.File, reason)
			}
		}
	}
	for _, p := range listed {
		if b.notSecret(b.canon(p), "", "") != nil {
			continue // a variable has moved a secret there
		}
		if err := b.showInHome(p, "it is listed"); err != nil {
			return err
		}
	}
	for _, l := range leads {
		if to := b.canon(l.link); paths.Inside(l.home, to) && to != l.link && b.kind(l.link) == host.File {
			b.hideDot(to, host.File, l.reason)
		}
	}
	return b.listedInHome()
}

func (b *builder) hideDot(p string, kind host.Kind, reason string) {
	if !b.allows(p) {
		b.maskAt(p, kind, reason)
	}
}
