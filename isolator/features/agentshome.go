package features

// Agents in a home that stays: what the host's side changed of their settings comes into what
// the box has, entry by entry, and what the box changed stays.

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/ownhome"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/capability"
)

// settle puts a clone into the home of the box, keeps in mind which login is there now, and makes the box's own copies of
// files of the project.
func (a *agentsOf) settle(run *Run, c capability.Capability, clone string, login []byte) error {
	if run.Mode.Made() {
		err := a.home.Stage("capability "+c.Name, clone, func(rel string, is ownhome.Found) ownhome.Decision {
			f := c.FileAt(rel)
			if f.Login && is.Kept != nil && !is.KeptSame && (is.FreshSame || c.IsLogin(rel) && c.Login.Newer(is.Kept, is.Fresh)) {
				return ownhome.Decision{} // renewed in a box, or made there
			}
			return settled(f, is)
		})
		if err == nil && login != nil {
			err = a.begin(run, c, login)
		}
		if err != nil {
			return err
		}
	}
	for _, f := range fittingFiles(run, c) {
		if err := a.ownFile(run, c, f); err != nil {
			return err
		}
	}
	return nil
}

// begin keeps in mind which login is in the home.
func (a *agentsOf) begin(run *Run, c capability.Capability, login []byte) error {
	l := clonedLogin{of: c, was: login, now: func() ([]byte, error) { return a.keptLogin(c) }}
	if run.Spec.SyncLogin { // of a run that could not write it back
		if err := a.keepLogin(run, l); err != nil {
			return err
		}
		if now, err := capability.ReadLogin(c.LoginPath(origin(run.Caller, run.Spec))); err == nil && now != nil {
			l.was = now
		}
	}
	l.begun, _ = l.now() // nil when there is none
	a.logins = append(a.logins, l)
	return nil
}

// settled is what a file holds that the host and the box may both change.
func settled(f capability.File, is ownhome.Found) ownhome.Decision {
	to := ownhome.Decision{Data: is.Fresh, Entries: f.IsDocument()}
	if to.Entries && is.Kept != nil && !is.KeptSame {
		to.Data = capability.Settle(f.Name, is.Base, is.Fresh, is.Kept)
	}
	return to
}

// keptLogin is the login that the box has in a home that stays.
func (a *agentsOf) keptLogin(c capability.Capability) ([]byte, error) {
	if a.home.Home == nil || c.Login == nil {
		return nil, nil
	}
	return a.home.Read(filepath.Join(c.Folders[0].Rel(), c.Login.File), capability.MaxLogin)
}

// sayLeftOut names what of an agent's folders does not come along, in one line.
func sayLeftOut(run *Run, c capability.Capability, skipped []string) {
	if len(skipped) == 0 {
		return
	}
	var names []string
	for _, p := range skipped {
		names = append(names, run.Short(p))
	}
	run.Warn("capability %s: left out, because they are links, not regular files, or lie where the box sees nothing: %s", c.Name, strings.Join(names, ", "))
}

// seenIn reports which paths of the home a box of this profile sees as they are on the host.
func seenIn(rc profile.RunConfig) func(string) bool {
	return func(p string) bool {
		if !rc.HidesHome() {
			return true
		}
		for _, dir := range slices.Concat(rc.HomeAllow, rc.Programs) {
			if paths.Below(dir, p) {
				return true
			}
		}
		for _, m := range rc.Mounts {
			if m.Source == m.Dest && paths.Below(m.Dest, p) {
				return true
			}
		}
		return false
	}
}
