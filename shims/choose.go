package shims

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/strict"
	"github.com/enr/inner/profile/trust"
)

// ask lets one project answer, and reports whether it has.
//
//  1. When its record cannot be read it refuses: anything might have been allowed.
//  2. [shims] of its config.toml, when that is allowed, decides; when it is not, a
//     word it maps is refused.
//  3. Of the profiles whose claim fits the call (standard input a terminal or not): as
//     long as one of them is not allowed the command is refused, also when another
//     one is. Otherwise a file that is added, changed or taken away could steer which
//     of the allowed ones runs. Two kinds do not count: a denied profile beside an
//     allowed one, since the user has said which of the two they want, and a claim
//     that is not guarded.
//  4. Among several allowed ones: the one whose when is tty or pipe before those for always,
//     then the one whose file is named like the command; otherwise the command is refused.
func (d *Decision) ask(e Env, v *View) bool {
	d.Views = append(d.Views, v)
	if v.RecordErr != nil {
		return d.refuse(fmt.Sprintf("%q: what was allowed for %q cannot be read: %v", e.Name, v.Root, v.RecordErr),
			"inner allow "+quotePath(v.Root))
	}
	if done := d.askConfig(e, v); done {
		return true
	}
	good, denied, bad := d.claiming(e, v)
	switch {
	case len(bad) > 0:
		return d.refuseProfile(v, bad[0])
	case len(good) == 0 && len(denied) > 0:
		return d.refuseProfile(v, denied[0])
	case len(good) == 0:
		return false
	}
	p, why := pick(good, e.Name)
	if p == nil {
		return d.refuseRivals(v, good)
	}
	if p.Of != "" {
		why += fmt.Sprintf("; allowed as a worktree of %q", p.Of)
	}
	return d.run(v, p.Profile, fmt.Sprintf("profile %q of %q claims it%s", p.Name, v.Root, why))
}

// claiming are the profiles whose claim fits the call: those that are allowed, those that are
// denied, and all others.
func (d *Decision) claiming(e Env, v *View) (good, denied, bad []*ProfileView) {
	for i := range v.Profiles {
		p := &v.Profiles[i]
		c := p.claim(e.Name, e.StdinTTY)
		switch {
		case c == nil:
		case !c.Guarded:
			d.Why = fmt.Sprintf("profile %q of %q claims it, and is not allowed (%s); everyday tools are not guarded for it",
				p.Name, v.Root, p.State)
		case p.State == trust.Allowed:
			good = append(good, p)
		case p.State == trust.Denied:
			denied = append(denied, p)
		default:
			bad = append(bad, p)
		}
	}
	return good, denied, bad
}

// claim returns the profile's claim on a command that fits the call, a guarded one
// before one that is not.
func (pv *ProfileView) claim(name string, tty bool) *Claim {
	var found *Claim
	for i := range pv.Claims {
		c := &pv.Claims[i]
		if c.Command == name && c.Fits(tty) && (found == nil || c.Guarded && !found.Guarded) {
			found = c
		}
	}
	return found
}

// pick chooses among allowed profiles, or returns nil.
func pick(good []*ProfileView, name string) (*ProfileView, string) {
	why := ""
	var specific []*ProfileView
	for _, p := range good {
		if p.Profile.When() != "always" {
			specific = append(specific, p)
		}
	}
	if len(specific) > 0 && len(specific) < len(good) {
		good, why = specific, fmt.Sprintf(", and for this kind of standard input only (when = %q)", specific[0].Profile.When())
	}
	if len(good) == 1 {
		return good[0], why
	}
	for _, p := range good {
		if p.Name == name {
			return p, ", and is named like it"
		}
	}
	return nil, ""
}

// askConfig lets the project's config.toml answer.
func (d *Decision) askConfig(e Env, v *View) bool {
	for _, c := range v.Conf.Claims {
		if c.Command != e.Name {
			continue
		}
		if v.Conf.State != trust.Allowed {
			if !c.Guarded {
				d.Why = fmt.Sprintf("config.toml of %q maps it, and is not allowed; everyday tools are not guarded for it", v.Root)
				continue
			}
			return d.refuseProfile(v, &v.Conf)
		}
		why := fmt.Sprintf("[shims] in config.toml of %q maps it to profile %q", v.Root, c.Target)
		// A local profile, also one that is gone or not allowed, never gives way to
		// the global one of the same name.
		if p := v.profile(c.Target); p != nil {
			d.Why = why
			if p.State != trust.Allowed {
				return d.refuseProfile(v, p)
			}
			return d.run(v, p.Profile, why)
		}
		p, err := e.Home.loadGlobal(c.Target)
		if err != nil {
			d.Why, d.Project = why, v.Project
			return d.refuse(fmt.Sprintf("profile %q, to which config.toml of %q maps %q, cannot be used: %s", c.Target, v.Root, e.Name, fault.First(err)),
				"inner profile validate "+quotePath(c.Target))
		}
		return d.run(v, p, why)
	}
	return false
}

func (d *Decision) run(v *View, p *profile.Profile, why string) bool {
	d.Kind, d.Profile, d.Project, d.State, d.Why = Run, p, v.Project, trust.Allowed, why
	return true
}

func (d *Decision) refuseProfile(v *View, p *ProfileView) bool {
	d.State, d.Project = p.State, v.Project
	return d.refuse(v.refusal(p))
}

// refuseRivals refuses a word that several allowed profiles claim equally.
func (d *Decision) refuseRivals(v *View, good []*ProfileView) bool {
	var names []string
	for _, p := range good {
		names = append(names, strconv.Quote(p.Name))
	}
	d.State = trust.Allowed
	return d.refuse(fmt.Sprintf("%q is claimed by profiles %s of %q", d.Name, strings.Join(names, ", "), v.Root),
		fmt.Sprintf("add %s under [shims] in .inner/config.toml, then: inner allow", strict.Join(d.Name)+" = "+strict.Quote(good[0].Name)))
}
