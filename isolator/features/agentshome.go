package features

// Agents in a home that stays: what the host's side changed of their settings comes into what
// the box has, entry by entry, and what the box changed stays.

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/isolator/ownhome"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/capability"
)

// settle puts a clone into the home of the box, and sets the variables of the capability.
func (a *agentsOf) settle(run *Run, c capability.Capability, clone string, login []byte) error {
	places := make([]string, len(c.Folders))
	for i, f := range c.Folders {
		places[i] = f.Place(run.Home)
	}
	run.Assets.Env = append(run.Assets.Env, c.Environment(run.Home, places)...)
	if run.Mode.Made() {
		if err := a.stage(run, c, clone, login); err != nil {
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

// stage puts a clone into the home, and keeps in mind which login is there now.
func (a *agentsOf) stage(run *Run, c capability.Capability, clone string, login []byte) error {
	err := a.home.Stage("capability "+c.Name, clone, func(rel string, is ownhome.Found) ownhome.Decision {
		f := c.FileAt(rel)
		if f.Login && is.Kept != nil && !is.KeptSame && (is.FreshSame || c.IsLogin(rel) && c.Login.Newer(is.Kept, is.Fresh)) {
			return ownhome.Decision{} // renewed in a box, or made there
		}
		return settled(f, is)
	})
	if err != nil || login == nil {
		return err
	}
	l := clonedLogin{of: c, was: login}
	if run.Spec.SyncLogin { // of a run that could not write it back
		if err := a.keepLogin(run, l); err != nil {
			return err
		}
		if now, err := capability.ReadLogin(c.LoginPath(origin(run.Caller, run.Spec))); err == nil && now != nil {
			l.was = now
		}
	}
	l.begun = a.keptLogin(c)
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

// keptLogin is the login that the box has in a home that stays; nil when there is none.
func (a *agentsOf) keptLogin(c capability.Capability) []byte {
	if a.home.Home == nil || c.Login == nil {
		return nil
	}
	data, err := a.home.Read(filepath.Join(c.Folders[0].Rel(), c.Login.File), capability.MaxLogin)
	if err != nil {
		return nil
	}
	return data
}

// loginNow is what a box has of its login now: a stranger's word.
func (a *agentsOf) loginNow(l clonedLogin) ([]byte, error) {
	if a.home.Home == nil {
		dir, err := os.Open(l.folder) // which the box could not exchange
		if err != nil {
			return nil, err
		}
		defer dir.Close()
		return copytree.Read(int(dir.Fd()), l.of.Login.File, capability.MaxLogin)
	}
	return a.home.Read(filepath.Join(l.of.Folders[0].Rel(), l.of.Login.File), capability.MaxLogin)
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
