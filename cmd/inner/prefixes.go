package main

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile/trust"
	"github.com/enr/inner/shims"
)

// What [trust] prefixes of the user's own config.toml allows without a question: see
// settings.AllowPrefixed.

// prefixOf is the prefix that allowed the profile of a decision, or "".
func prefixOf(d shims.Decision) string {
	if d.Profile == nil || d.State != trust.Allowed {
		return ""
	}
	for _, v := range d.Views {
		if rec := v.Record.Profile(d.Profile.Path); rec != nil {
			return rec.Prefix
		}
	}
	return ""
}

// prefixWords say that a prefix allowed a profile, or why none did; "" where none is above it.
func (a *app) prefixWords(pl settings.Place, v *shims.View, p shims.ProfileView) string {
	switch p.State {
	case trust.Allowed:
		if rec := v.Record.Profile(p.Path); rec != nil && rec.Prefix != "" {
			return "without a question: below " + a.Short(rec.Prefix) + " of trust.prefixes"
		}
	case trust.Untrusted, trust.Changed:
		_, asked, _ := a.AllowPrefixed(pl) // what fails was said
		if i := slices.IndexFunc(asked, func(x settings.Asked) bool { return x.Name == p.Name }); i >= 0 {
			return fmt.Sprintf("asked about, although it is below %s of trust.prefixes: %s",
				a.Short(asked[i].Prefix), asked[i].Why)
		}
	}
	return ""
}

// prefixFindings look at the folders of trust.prefixes.
func (a *app) prefixFindings() []finding {
	cfg, err := a.GlobalConfig()
	if err != nil || len(cfg.TrustPrefixes) == 0 {
		return nil
	}
	var list []finding
	for _, dir := range cfg.TrustPrefixes {
		at := a.Absolute(dir, "")
		real, err := filepath.EvalSymlinks(at)
		if err != nil {
			list = append(list, warning("trust", "mkdir -p "+at+", or inner config edit", "trust.prefixes: %s is not there", dir))
			continue
		}
		if why := a.Trust().FolderAsks(real); why != "" {
			list = append(list, warning("trust", "inner config edit", "trust.prefixes: %s changes nothing, every profile below is asked about: %s", dir, why))
			continue
		}
		list = append(list, ok("trust", "profiles below %s need no question, but in clones and where a box has worked", dir))
	}
	return list
}
