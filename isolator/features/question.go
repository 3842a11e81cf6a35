package features

import (
	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/profile"
)

// Question is what a person types to be told about one thing of the box of a profile, a
// path or host:NAME; "" for a profile that was downloaded for one run, which nobody can ask about.
func Question(p *profile.Profile, about string) string {
	name := p.Name
	switch p.Scope {
	case profile.Remote:
		return ""
	case profile.Direct:
		name = p.Path
	}
	return "inner why " + quote.POSIX(about) + " -p " + quote.POSIX(name)
}
