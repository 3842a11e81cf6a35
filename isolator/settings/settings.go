// Package settings is what the user and the project have set and allowed: each
// config.toml and each record of the trust store is read once, so that what is shown,
// asked about, recorded and put in force is one value.
//
//	s := settings.Of(caller)
//	place, err := s.Here()
//	p, err := s.Choose("", place)                             // loaded, and trusted
//	c, err := s.Context(place, profile.Overrides{}, false)    // what it is resolved against
package settings

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"

	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/config"
	"github.com/enr/inner/profile/trust"
	"github.com/enr/inner/shims"
)

// Settings are those of one caller. They are read when they are asked for.
type Settings struct {
	*caller.Caller

	global *config.Read           // nil when it was not asked for
	views  map[string]*shims.View // what was read of folders and their projects, see viewOf

	organisation *organisationRead // nil when it was not asked for
}

// Of returns the settings of a caller, of which nothing is read yet.
func Of(c *caller.Caller) *Settings { return &Settings{Caller: c, views: map[string]*shims.View{}} }

// viewOf is what is recorded and configured for a folder, of which p is the project when it is one, read now or
// before. A linked worktree's own .inner is told from that of the main one.
func (s *Settings) viewOf(root string, p *profile.Project) *shims.View {
	key := viewKey(root, p)
	if s.views[key] == nil {
		s.views[key] = s.home().Open(root, p)
	}
	return s.views[key]
}

func viewKey(root string, p *profile.Project) string {
	if p == nil {
		return root
	}
	return root + "\x00" + p.Dir
}

func (s *Settings) home() shims.Home { return shims.Home{Inner: s.InnerHome, User: s.Home} }

// Gone is what was a project, nearer to a folder than those that are one, and refuses; nil where there is none.
func (s *Settings) Gone(dir string) *shims.View { return s.home().Gone(dir) }

// Look is the project of a place as a decision of a shim sees it, with its profiles, read now.
func (s *Settings) Look(pl Place) *shims.View {
	v := s.home().Look(pl.Project)
	s.Know(v)
	return v
}

// Know keeps what the decision of a shim has read of a project.
func (s *Settings) Know(v *shims.View) { s.views[viewKey(v.Root, v.Project)] = v }

// Forget has everything read again: something may be another now.
func (s *Settings) Forget() { s.global, s.views = nil, map[string]*shims.View{} }

// RecordOf is what was allowed for the folder, of which p is the project when it is one.
func (s *Settings) RecordOf(root string, p *profile.Project) (*trust.ProjectRecord, error) {
	v := s.viewOf(root, p)
	return v.Record, v.RecordErr
}

// GlobalConfig is INNER_HOME/config.toml.
func (s *Settings) GlobalConfig() (*config.Config, error) {
	if s.global == nil {
		r := config.Load(s.ConfigFile(), false)
		s.global = &r
	}
	return s.global.Config, s.global.Err
}

// SetuidBwrap reports whether the user's own config.toml, and no project's, lets
// inner use a bwrap that starts with the rights of root.
func (s *Settings) SetuidBwrap() bool {
	cfg, err := s.GlobalConfig()
	return err == nil && cfg.SetuidBwrap
}

// ProjectConfig is the config.toml of the project, which need not be approved.
func (s *Settings) ProjectConfig(pl Place) config.Read {
	if pl.Project == nil || pl.Project.Problem != nil {
		return config.Read{Config: &config.Config{}}
	}
	return s.viewOf(pl.Root(), pl.Project).Config
}

// ApprovedConfig is the config.toml of a folder's project when it is in force: nil when
// there is none, or the user never approved it or denied it. One that was approved and
// is not what was approved any more is an error: what it hides and limits would be
// dropped without a word.
func (s *Settings) ApprovedConfig(root string, p *profile.Project) (*config.Config, error) {
	rec, err := s.RecordOf(root, p)
	if err != nil {
		return nil, s.unreadable(root, err, "inner allow --forget "+quote.POSIX(root)+", then inner allow")
	}
	dir, r := filepath.Join(root, ".inner"), config.Read{}
	if p != nil {
		dir, r = p.Dir, s.ProjectConfig(Place{Cwd: root, Project: p})
	}
	lost := func(hint, why string) error {
		return &fault.Refusal{
			Code: 126, Kind: fault.KindNotTrusted,
			Msg:  fmt.Sprintf("%s %s; what it hides and limits would not hold", s.Short(filepath.Join(dir, "config.toml")), why),
			Hint: hint,
		}
	}
	conf := rec.ConfigRecord()
	approved := conf != nil && conf.WasApproved() && conf.Decision == trust.Allowed
	switch {
	case !approved && (r.Err != nil || r.File == nil):
		return nil, nil
	case p != nil && p.Problem != nil: // its file is not read
		return nil, lost("inner status", fmt.Sprintf("was allowed and is not used: %v", p.Problem))
	case r.Err != nil:
		return nil, lost("fix it, then: inner allow "+quote.POSIX(root),
			"was allowed and is not valid now: "+fault.First(r.Err))
	}
	switch rec.CheckConfig(r.File).State {
	case trust.Allowed:
		if r.File != nil {
			return r.Config, nil
		}
	case trust.Changed:
		return nil, lost("inner allow "+quote.POSIX(root), "changed since it was allowed")
	case trust.Deleted:
		return nil, lost(trust.PutBack(root, filepath.Join(dir, "config.toml")), "was allowed and is gone")
	}
	return nil, nil
}

// InForce is what is set at a place: in the approved config.toml of its project, an empty one where none is in
// force, and in the user's, which it goes before. A project with a Problem has none here; Layers refuses a run
// where it had one.
func (s *Settings) InForce(pl Place) (own, users *config.Config, err error) {
	own = &config.Config{}
	if pl.Project != nil && pl.Project.Problem == nil {
		approved, err := s.ApprovedConfig(pl.Root(), pl.Project)
		if err != nil {
			return own, own, err
		}
		own = cmp.Or(approved, own)
	}
	users, err = s.GlobalConfig()
	return own, cmp.Or(users, &config.Config{}), err
}

// unreadable refuses what depends on a record of the trust store that cannot be read.
func (s *Settings) unreadable(root string, err error, hint string) error {
	return &fault.Refusal{
		Code: 126,
		Msg:  fmt.Sprintf("what was allowed for %s cannot be read: %v", s.Short(root), err),
		Hint: hint,
	}
}

// Layer is a config.toml of a project that is in force.
type Layer struct {
	Root   string
	Config *config.Config
}

// Layers are the approved config.toml files of the projects that the folders lie in,
// nearest first. What an outer project hides and limits holds further in, too: a
// program in a box can make a .inner there. So does what the main worktree's says, in a
// linked one whose own .inner has no config.toml.
func (s *Settings) Layers(dirs ...string) ([]Layer, error) {
	var out []Layer
	seen := map[string]bool{}
	for _, dir := range dirs {
		last := ""
		for at, p := range s.home().Around(dir) {
			if seen[at] && at != last {
				break // by way of another folder
			}
			if len(out) > 0 && out[len(out)-1].Root == at {
				continue // a worktree whose own config.toml is in force
			}
			seen[at], last = true, at
			cfg, err := s.ApprovedConfig(at, p)
			if err != nil {
				return nil, err
			}
			if cfg != nil {
				out = append(out, Layer{at, cfg})
			}
		}
	}
	return out, nil
}

// With are settings of another caller of the same user and folders, who knows what was read
// for s. The two may be used side by side.
func (s *Settings) With(c *caller.Caller) *Settings {
	return &Settings{Caller: c, global: s.global, views: maps.Clone(s.views), organisation: s.organisation}
}
