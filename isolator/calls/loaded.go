package calls

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/config"
)

// loaded is a profile with all that it is resolved against, as long as no file of it changes.
type loaded struct {
	settings *settings.Settings // nobody reads more with these: each call has its own, see With
	profile  *profile.Profile
	context  profile.Context
	spec     profile.RunConfig // as it was resolved when it was loaded
	role     settings.Role
	place    settings.Place
	commands config.Commands // [commands]: some of them have another profile

	stamps []stamp
	late   bool // a file changed just before it was read: its next change may look the same
}

// stamp is what tells that a file was changed, or has come or gone.
type stamp struct {
	path string
	ino  uint64
	size int64
	m, c syscall.Timespec
}

// tooYoung is how long after its change another one of a file may have the same time.
const tooYoung = 100 * time.Millisecond

func stampOf(path string) stamp {
	s := stamp{path: path}
	if fi, err := os.Lstat(path); err == nil {
		if st, ok := fi.Sys().(*syscall.Stat_t); ok {
			s.ino, s.size, s.m, s.c = st.Ino, st.Size, st.Mtim, st.Ctim
		}
	}
	return s
}

// fresh reports whether nothing has changed since.
func (l *loaded) fresh() bool {
	return !l.late && !slices.ContainsFunc(l.stamps, func(s stamp) bool { return stampOf(s.path) != s })
}

// load reads what a call of that role, or of the profile of the Runner, needs.
// instead names another profile for it, and may be "".
func (r *Runner) load(role string, asRole bool, instead string) (*loaded, error) {
	key := "profile"
	if asRole {
		key = "role " + role
	}
	key += "\x00" + instead
	r.mu.Lock()
	l := r.loads[key]
	r.mu.Unlock()
	if l != nil && l.fresh() {
		return l, nil
	}
	l, err := r.read(role, asRole, instead)
	if err != nil {
		return l, err
	}
	r.mu.Lock()
	if len(r.loads) > maxLoads { // roles that are asked for can be any text
		clear(r.loads)
	}
	r.loads[key] = l
	r.mu.Unlock()
	return l, nil
}

const maxLoads = 64

func (r *Runner) read(role string, asRole bool, instead string) (*loaded, error) {
	began := time.Now()
	l := &loaded{settings: settings.Of(r.callerOf(nil, new(caller.Notes)))}
	var err error
	if l.place, err = l.settings.At(r.o.Dir); err != nil {
		return l, err
	}
	l.stamp(r.watched(l.place))
	name := r.o.Profile
	if asRole {
		if l.role, err = l.settings.RoleOf(role, l.place); err != nil {
			return l, err
		}
		name = l.role.Profile
	}
	if instead != "" {
		name = instead
	}
	if l.commands, err = l.settings.Commands(l.place); err != nil {
		return l, err
	}
	if l.profile, err = l.settings.Choose(name, l.place); err != nil {
		return l, err
	}
	for _, f := range l.profile.Files {
		l.stamp([]string{f.Path})
	}
	if l.context, err = l.settings.Context(l.place, profile.Overrides{Interactive: new(bool)}, false); err != nil {
		return l, err
	}
	if l.spec, err = settings.Resolve(l.profile, l.context); err != nil {
		return l, err
	}
	if err := l.settings.AsAllowed(l.profile, l.context, l.spec); err != nil { // reads what the calls would
		return l, err
	}
	l.stamp(l.settings.Read())
	for _, s := range l.stamps {
		if began.Sub(time.Unix(s.c.Unix())) < tooYoung && s.ino != 0 {
			l.late = true
		}
	}
	return l, nil
}

// watched are the files and folders whose change can mean another profile for a place.
func (r *Runner) watched(pl settings.Place) []string {
	list := []string{profile.OrganisationFile, filepath.Dir(profile.OrganisationFile), r.caller.ConfigFile(), r.caller.ProfilesDir(), r.caller.Trust().Dir}
	for dir := pl.Cwd; ; dir = filepath.Dir(dir) {
		inner := filepath.Join(dir, ".inner")
		list = append(list, inner, filepath.Join(inner, "config.toml"), filepath.Join(inner, "profiles"))
		if dir == "/" {
			break
		}
	}
	if pl.Project != nil {
		list = append(list, pl.Project.Dir, filepath.Join(pl.Project.Dir, "config.toml"), filepath.Join(pl.Project.Dir, "profiles"))
	}
	return list
}

func (l *loaded) stamp(paths []string) {
	for _, p := range paths {
		if !slices.ContainsFunc(l.stamps, func(s stamp) bool { return s.path == p }) {
			l.stamps = append(l.stamps, stampOf(p))
		}
	}
}
