// Package trust remembers what the user allowed: exactly these bytes, at
// exactly this path, for exactly this project. The record lives outside every
// project, so nothing that arrives with a clone, and nothing a boxed program
// writes there, can change it.
//
// What is allowed is the profile, every file it extends outside the folder of
// global profiles, and the project's config.toml. When any of them changes,
// appears or disappears the profile counts as changed and does not run until it
// is allowed again. A copy elsewhere is not allowed; neither is another
// project.
//
//	store := trust.Store{Dir: filepath.Join(innerHome, "trust")}
//	record, err := store.Project(project.Root)
//	switch v := store.Judge(record, p, configFile); v.State {
//	case trust.Allowed: // run it
//	default:            // refuse; v.File and v.Detail say why
//	}
//
// What the profile granted, with real paths, is recorded as data: package profile
// compares it (DiffGrants) with what the same bytes grant at each start.
//
// The commands of an allowed profile are recorded with it. They stay guarded
// when its file is edited, broken or deleted, until the user says revoke.
//
// The package does not decide what happens to a command (package shims does),
// and does not ask anybody anything.
package trust

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/enr/inner/profile"
)

// State is what the user's record says about a profile.
type State string

// The states of a profile.
const (
	Allowed    State = "allowed"    // these bytes, here, are approved
	Untrusted  State = "untrusted"  // never approved
	Changed    State = "changed"    // approved once, not as it is now
	Denied     State = "denied"     // the user said no; remembered by path, whatever the bytes become
	Deleted    State = "deleted"    // approved once, and its file is gone
	Unreadable State = "unreadable" // the record cannot be read, so nothing is known: refuse
)

// Verdict is the answer about one profile. File is the file that makes it so and
// Detail what is the matter with it, both empty for Allowed. Err is set when the
// record is Unreadable.
type Verdict struct {
	State  State
	File   string
	Detail string
	Of     string // the project in the main worktree whose record says so, or ""
	Err    error
}

// ProjectRecord is all that is remembered about one project.
type ProjectRecord struct {
	Schema   int             `json:"schema"`
	Root     string          `json:"root"`
	Entered  time.Time       `json:"entered"`            // when the user was first seen in it
	Config   *ProfileRecord  `json:"config,omitempty"`   // the project's config.toml, nil when it was never decided on
	Profiles []ProfileRecord `json:"profiles,omitempty"` // sorted by path
	// Of is the record of the same folder in the main worktree, where Root is a linked
	// worktree of git (see Store.For), with the paths that its files have here. What it
	// allows holds for the same bytes here.
	Of *ProjectRecord `json:"-"`
	// FromMain is set when Root has no .inner and that of the main worktree is in force.
	FromMain bool `json:"-"`
}

// ProfileRecord is what is remembered about one profile, or one config.toml.
// Files, Commands, Grants and ShimWhen are those of the last allowed version;
// they survive a deny, so that what was guarded stays guarded.
type ProfileRecord struct {
	Path     string          `json:"path"`
	Name     string          `json:"name"`
	Decision State           `json:"decision"` // Allowed or Denied
	When     time.Time       `json:"when"`     // of the decision
	Files    []FileRecord    `json:"files,omitempty"`
	Commands []string        `json:"commands,omitempty"`
	ShimWhen string          `json:"shim_when,omitempty"` // [shim] when
	Grants   []profile.Grant `json:"grants,omitempty"`    // none in a record of an older inner, which kept no real paths
	Words    []string        `json:"words,omitempty"`     // what a config.toml sets, for people; none in a record of an older inner
	Prefix   string          `json:"prefix,omitempty"`    // of [trust] prefixes, which allowed it without a question; "" for an answer
}

// FileRecord is one allowed file: its absolute path and the hex sha256 of its
// content.
type FileRecord struct {
	Path   string `json:"path"`
	Digest string `json:"sha256"`
}

// Approval is what the user says yes to, as it was read and shown.
type Approval struct {
	Profile        *profile.Profile // nil allows only the config
	Grants         []profile.Grant  // what was shown, for the comparison at each start
	Prefix         string           // of [trust] prefixes, when that is what says yes
	Config         *profile.File    // the project's config.toml as read, nil when there is none
	ConfigCommands []string         // the words its [shims] maps
	ConfigWords    []string         // what it sets, for people
}

// WasApproved reports whether a version of this profile has ever been allowed
// and not revoked.
func (r *ProfileRecord) WasApproved() bool { return r != nil && len(r.Files) > 0 }

// Profile returns the record of the profile at path, or nil: its own before that of the
// main worktree. A nil record has none.
func (r *ProjectRecord) Profile(path string) *ProfileRecord {
	if own := r.own(path); own != nil || r == nil {
		return own
	}
	return r.Of.own(path)
}

// own is the record's own decision about a file, be it a profile or the config.toml.
func (r *ProjectRecord) own(path string) *ProfileRecord {
	switch {
	case r == nil:
		return nil
	case r.Config != nil && r.Config.Path == path:
		return r.Config
	}
	i := slices.IndexFunc(r.Profiles, func(p ProfileRecord) bool { return p.Path == path })
	if i < 0 {
		return nil
	}
	return &r.Profiles[i]
}

// ConfigRecord returns the record of the project's config.toml, or nil: its own before that
// of the main worktree.
func (r *ProjectRecord) ConfigRecord() *ProfileRecord {
	switch {
	case r == nil:
		return nil
	case r.Config != nil || r.Of == nil:
		return r.Config
	}
	return r.Of.Config
}

// All returns the records of the profiles that are to be there.
func (r *ProjectRecord) All() []ProfileRecord {
	switch {
	case r == nil:
		return nil
	case r.Of != nil && r.FromMain:
		return slices.Concat(r.Profiles, r.Of.Profiles)
	}
	return r.Profiles
}

// Approving returns the record of the version of a profile that was allowed and is meant
// now, and the root of the project it is of; nil when none is. The version with the
// profile's own bytes goes before any other.
func (r *ProjectRecord) Approving(p *profile.Profile) (rec *ProfileRecord, root string) {
	digest := p.Files[0].Digest
	for path := p.Path; r != nil; r = r.Of {
		q := r.own(path)
		if q != nil && q.WasApproved() && (rec == nil || q.Files[0].Digest == digest && rec.Files[0].Digest != digest) {
			rec, root = q, r.Root
		}
		if r.Of != nil && !r.FromMain { // also one of the main worktree, behind a .inner here
			path = moved(path, r.Of.Root, r.Root)
		}
	}
	return rec, root
}

// moved is what a path below one root is below another; another path stays.
func moved(path, from, to string) string {
	if rest, ok := strings.CutPrefix(path, strings.TrimSuffix(from, "/")+"/"); ok {
		return filepath.Join(to, rest)
	}
	return path
}

// seenFrom is the record of a main worktree with the paths that its files have in a linked one.
func (r *ProjectRecord) seenFrom(root string) *ProjectRecord {
	here := func(p ProfileRecord) ProfileRecord {
		p.Path, p.Files = moved(p.Path, r.Root, root), slices.Clone(p.Files)
		for i, f := range p.Files {
			p.Files[i].Path = moved(f.Path, r.Root, root)
		}
		return p
	}
	out := &ProjectRecord{Root: r.Root, Entered: r.Entered}
	if r.Config != nil {
		c := here(*r.Config)
		out.Config = &c
	}
	for _, p := range r.Profiles {
		out.Profiles = append(out.Profiles, here(p))
	}
	return out
}

// Judge judges a profile of the project that a record, which may be nil, is of. Only local profiles
// must be allowed: the others, and files in the folder of global profiles, are the user's own.
func (s Store) Judge(r *ProjectRecord, p *profile.Profile, config *profile.File) Verdict {
	if p.Scope != profile.Local {
		return Verdict{State: Allowed}
	}
	return r.check(p.Path, config, s.Bound(p, config))
}

// CheckConfig judges the project's config.toml by itself, for words it maps to
// profiles that need not be allowed. config is nil when the project has none.
func (r *ProjectRecord) CheckConfig(config *profile.File) Verdict {
	switch {
	case config != nil:
		return r.check(config.Path, nil, []FileRecord{{config.Path, config.Digest}})
	case r == nil:
	case r.Config != nil && r.Config.WasApproved():
		return Verdict{State: Deleted, File: r.Config.Path, Detail: "it is gone"}
	case r.FromMain: // else that of the main worktree is judged there
		return r.Of.CheckConfig(nil)
	}
	return Verdict{State: Allowed}
}

// check judges a file by what is recorded about it here and, in a worktree, about the main one: what was said about
// the worktree itself counts, unless nothing was, or the bytes are allowed in the main one.
func (r *ProjectRecord) check(path string, config *profile.File, now []FileRecord) Verdict {
	own := r.checkOwn(path, config, now)
	if r == nil || r.Of == nil || own.State == Allowed || own.State == Denied {
		return own
	}
	if config != nil && r.Config != nil && r.Config.Decision == Denied { // as in the main one
		return Verdict{State: Denied, File: config.Path, Detail: "it was denied"}
	}
	main := r.Of.checkOwn(path, config, now)
	if own.State != Untrusted && main.State != Allowed {
		return own
	}
	main.Of = r.Of.Root
	return main
}

func (r *ProjectRecord) checkOwn(path string, config *profile.File, now []FileRecord) Verdict {
	rec := r.own(path)
	switch {
	case rec == nil:
		return Verdict{State: Untrusted, File: path, Detail: "it was never allowed"}
	case rec.Decision == Denied:
		return Verdict{State: Denied, File: path, Detail: "it was denied"}
	case config != nil && r.Config != nil && r.Config.Decision == Denied:
		return Verdict{State: Denied, File: config.Path, Detail: "it was denied"}
	}
	return rec.compare(now)
}

// OtherContent is the Detail of a file of which the content changed.
const OtherContent = "it changed since it was allowed"

// compare holds the files of now against the allowed ones, in the order of now.
func (r *ProfileRecord) compare(now []FileRecord) Verdict {
	for _, f := range now {
		i := slices.IndexFunc(r.Files, func(old FileRecord) bool { return old.Path == f.Path })
		switch {
		case i < 0:
			return Verdict{State: Changed, File: f.Path, Detail: "it was not part of what was allowed"}
		case r.Files[i].Digest != f.Digest:
			return Verdict{State: Changed, File: f.Path, Detail: OtherContent}
		}
	}
	for _, old := range r.Files {
		if !slices.ContainsFunc(now, func(f FileRecord) bool { return f.Path == old.Path }) {
			return Verdict{State: Changed, File: old.Path, Detail: "it was allowed too, and is not used any more"}
		}
	}
	return Verdict{State: Allowed}
}

// Bound lists the files that are allowed together with a profile: its own, those it extends
// outside the folder of global profiles, and the project's config.toml, nil when it has none.
func (s Store) Bound(p *profile.Profile, config *profile.File) (list []FileRecord) {
	global := filepath.Join(filepath.Dir(filepath.Clean(s.Dir)), "profiles")
	for _, f := range p.Files {
		if !sameFolder(filepath.Dir(filepath.Clean(f.Path)), global) {
			list = append(list, FileRecord{f.Path, f.Digest})
		}
	}
	if config != nil {
		list = append(list, FileRecord{config.Path, config.Digest})
	}
	return list
}

// sameFolder compares by identity, because INNER_HOME may be reached by more than
// one name.
func sameFolder(a, b string) bool {
	if a == b {
		return true
	}
	ai, err := os.Stat(a)
	if err != nil {
		return false
	}
	bi, err := os.Stat(b)
	return err == nil && os.SameFile(ai, bi)
}

// Store is the folder of records, INNER_HOME/trust.
type Store struct{ Dir string }

// For returns what is recorded about a project. Where it is a linked worktree, the record of
// the main one stands behind its own; nil when there is neither.
func (s Store) For(p *profile.Project) (*ProjectRecord, error) {
	own, err := s.Project(p.Root)
	if err != nil || p.Of == "" {
		return own, err
	}
	main, err := s.Project(p.Of)
	if err != nil || main == nil {
		return own, err
	}
	if own == nil {
		own = &ProjectRecord{Root: p.Root}
	}
	if own.Of, own.FromMain = main, p.FromMain(); !own.FromMain {
		own.Of = main.seenFrom(p.Root)
	}
	return own, nil
}

// Allow records the user's yes. It replaces what was recorded for the profile,
// and for the config of the project, and marks the project as entered.
func (s Store) Allow(root string, a Approval) error {
	now := time.Now().Round(0)
	return s.change(root, func(r *ProjectRecord) error {
		r.Config = nil
		if a.Config != nil {
			r.Config = &ProfileRecord{
				Path: a.Config.Path, Name: filepath.Base(a.Config.Path), Decision: Allowed, When: now,
				Files: []FileRecord{{a.Config.Path, a.Config.Digest}}, Commands: a.ConfigCommands, Words: a.ConfigWords, Prefix: a.Prefix,
			}
		}
		if a.Profile == nil {
			return nil
		}
		p := a.Profile
		if p.Scope != profile.Local {
			return fmt.Errorf("profile %q: only a profile of a project is allowed", p.Path)
		}
		files := s.Bound(p, a.Config)
		if len(files) == 0 || files[0].Path != p.Path {
			return fmt.Errorf("profile %q: its own file is not among those that were read", p.Path)
		}
		r.set(ProfileRecord{
			Path: p.Path, Name: p.Name, Decision: Allowed, When: now, Files: files,
			Commands: p.Commands(), ShimWhen: p.When(), Prefix: a.Prefix,
			// What is the user's own is not what the profile asks for.
			Grants: profile.Without(a.Grants, func(_ profile.Grant, it profile.Item) bool { return it.Own }),
		})
		return nil
	})
}

// Deny records the user's no to the profiles, or the config.toml, at the given
// paths. What an earlier yes recorded is kept.
func (s Store) Deny(root string, paths ...string) error {
	now := time.Now().Round(0)
	return s.change(root, func(r *ProjectRecord) error {
		for _, path := range paths {
			rec := ProfileRecord{Path: path, Name: nameOf(path)}
			if old := r.Profile(path); old != nil {
				rec = *old
			}
			rec.Decision, rec.When = Denied, now
			r.set(rec)
		}
		return nil
	})
}

// Revoke forgets every decision about the given paths, or about the whole
// project when none is given; nothing that was recorded is guarded any longer.
// While the project is there it still counts as entered. Forgetting the whole
// project also works when its record is damaged.
func (s Store) Revoke(root string, paths ...string) error {
	if len(paths) == 0 {
		return s.forget(root)
	}
	return s.change(root, func(r *ProjectRecord) error {
		for _, path := range paths {
			if r.Config != nil && r.Config.Path == path {
				r.Config = nil
			}
			r.Profiles = slices.DeleteFunc(r.Profiles, func(p ProfileRecord) bool { return p.Path == path })
		}
		return nil
	})
}
