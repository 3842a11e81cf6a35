package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/enr/inner/isolator"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/config"
	"github.com/enr/inner/profile/trust"
)

// projectConfigFile reads the project's config.toml, or returns nil when it
// has none.
func (a *app) projectConfigFile(pl place) (*profile.File, error) {
	if pl.project == nil || pl.project.Problem != nil {
		return nil, nil
	}
	_, file, err := config.LoadProject(filepath.Join(pl.project.Dir, "config.toml"))
	if err != nil {
		return nil, err
	}
	if file.Path == "" {
		return nil, nil
	}
	return &file, nil
}

// trustedProjectConfig is the project's config.toml, when it is approved.
func (a *app) trustedProjectConfig(pl place) (*config.Config, bool) {
	if pl.project == nil || pl.project.Problem != nil {
		return nil, false
	}
	cfg, file, err := config.LoadProject(filepath.Join(pl.project.Dir, "config.toml"))
	if err != nil || file.Path == "" {
		return nil, false
	}
	rec, err := a.trust().Project(pl.root())
	if err != nil {
		return nil, false
	}
	return cfg, rec.CheckConfig(&file).State == trust.Allowed
}

// verdict is what the trust store says about a local profile.
func (a *app) verdict(pl place, p *profile.Profile) trust.Verdict {
	cfg, err := a.projectConfigFile(pl)
	if err != nil {
		return trust.Verdict{State: trust.Unreadable, File: filepath.Join(pl.project.Dir, "config.toml"), Detail: "it cannot be read", Err: err}
	}
	return a.trust().Check(pl.root(), p, cfg)
}

// untrusted refuses a profile that is not approved as it is.
func (a *app) untrusted(pl place, p *profile.Profile, v trust.Verdict) error {
	r := &isolator.Refusal{Code: 126, Hint: "inner allow"}
	switch v.State {
	case trust.Untrusted:
		r.Msg = fmt.Sprintf("profile %q is not trusted: %s was never allowed", p.Name, a.short(v.File))
	case trust.Changed, trust.Deleted:
		r.Msg = fmt.Sprintf("profile %q is not trusted: %s: %s%s", p.Name, a.short(v.File), v.Detail, a.whatChanged(pl, p))
	case trust.Denied:
		r.Msg = fmt.Sprintf("profile %q was denied", p.Name)
	default:
		r.Msg = fmt.Sprintf("the trust record %s cannot be read: %v", a.short(v.File), v.Err)
		r.Hint = "inner revoke, then inner allow"
	}
	return r
}

// whatChanged says in a few words how the grants differ from those that were
// approved, for the end of a refusal.
func (a *app) whatChanged(pl place, p *profile.Profile) string {
	old, known := a.lastGrants(pl, p)
	if !known {
		return ""
	}
	now, err := a.grantsOf(p, pl)
	if err != nil {
		return ""
	}
	wider, narrower := profile.DiffGrants(old, now)
	var parts []string
	for _, g := range wider {
		parts = append(parts, "wider: "+changeText(g, true))
	}
	for _, g := range narrower {
		parts = append(parts, "narrower: "+changeText(g, false))
	}
	switch {
	case len(parts) == 0:
		return "; nothing in what it grants"
	case len(parts) > 2:
		parts = append(parts[:2], fmt.Sprintf("and %d more", len(parts)-2))
	}
	return "; " + strings.Join(parts, ", ")
}

// changeText is one grant as a change: one that went away is said to be no
// longer there.
func changeText(g profile.Grant, widens bool) string {
	if g.Tightens == widens {
		return "no longer: " + g.Text
	}
	return g.Text
}

// shimWords are the commands the project's config.toml maps to profiles.
func shimWords(pl place) []string {
	cfg, _, err := config.LoadProject(filepath.Join(pl.project.Dir, "config.toml"))
	if err != nil {
		return nil
	}
	var out []string
	for _, kv := range cfg.Shims {
		out = append(out, kv.Key)
	}
	return out
}

// showConfig prints what the project's config.toml sets.
func (a *app) showConfig(pl place) {
	path := filepath.Join(pl.project.Dir, "config.toml")
	cfg, _, err := config.LoadProject(path)
	if err != nil {
		return
	}
	var parts []string
	if cfg.DefaultProfile != "" {
		parts = append(parts, fmt.Sprintf("makes %q the default profile here", cfg.DefaultProfile))
	}
	for _, kv := range cfg.Shims {
		parts = append(parts, fmt.Sprintf("runs %s in profile %q", kv.Key, kv.Value))
	}
	if cfg.WorkspacesPath != "" {
		parts = append(parts, fmt.Sprintf("keeps workspaces in %q", cfg.WorkspacesPath))
	}
	for _, kv := range cfg.Aliases {
		parts = append(parts, fmt.Sprintf("makes \"inner %s\" stand for: inner %s", kv.Key, kv.Value))
	}
	if len(parts) > 0 {
		fmt.Fprintf(a.stderr, "config (%s):\n", printable(a.short(path)))
	}
	for _, part := range parts {
		fmt.Fprintf(a.stderr, "  %s\n", printable(part))
	}
}
