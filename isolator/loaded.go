package isolator

import (
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/session"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/config"
)

// Loaded is a profile with everything it is resolved against, as it was when it was loaded: what the
// calls of tools and of Go programs run in.
type Loaded struct {
	Settings *settings.Settings // each call has its own, see With
	Place    settings.Place
	Commands config.Commands // [commands] in force
	Role     settings.Role   // the zero value without one
	Profile  *profile.Profile
	Context  profile.Context
	Spec     profile.RunConfig
}

// LoadAt loads the profile that choose returns, for calls about a folder of the host. It refuses one
// that would not run because it is not allowed, grants more than was allowed, or is not valid. What
// is known by then comes with an error.
func LoadAt(s *settings.Settings, dir string, choose func(*Loaded) (*profile.Profile, error)) (l *Loaded, err error) {
	l = &Loaded{Settings: s}
	if l.Place, err = s.At(dir); err != nil {
		return l, err
	}
	p, err := choose(l)
	if err != nil {
		return l, err
	}
	if l.Commands, err = s.Commands(l.Place); err != nil {
		return l, err
	}
	return l, l.resolve(p)
}

// resolve resolves a profile, and checks that it is allowed as it is.
func (l *Loaded) resolve(p *profile.Profile) (err error) {
	l.Profile = p
	if l.Context, err = l.Settings.Context(l.Place, profile.Overrides{Interactive: new(bool)}, false); err != nil {
		return err
	}
	if l.Spec, err = settings.Resolve(p, l.Context); err != nil {
		return err
	}
	return l.Settings.AsAllowed(p, l.Context, l.Spec)
}

// Another returns the name of the profile that [commands] has for what is asked, "" for this one. The
// table does not count for a call with variables of its own: with those, a name can mean another
// program.
func (l *Loaded) Another(q Asked) (name string, err error) {
	table := l.Commands
	if len(q.Env) > 0 {
		table.Profiles = nil
	}
	return settings.Commanded(table, q.Argv, q.Line)
}

// Do runs what is asked. The streams of who are those of the program; c says what is the caller's own
// of a call. An error means that the program did not run.
func (l *Loaded) Do(who *caller.Caller, q Asked, c Call) (Result, error) {
	s, err := l.open(who, q.Session)
	if err != nil {
		return Result{}, err
	}
	defer s.Close()
	c.Profile, c.Context, c.By = l.Profile, l.Context, l.Role.By(q.Actor, "")
	if err := q.into(&c, who, l.Spec, s); err != nil {
		return Result{}, err
	}
	out, err := Run(l.Settings.With(who), c)
	if err != nil {
		return Result{Run: out.ID}, err
	}
	if s != nil && q.Line != "" {
		s.Ended()
	}
	return resultOf(out), nil
}

// open opens a session of this profile, nil for "". Sessions belong to a project, or to a folder
// outside of projects.
func (l *Loaded) open(who *caller.Caller, id string) (*session.Session, error) {
	if id == "" {
		return nil, nil
	}
	return session.Open(who.SessionsDir(), session.Key{ID: id, Project: SessionProject(l.Place), Profile: l.Profile.Path})
}
