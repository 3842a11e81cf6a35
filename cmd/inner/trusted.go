package main

// What the user has allowed, as far as a command needs it. Each config.toml is read
// once per process, so that what is shown, asked about, recorded and put in force is
// one value.

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/config"
	"github.com/enr/inner/profile/trust"
	"github.com/enr/inner/shims"
)

// configRead is one config.toml as it was read. File is nil when there is none; of one
// with a fault only the digest is known.
type configRead struct {
	config *config.Config
	file   *profile.File
	err    error
}

// read returns the config.toml at path, read now or before.
func (a *app) readConfig(path string, load func(string) (*config.Config, profile.File, error)) configRead {
	if r, ok := a.configs[path]; ok {
		return r
	}
	cfg, file, err := load(path)
	return a.knownConfig(path, cfg, file, err)
}

// knownConfig keeps what was read of a config.toml.
func (a *app) knownConfig(path string, cfg *config.Config, file profile.File, err error) configRead {
	r := configRead{config: cfg, err: err}
	if file.Path != "" {
		r.file = &file
	}
	if a.configs == nil {
		a.configs = map[string]configRead{}
	}
	a.configs[path] = r
	return r
}

// recordRead is what the trust store has about one project, as it was read.
type recordRead struct {
	record *trust.ProjectRecord
	err    error
}

// recordOf is what was allowed for the folder, of which p is the project when it is one,
// read now or before. Who changes the store forgets what was read.
func (a *app) recordOf(root string, p *profile.Project) (*trust.ProjectRecord, error) {
	r, ok := a.records[recordKey(root, p)]
	if !ok {
		if p == nil {
			r.record, r.err = a.trust().Project(root)
		} else {
			r.record, r.err = a.trust().For(p)
		}
		a.knownRecord(root, p, r)
	}
	return r.record, r.err
}

// recordKey tells a linked worktree's own .inner from that of the main one.
func recordKey(root string, p *profile.Project) string {
	if p == nil {
		return root
	}
	return root + "\x00" + p.Dir
}

func (a *app) knownRecord(root string, p *profile.Project, r recordRead) {
	if a.records == nil {
		a.records = map[string]recordRead{}
	}
	a.records[recordKey(root, p)] = r
}

// knownFrom keeps what the decision of a shim was made from.
func (a *app) knownFrom(d shims.Decision) {
	for _, v := range d.Views {
		a.knownRecord(v.Root, v.Project, recordRead{v.Record, v.RecordErr})
		if v.Project == nil {
			continue
		}
		var file profile.File
		if v.ConfigFile != nil {
			file = *v.ConfigFile
		}
		cfg := v.Config
		if cfg == nil && v.ConfigFile == nil && v.ConfigErr == nil {
			cfg = &config.Config{}
		}
		if cfg != nil || v.ConfigErr != nil {
			a.knownConfig(filepath.Join(v.Project.Dir, "config.toml"), cfg, file, v.ConfigErr)
		}
	}
}

// globalConfig is INNER_HOME/config.toml.
func (a *app) globalConfig() (*config.Config, error) {
	r := a.readConfig(a.configFile(), config.Load)
	return r.config, r.err
}

// declared are the capabilities of the user's own config.toml. A file with a fault
// declares nothing: whoever acts on it reports that.
func (a *app) declared() []string {
	cfg, err := a.globalConfig()
	if err != nil {
		return nil
	}
	var names []string
	for _, it := range cfg.Capabilities {
		names = append(names, it.Name)
	}
	return names
}

// projectConfig is the config.toml of the project, which need not be approved.
func (a *app) projectConfig(pl place) configRead {
	if pl.project == nil || pl.project.Problem != nil {
		return configRead{config: &config.Config{}}
	}
	return a.readConfig(filepath.Join(pl.project.Dir, "config.toml"), config.LoadProject)
}

// approvedConfig is the config.toml of a folder's project when it is in force: nil when
// there is none, or the user never approved it or denied it. One that was approved and
// is not what was approved any more is an error: what it hides and limits would be
// dropped without a word.
func (a *app) approvedConfig(root string, p *profile.Project) (*config.Config, error) {
	rec, err := a.recordOf(root, p)
	if err != nil {
		return nil, &fault.Refusal{Code: 126, Msg: fmt.Sprintf("what was allowed for %s cannot be read: %v", a.short(root), err), Hint: "inner revoke " + quoted(root) + ", then inner allow"}
	}
	conf := rec.ConfigRecord()
	approved := conf != nil && conf.WasApproved() && conf.Decision == trust.Allowed
	var r configRead
	if p != nil {
		r = a.projectConfig(place{cwd: root, project: p})
	}
	path := a.short(filepath.Join(root, ".inner", "config.toml"))
	if p != nil {
		path = a.short(filepath.Join(p.Dir, "config.toml"))
	}
	lost := func(hint, why string, args ...any) error {
		return &fault.Refusal{Code: 126, Msg: fmt.Sprintf("%s %s; what it hides and limits would not hold", path, fmt.Sprintf(why, args...)), Hint: hint}
	}
	switch {
	case !approved && (r.err != nil || r.file == nil):
		return nil, nil
	case p != nil && p.Problem != nil && approved:
		return nil, lost("inner status", "was allowed and is not used: %v", p.Problem)
	case p != nil && p.Problem != nil:
		return nil, nil
	case r.err != nil:
		return nil, lost("mend it, then: inner allow "+quoted(root), "was allowed and is not valid now: %s", firstFault(r.err))
	}
	switch rec.CheckConfig(r.file).State {
	case trust.Allowed:
		if r.file != nil {
			return r.config, nil
		}
	case trust.Changed:
		return nil, lost("inner allow "+quoted(root), "changed since it was allowed")
	case trust.Deleted:
		return nil, lost("bring it back, or: inner revoke "+quoted(root), "was allowed and is gone")
	}
	return nil, nil
}

// firstFault is an error in one line.
func firstFault(err error) string {
	first, _, more := strings.Cut(err.Error(), "\n")
	if more {
		first += " (and more)"
	}
	return first
}

// layer is a config.toml of a project that is in force.
type layer struct {
	root   string
	config *config.Config
}

// layers are the approved config.toml files of the projects that the folders lie in,
// nearest first. What an outer project hides and limits holds further in, too: a
// program in a box can make a .inner there. So does what the main worktree's says, in a
// linked one whose own .inner has no config.toml.
func (a *app) layers(dirs ...string) ([]layer, error) {
	var out []layer
	seen := map[string]bool{}
	for _, dir := range dirs {
		p := a.projectOf(dir)
		for ; filepath.IsAbs(dir) && !seen[dir]; dir = filepath.Dir(dir) {
			seen[dir] = true
			var here *profile.Project
			if p != nil && p.Root == dir {
				here, p = p, nil
				if dir != "/" {
					p = a.projectOf(filepath.Dir(dir))
				}
			}
			cfg, err := a.approvedConfig(dir, here)
			if err != nil {
				return nil, err
			}
			if behind := a.behind(here); cfg == nil && behind != nil {
				if cfg, err = a.approvedConfig(dir, behind); err != nil {
					return nil, err
				}
			}
			if cfg != nil {
				out = append(out, layer{dir, cfg})
			}
		}
	}
	return out, nil
}

// trustedProjectConfig is the project's config.toml when it is in force.
func (a *app) trustedProjectConfig(pl place) (*config.Config, bool) {
	if pl.project == nil {
		return nil, false
	}
	cfg, err := a.approvedConfig(pl.root(), pl.project)
	return cfg, err == nil && cfg != nil
}

// verdict is what the trust store says about a local profile.
func (a *app) verdict(pl place, p *profile.Profile) trust.Verdict {
	r := a.projectConfig(pl)
	if r.err != nil {
		return trust.Verdict{State: trust.Unreadable, File: filepath.Join(pl.project.Dir, "config.toml"), Detail: "it cannot be read", Err: r.err}
	}
	rec, err := a.recordOf(pl.root(), pl.project)
	if err != nil {
		return trust.Verdict{State: trust.Unreadable, File: a.short(pl.root()), Detail: "its record cannot be read", Err: err}
	}
	return a.trust().Judge(rec, p, r.file)
}

// asAllowed refuses a run of a project's profile that would get more than what was
// shown when it was allowed: its bytes are the same, and a link, a variable or a
// profile it extends leads it elsewhere. Flags are the person's own word.
func (a *app) asAllowed(p *profile.Profile, c profile.Context, rc profile.RunConfig) error {
	if p.Scope != profile.Local {
		return nil
	}
	rec, err := a.recordOf(c.Project, a.projectOf(c.Project))
	if err != nil {
		return &fault.Refusal{Code: 126, Msg: fmt.Sprintf("what was allowed for %s cannot be read: %v", a.short(c.Project), err), Hint: "inner revoke, then inner allow"}
	}
	r, root := rec.Approving(p)
	refuse := func(format string, args ...any) error {
		return &fault.Refusal{Code: 126, Msg: fmt.Sprintf("profile %q ", p.Name) + fmt.Sprintf(format, args...), Hint: "inner allow"}
	}
	switch {
	case r == nil:
		return refuse("is not trusted: %s was never allowed", a.short(p.Path))
	case len(r.Grants) == 0:
		return refuse("was allowed by an older inner, which did not keep the real paths of what it grants")
	}
	plain := rc
	if o := c.Overrides; o.Network != nil || o.Timeout != nil || o.Workdir != "" || o.Limits.Any() || len(o.Mounts)+len(o.Env) > 0 {
		at := c
		at.Overrides, at.Cwd = profile.Overrides{}, c.Project
		if plain, err = p.Resolve(at); err != nil {
			if _, ok := errors.AsType[*profile.WorkdirError](err); !ok {
				return err
			}
		}
		for _, m := range rc.Mounts {
			if !givenBy(m, rc, plain) {
				return refuse("would mount %s with this -w, which is not below it and was not allowed", a.short(rc.Real[m.Source]))
			}
		}
	}
	now := profile.Grants(plain)
	wider, _ := profile.DiffGrants(profile.AlignGrants(r.Grants, now, root, c.Project), now)
	if len(wider) == 0 {
		return nil
	}
	return refuse("changed since it was allowed, though its file did not: %s", inWords(wider, nil))
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

// exchanged names a path of the profile that the host's facts say leads elsewhere than
// when the grants were compared; "" when none does.
func exchanged(rc profile.RunConfig, facts map[string]host.Path) string {
	for path, real := range rc.Real {
		if f, ok := facts[path]; ok && f.Real != "" && f.Real != real {
			return path
		}
	}
	return ""
}

// untrusted refuses a profile that is not approved as it is.
func (a *app) untrusted(pl place, p *profile.Profile, v trust.Verdict) error {
	r := &fault.Refusal{Code: 126, Hint: "inner allow"}
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
	rec, err := a.recordOf(pl.root(), pl.project)
	if err != nil {
		return ""
	}
	now, err := a.grantsOf(p, pl)
	if err != nil {
		return ""
	}
	old := lastGrants(rec, p, pl.root(), now)
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
	var parts []string
	for _, g := range wider {
		parts = append(parts, "wider: "+changeText(g, true))
	}
	for _, g := range narrower {
		parts = append(parts, "narrower: "+changeText(g, false))
	}
	if len(parts) > 2 {
		parts = append(parts[:2], fmt.Sprintf("and %d more", len(parts)-2))
	}
	return strings.Join(parts, ", ")
}

// changeText is one grant as a change: one that went away is said to be no
// longer there.
func changeText(g profile.Grant, widens bool) string {
	if g.Tightens == widens {
		return "no longer: " + g.Text
	}
	return g.Text
}

// lastGrants are those of the last approved version, to be compared with those of now; none
// of one that an older inner recorded.
func lastGrants(rec *trust.ProjectRecord, p *profile.Profile, root string, now []profile.Grant) []profile.Grant {
	if r, of := rec.Approving(p); r != nil {
		return profile.AlignGrants(r.Grants, now, of, root)
	}
	return nil
}

func quoted(path string) string { return quote.POSIX(path) }

// configLines say what a project's config.toml sets.
func configLines(cfg *config.Config) []string {
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
	if cfg.Log != "" {
		parts = append(parts, fmt.Sprintf("keeps the log in %q", cfg.Log))
	}
	for _, path := range cfg.Hide {
		parts = append(parts, "hides "+path)
	}
	for _, name := range cfg.HideEnv {
		parts = append(parts, "keeps the variables "+name+" outside")
	}
	for _, l := range cfg.DefaultLimits.Rows() {
		parts = append(parts, fmt.Sprintf("limits %s to %s, where a profile does not", l.Key, l.Value))
	}
	for _, kv := range cfg.Aliases {
		parts = append(parts, fmt.Sprintf("makes \"inner %s\" stand for: inner %s", kv.Key, kv.Value))
	}
	return parts
}
