package settings

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/trust"
)

// Verdict is what the trust store says about a local profile.
func (s *Settings) Verdict(pl Place, p *profile.Profile) trust.Verdict {
	r := s.ProjectConfig(pl)
	if r.Err != nil {
		return trust.Verdict{State: trust.Unreadable, File: filepath.Join(pl.Project.Dir, "config.toml"), Detail: "it cannot be read", Err: r.Err}
	}
	rec, err := s.RecordOf(pl.Root(), pl.Project)
	if err != nil {
		return trust.Verdict{State: trust.Unreadable, File: s.Short(pl.Root()), Detail: "its record cannot be read", Err: err}
	}
	return s.Trust().Judge(rec, p, r.File)
}

// AsAllowed refuses a run of a project's profile that would get more than what was
// shown when it was allowed: its bytes are the same, and a link, a variable or a
// profile it extends leads it elsewhere. Flags are the person's own word.
func (s *Settings) AsAllowed(p *profile.Profile, c profile.Context, rc profile.RunConfig) error {
	if p.Scope != profile.Local {
		return nil
	}
	rec, err := s.RecordOf(c.Project, s.ProjectOf(c.Project))
	if err != nil {
		return s.unreadable(c.Project, err, "inner allow --forget, then inner allow")
	}
	r, root := rec.Approving(p)
	refuse := func(format string, args ...any) error {
		return &fault.Refusal{
			Code: 126, Kind: fault.KindNotTrusted,
			Msg:  fmt.Sprintf("profile %q ", p.Name) + fmt.Sprintf(format, args...),
			Hint: "inner allow",
		}
	}
	switch {
	case r == nil:
		return refuse("is not allowed: %s was never allowed", s.Short(p.Path))
	case len(r.Grants) == 0:
		return refuse("was allowed by an older inner, which did not keep the real paths of what it grants")
	}
	plain, err := withoutFlags(p, c, rc)
	if err != nil {
		return err
	}
	for _, m := range rc.Mounts {
		if !givenBy(m, rc, plain) {
			return refuse("would mount %s with this -w, which is not below it and was not allowed", s.Short(rc.Real[m.Source]))
		}
	}
	now := profile.Grants(plain)
	old := profile.AlignGrants(r.Grants, now, root, c.Project)
	wider := s.Wider(p, c, old, now)
	if len(wider) == 0 {
		return nil
	}
	return refuse("changed since it was allowed, though its file did not: %s", inWords(wider, nil))
}

// Wider is what grants of now have and the old ones had not, without what built-in profiles say that a profile
// extends and nobody changed: after an upgrade that is what this version of inner says, and no reason to ask. A path
// counts where no link leads elsewhere, and a sentence where all lines that it comes from are theirs.
func (s *Settings) Wider(p *profile.Profile, c profile.Context, old, now []profile.Grant) []profile.Grant {
	builtins := s.builtins(p, c)
	for _, rc := range builtins {
		given := profile.Without(profile.Grants(rc), func(_ profile.Grant, it profile.Item) bool { return it.Path != "" && rc.Real[it.Path] != it.Path })
		old = append(old, slices.DeleteFunc(given, func(g profile.Grant) bool { return g.Tightens })...)
	}
	wider, _ := profile.DiffGrants(old, now)
	return slices.DeleteFunc(wider, func(g profile.Grant) bool {
		lines := p.OriginsOf(g)
		other := func(o profile.Origin) bool {
			return !slices.ContainsFunc(builtins, func(rc profile.RunConfig) bool { return rc.Path == o.File })
		}
		return len(g.Items) == 0 && !g.Tightens && len(lines) > 0 && !slices.ContainsFunc(lines, other)
	})
}

// Builtin is the built-in profile that a profile builds on and nobody changed, and what that grants here; "" for none.
func (s *Settings) Builtin(p *profile.Profile, c profile.Context) (name string, grants []profile.Grant) {
	for _, rc := range s.builtins(p, c) {
		return rc.Name, profile.Grants(rc)
	}
	return "", nil
}

// builtins are the built-in profiles that a profile extends and nobody changed, as they are here, nearest first.
func (s *Settings) builtins(p *profile.Profile, c profile.Context) (list []profile.RunConfig) {
	c.Overrides = profile.Overrides{}
	for _, f := range p.Files[1:] {
		if !s.IsBuiltin(f) {
			continue
		}
		base, err := s.Loader(Place{}).LoadBytes(f, profile.Global)
		if err != nil {
			continue
		}
		if rc, err := base.Resolve(c); err == nil {
			list = append(list, rc)
		}
	}
	return list
}

// IsBuiltin reports whether a file is a built-in profile that nobody changed.
func (s *Settings) IsBuiltin(f profile.File) bool {
	if filepath.Dir(f.Path) != s.ProfilesDir() {
		return false
	}
	name := strings.TrimSuffix(filepath.Base(f.Path), ".toml")
	written, _ := files.Read(s.BuiltinsFile(), files.NoLinks, profile.MaxFileSize)
	return strings.Contains(string(written), f.Digest+"  "+name+"\n")
}

// withoutFlags is what a profile resolves to at the root of its project without any flag.
func withoutFlags(p *profile.Profile, c profile.Context, rc profile.RunConfig) (profile.RunConfig, error) {
	o := c.Overrides
	if o.Network == nil && o.Timeout == nil && o.Workdir == "" && !o.Limits.Any() && len(o.Mounts)+len(o.Env)+len(o.Pass) == 0 {
		return rc, nil
	}
	c.Overrides, c.Cwd = profile.Overrides{}, c.Project
	plain, err := p.Resolve(c)
	if _, ok := errors.AsType[*profile.WorkdirError](err); ok {
		err = nil
	}
	return plain, err
}

// givenBy reports whether a mount is the person's own, one that the profile has without
// flags, or one of the working folder that -w names.
func givenBy(m profile.Mount, rc, plain profile.RunConfig) bool {
	real := rc.Real[m.Source]
	return m.File == "--mount" || m.Mode == profile.Tmpfs ||
		slices.ContainsFunc(plain.Mounts, func(o profile.Mount) bool {
			return o.Mode == m.Mode && o.Dest == m.Dest && plain.Real[o.Source] == real
		}) ||
		strings.Contains(m.Written, "${workdir}") && paths.Below(rc.Workdir, real)
}

// untrusted refuses a profile that is not approved as it is.
func (s *Settings) untrusted(pl Place, p *profile.Profile, v trust.Verdict) error {
	r := &fault.Refusal{Code: 126, Kind: fault.KindNotTrusted, Hint: "inner allow"}
	switch v.State {
	case trust.Untrusted:
		r.Msg = fmt.Sprintf("profile %q is not allowed: %s was never allowed", p.Name, s.Short(v.File))
	case trust.Changed, trust.Deleted:
		r.Msg = fmt.Sprintf("profile %q is not allowed: %s: %s%s", p.Name, s.Short(v.File), v.Detail, s.WhatChanged(pl, p))
	case trust.Denied:
		r.Msg = fmt.Sprintf("profile %q was denied", p.Name)
	default:
		r.Msg = fmt.Sprintf("the trust record %s cannot be read: %v", s.Short(v.File), v.Err)
		r.Hint = "inner allow --forget, then inner allow"
	}
	return r
}

// WhatChanged says in a few words how the grants differ from those that were
// approved, for the end of a refusal.
func (s *Settings) WhatChanged(pl Place, p *profile.Profile) string {
	rec, err := s.RecordOf(pl.Root(), pl.Project)
	if err != nil {
		return ""
	}
	now, err := s.GrantsOf(p, pl)
	if err != nil {
		return ""
	}
	old := LastGrants(rec, p, pl.Root(), now)
	if len(old) == 0 {
		return ""
	}
	wider, narrower := profile.DiffGrants(old, now)
	if len(wider)+len(narrower) == 0 {
		return "; nothing in what it grants"
	}
	return "; " + inWords(wider, narrower)
}

// inWords is a few of them on one line, what became wider first.
func inWords(wider, narrower []profile.Grant) string {
	return strings.Join(visible.Some(profile.Changes(wider, narrower), 2), ", ")
}

// LastGrants are those of the last approved version, to be compared with those of now; none
// of one that an older inner recorded.
func LastGrants(rec *trust.ProjectRecord, p *profile.Profile, root string, now []profile.Grant) []profile.Grant {
	if r, of := rec.Approving(p); r != nil {
		return profile.AlignGrants(r.Grants, now, of, root)
	}
	return nil
}
