package plan

import "github.com/enr/inner/isolator/host"

// dots hides what begins with a dot in a home of the host, but for a list (profile.DotEntries) and
// what the profile and the program name. Mounts come after it: one of the home, or of such an
// entry, is the person's word.
func (b *builder) dots() error {
	b.because("sandbox.home")
	reason := func(d host.Dot) string {
		return "hidden: " + quote(d.Name) + " of your home, as all that begins with a dot but for a list (home = \"host\")"
	}
	for _, d := range b.f.Dots {
		if d.Kind != host.Link && !b.allows(d.Path) { // what a link leads to has another name
			b.maskAt(d.Path, d.Kind, reason(d))
		}
	}
	for _, p := range b.f.DotsShown {
		if b.notSecret(b.canon(p), "") != nil {
			continue // a variable has moved a secret there
		}
		if err := b.showInHome(p, "it is listed"); err != nil {
			return err
		}
	}
	for _, d := range b.f.Dots {
		for _, p := range d.Leads {
			if !b.allows(p) {
				b.maskAt(p, host.File, reason(d))
			}
		}
	}
	return b.listedInHome()
}
