package settings

import (
	"path/filepath"
	"strings"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/config"
	"github.com/enr/inner/profile/trust"
)

// Prefixes are the folders of [trust] prefixes in the user's own config.toml, by their real
// paths. A folder that does not exist, is the home or is / is left out.
func (s *Settings) Prefixes() trust.Prefixes {
	cfg, err := s.GlobalConfig()
	if err != nil {
		return trust.Prefixes{}
	}
	var p trust.Prefixes
	for _, dir := range cfg.TrustPrefixes {
		if rest, ok := strings.CutPrefix(dir, "~/"); ok {
			dir = filepath.Join(s.Home, rest)
		}
		if real, err := filepath.EvalSymlinks(dir); err == nil && real != files.Real(s.Home) && real != "/" {
			p.Dirs = append(p.Dirs, real)
		}
	}
	return p
}

// Asked is a profile below a prefix that is asked about all the same, and why.
type Asked struct{ Name, Prefix, Why string }

// AllowPrefixed allows, as inner allow would, the profiles of a project below a folder of
// [trust] prefixes that were never allowed or changed since, says so, and reports whether there were any. What
// may have come from elsewhere, or from a box (see trust.Store.NeedsQuestion), is left to
// the question, and so is what was denied. Like an answer, the yes is for the bytes that
// were read, and is noted in the audit log. What cannot be read or resolved gets none: whoever uses it says so.
func (s *Settings) AllowPrefixed(pl Place) (allowed bool, asked []Asked, failed error) {
	if pl.Project == nil || pl.Project.Problem != nil || pl.Project.Of != "" ||
		paths.Below(files.Real(s.InnerHome), pl.Root()) {
		return false, nil, nil
	}
	prefixes, root := s.Prefixes(), pl.Root()
	prefix := prefixes.Under(root)
	if prefix == "" {
		return false, nil, nil
	}
	v := s.Look(pl) // which is known from here on: what is allowed is what the grants are of
	if v.Config.Err != nil || v.RecordErr != nil {
		return false, nil, nil
	}
	audit := func(f profile.File) {
		s.Audit(runlog.Event{Type: runlog.EventAllow, Cwd: root, Path: f.Path, Digest: f.Digest, Reason: "below " + prefix + " (trust.prefixes)"})
	}
	var names []string
	for _, it := range v.Profiles {
		p := it.Profile
		if p == nil || it.State != trust.Untrusted && it.State != trust.Changed {
			continue
		}
		if why := s.needsQuestion(p, v.Config.File, prefixes); why != "" {
			asked = append(asked, Asked{p.Name, prefix, why})
			continue
		}
		grants, err := s.GrantsOf(p, pl)
		if err != nil {
			continue
		}
		if failed = s.Allow(root, trust.Approval{Profile: p, Grants: grants, Prefix: prefix}, v.Config); failed != nil {
			break
		}
		audit(p.Files[0])
		names = append(names, p.Name)
	}
	if len(names) > 0 {
		if v.Config.File != nil && v.Conf.State != trust.Allowed {
			audit(*v.Config.File)
		}
		s.Say("allowed %s: %s lies below a folder of trust.prefixes; inner explain shows what it grants",
			strings.Join(names, ", "), s.Short(root))
	}
	return len(names) > 0, asked, failed
}

// Allow records a yes for a profile of a project, or for none, and for its config.toml as it was read.
func (s *Settings) Allow(root string, yes trust.Approval, cfg config.Read) error {
	yes.Config, yes.ConfigCommands, yes.ConfigWords = cfg.File, cfg.Claims(), cfg.Words()
	defer s.Forget() // it is allowed now
	return s.Trust().Allow(root, yes)
}

// needsQuestion says why one of the files of a profile is asked about, or "".
func (s *Settings) needsQuestion(p *profile.Profile, config *profile.File, prefixes trust.Prefixes) string {
	for _, f := range s.Trust().Bound(p, config) {
		if why := s.Trust().NeedsQuestion(f.Path, prefixes); why != "" {
			return why
		}
	}
	return ""
}
