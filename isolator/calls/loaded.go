package calls

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/enr/inner/isolator"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
)

// loaded is what calls run in, as long as no file of it changes.
type loaded struct {
	*isolator.Loaded
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

// which says which profile a call has: the one of that name, as `inner run -p` takes it, or else the
// one of the role.
type which struct {
	name, role string
	asRole     bool
}

func (w which) choose(l *isolator.Loaded) (p *profile.Profile, err error) {
	if w.asRole {
		if l.Role, err = l.Settings.RoleOf(w.role, l.Place); err != nil {
			return nil, err
		}
	}
	return l.Settings.Choose(cmp.Or(w.name, l.Role.Profile), l.Place)
}

// load reads what a call needs, or what another one has read.
func (r *Runner) load(w which) (*loaded, error) {
	r.mu.Lock()
	l := r.loads[w]
	r.mu.Unlock()
	if l != nil && l.fresh() {
		return l, nil
	}
	l, err := r.read(w)
	if err != nil {
		return l, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.loads) > maxLoads { // roles that are asked for can be any text
		clear(r.loads)
	}
	r.loads[w] = l
	return l, nil
}

const maxLoads = 64

func (r *Runner) read(w which) (l *loaded, err error) {
	began := time.Now()
	l = new(loaded)
	l.Loaded, err = isolator.LoadAt(settings.Of(r.callerOf(new(caller.Notes))), r.o.Dir, func(at *isolator.Loaded) (*profile.Profile, error) {
		l.stamp(r.watched(at.Place))
		return w.choose(at)
	})
	if err != nil {
		return l, err
	}
	for _, f := range l.Profile.Files {
		l.stamp([]string{f.Path})
	}
	l.stamp(l.Settings.Read())
	l.late = slices.ContainsFunc(l.stamps, func(s stamp) bool { return s.ino != 0 && began.Sub(time.Unix(s.c.Unix())) < tooYoung })
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
