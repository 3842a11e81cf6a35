package settings

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/trust"
)

// Choose loads the profile a person named, or the default one. A local
// profile reached by name needs approval, and an unapproved one never gives
// way to the global profile of the same name.
func (s *Settings) Choose(name string, pl Place) (*profile.Profile, error) {
	if _, _, err := s.AllowPrefixed(pl); err != nil {
		return nil, err
	}
	p, err := s.Load(name, pl)
	if err != nil || p.Scope != profile.Local {
		return p, err
	}
	cfg := s.ProjectConfig(pl)
	if cfg.Err != nil {
		return nil, cfg.Err
	}
	if v := s.Verdict(pl, p); v.State != trust.Allowed {
		return nil, s.untrusted(pl, p, v)
	}
	return p, nil
}

// Load is Choose without the question of trust, for who only looks.
func (s *Settings) Load(name string, pl Place) (*profile.Profile, error) {
	if profile.IsURL(name) {
		return nil, NoURL(name)
	}
	l := s.Loader(pl)
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		name = filepath.Join(s.Home, rest)
	}
	if strings.ContainsRune(name, '/') {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(pl.Cwd, path)
		}
		return l.Load(path, profile.Direct)
	}
	if name == "" {
		var err error
		if name, err = s.DefaultProfile(pl); err != nil {
			return nil, err
		}
	}
	if pl.Project != nil && pl.Project.Problem != nil {
		if _, err := os.Lstat(filepath.Join(pl.Project.Dir, "profiles", name+".toml")); !errors.Is(err, fs.ErrNotExist) {
			return nil, &fault.Refusal{
				Code: 126,
				Msg:  fmt.Sprintf("profile %q of %s is not used: %v", name, s.Short(pl.Root()), pl.Project.Problem),
				Hint: "inner status",
			}
		}
		s.Warn("%s is not used: %v", pl.Project.Dir, pl.Project.Problem)
	}
	path, scope, err := l.Find(name)
	if err != nil {
		return nil, err
	}
	return l.Load(path, scope)
}

// DefaultProfile is the project's, when its config is approved with one of
// its profiles, else the user's, else "default".
func (s *Settings) DefaultProfile(pl Place) (string, error) {
	own, users, err := s.InForce(pl)
	return cmp.Or(own.DefaultProfile, users.DefaultProfile, "default"), err
}

// NoURL refuses a URL where only a profile of this disk will do.
func NoURL(url string) error {
	return &fault.Refusal{
		Code: 126,
		Msg:  fmt.Sprintf("profile %q: only inner run and inner profile install take a URL", url),
		Hint: "inner profile install " + url,
	}
}

// GrantsOf says what a profile grants to a shim at the project's root.
func (s *Settings) GrantsOf(p *profile.Profile, pl Place) ([]profile.Grant, error) {
	rc, _, err := s.AtRoot(p, pl)
	if err != nil {
		return nil, err
	}
	return profile.Grants(rc), nil
}

// AtRoot resolves a profile as a shim at the project's root would, with its config.toml
// in force, which is approved together with it.
func (s *Settings) AtRoot(p *profile.Profile, pl Place) (profile.RunConfig, profile.Context, error) {
	pl.Cwd = pl.Root()
	c, err := s.contextWith(pl, profile.Overrides{}, true, true)
	if err != nil {
		return profile.RunConfig{}, c, err
	}
	rc, err := p.Resolve(c)
	return rc, c, err
}

// Spec is what a profile comes to at a place, and what it was resolved against.
func (s *Settings) Spec(p *profile.Profile, pl Place, o profile.Overrides, forShim bool) (profile.RunConfig, profile.Context, error) {
	c, err := s.Context(pl, o, forShim)
	if err != nil {
		return profile.RunConfig{}, c, err
	}
	rc, err := Resolve(p, c)
	return rc, c, err
}

// Resolve is p.Resolve, with a working folder that cannot be used refused as
// the place it is.
func Resolve(p *profile.Profile, c profile.Context) (profile.RunConfig, error) {
	rc, err := p.Resolve(c)
	if w, ok := errors.AsType[*profile.WorkdirError](err); ok {
		return rc, &fault.Refusal{Code: 126, Kind: fault.KindWorkdir, Msg: w.Msg, Hint: w.Hint}
	}
	return rc, err
}
