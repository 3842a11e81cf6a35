package settings

import (
	"path/filepath"
	"strings"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/profile"
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
// [trust] prefixes that were never allowed or changed since, says so, and reports whether there are any. What
// may have come from elsewhere, or from a box (see trust.Store.NeedsQuestion), is left to
// the question, and so is what was denied. Like an answer, the yes is for the bytes that
// were read, and is noted in the audit log.
func (s *Settings) AllowPrefixed(pl Place) (news bool, asked []Asked, err error) {
	prefixes, root := s.Prefixes(), pl.Root()
	prefix := s.prefixOf(pl, prefixes)
	if prefix == "" {
		return false, nil, nil
	}
	var allowed []string
	defer func() {
		if news = len(allowed) > 0; news {
			s.ForgetRecords()
			s.Say("allowed %s: %s lies below a folder of trust.prefixes; inner explain shows what it grants", strings.Join(allowed, ", "), s.Short(root))
		}
	}()
	cfg := s.ProjectConfig(pl)
	list, err := pl.Project.ProfileFiles()
	if err != nil || cfg.Err != nil {
		return false, nil, nil // whoever uses them says so
	}
	rec, err := s.RecordOf(root, pl.Project)
	if err != nil {
		return false, nil, nil
	}
	newConfig := cfg.File != nil && rec.CheckConfig(cfg.File).State != trust.Allowed
	l := s.Loader(pl)
	for _, file := range list {
		p, err := l.Load(file, profile.Local)
		if err != nil || !s.undecided(pl, p) {
			continue
		}
		if why := s.prefixedNeeds(p, cfg.File, prefixes); why != "" {
			asked = append(asked, Asked{p.Name, prefix, why})
			continue
		}
		if ok, err := s.allowBy(prefix, pl, p, cfg); err != nil {
			return false, asked, err
		} else if ok {
			allowed = append(allowed, p.Name)
		}
	}
	if len(allowed) > 0 && newConfig {
		s.auditPrefix(prefix, root, *cfg.File)
	}
	return false, asked, nil
}

// prefixOf is the folder of [trust] prefixes that a project lies below, or "".
func (s *Settings) prefixOf(pl Place, prefixes trust.Prefixes) string {
	if pl.Project == nil || pl.Project.Problem != nil || pl.Project.Of != "" || paths.Below(files.Real(s.InnerHome), pl.Root()) {
		return ""
	}
	return prefixes.Under(pl.Root())
}

// undecided reports whether a profile was never allowed, or changed since.
func (s *Settings) undecided(pl Place, p *profile.Profile) bool {
	state := s.Verdict(pl, p).State
	return state == trust.Untrusted || state == trust.Changed
}

func (s *Settings) auditPrefix(prefix, root string, f profile.File) {
	s.Audit(runlog.Event{Type: runlog.EventAllow, Cwd: root, Path: f.Path, Digest: f.Digest, Reason: "below " + prefix + " (trust.prefixes)"})
}

// prefixedNeeds says why one of the files of a profile is asked about, or "".
func (s *Settings) prefixedNeeds(p *profile.Profile, config *profile.File, prefixes trust.Prefixes) string {
	for _, f := range s.Trust().Bound(p, config) {
		if why := s.Trust().NeedsQuestion(f.Path, prefixes); why != "" {
			return why
		}
	}
	return ""
}

// allowBy records the yes that a prefix is. A profile that cannot be resolved gets none.
func (s *Settings) allowBy(prefix string, pl Place, p *profile.Profile, cfg ConfigRead) (bool, error) {
	grants, err := s.GrantsOf(p, pl)
	if err != nil {
		return false, nil // whoever uses it says so
	}
	ok := trust.Approval{Profile: p, Grants: grants, Config: cfg.File, Prefix: prefix}
	if cfg.File != nil {
		for _, kv := range cfg.Config.Shims {
			ok.ConfigCommands = append(ok.ConfigCommands, kv.Key)
		}
	}
	if err := s.Trust().Allow(pl.Root(), ok); err != nil {
		return false, err
	}
	s.auditPrefix(prefix, pl.Root(), p.Files[0])
	return true, nil
}
