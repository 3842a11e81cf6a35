package features

import (
	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/profile"
)

// Question is what a person types to be told about one thing of the box of a profile, a
// path or host:NAME; "" for a profile that was downloaded for one run, which nobody can ask about.
func Question(p *profile.Profile, about string) string { return aboutProfile(p, "why", about) }

// Wider is what a person types to add grants to a profile, as host:NAME and port:N; "" likewise.
func Wider(p *profile.Profile, grants ...string) string { return aboutProfile(p, "allow", grants...) }

func aboutProfile(p *profile.Profile, command string, words ...string) string {
	name := p.Name
	switch p.Scope {
	case profile.Remote:
		return ""
	case profile.Direct:
		name = p.Path
	}
	for _, w := range words {
		command += " " + quote.POSIX(w)
	}
	return "inner " + command + " -p " + quote.POSIX(name)
}
