package shims

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/config"
	"github.com/enr/inner/profile/trust"
)

// Two more states of a profile, beside those of the record.
const (
	Broken  trust.State = "broken"  // it cannot be read, or is not valid
	Foreign trust.State = "foreign" // its .inner belongs to somebody else, or others can write it
)

// View is one project as a decision sees it: every profile with what it claims and
// what the user has said about it. Looking changes nothing and runs nothing.
type View struct {
	Root    string
	Project *profile.Project     // nil when no .inner is there any more
	Record  *trust.ProjectRecord // nil when there is none
	// RecordErr says why the record cannot be read; then nothing else is known.
	RecordErr error

	Config config.Read
	Conf   ProfileView // of the config.toml, without a Name; Allowed also when there is none and never was

	Profiles []ProfileView // by path

	// Uncertain lists what keeps some claims from being known.
	Uncertain []error

	words bool // only the words are asked for, see byRecord
}

// ProfileView is one profile of a project, or its config.toml.
type ProfileView struct {
	trust.Verdict // Err says also what is wrong with a Broken or Foreign profile, or with a config.toml that is not valid

	Name, Path string
	Unread     bool             // passed over, see budget
	Profile    *profile.Profile // nil when it could not be loaded
	Claims     []Claim

	rec *trust.ProfileRecord // nil when there is none
}

// all are the profiles, and after them the config.toml.
func (v *View) all() []ProfileView { return append(slices.Clip(v.Profiles), v.Conf) }

// Claim is one word that a profile, or [shims] of a config.toml, claims.
type Claim struct {
	Command string
	When    string // always, tty or pipe
	Target  string // the profile [shims] maps it to
	// Guarded is false for a claim that is only shown: one on an everyday tool that
	// the user has not allowed.
	Guarded bool
}

// Fits reports whether the claim is for a call whose standard input is a terminal, or
// is not.
func (c Claim) Fits(tty bool) bool {
	switch c.When {
	case "tty":
		return tty
	case "pipe":
		return !tty
	}
	return true
}

// Home is where a user's files are: INNER_HOME and the home folder.
type Home struct{ Inner, User string }

// Trust is the store of what is allowed.
func (h Home) Trust() trust.Store { return trust.Store{Dir: filepath.Join(h.Inner, "trust")} }

func (h Home) globalDir() string { return filepath.Join(h.Inner, "profiles") }

func (h Home) loader(p *profile.Project) *profile.Loader {
	return &profile.Loader{Home: h.User, GlobalDir: h.globalDir(), Project: p}
}

// Around yields the folders from one outwards, each with the project that it is, nil for none. A linked
// worktree that has a .inner of its own comes a second time, as what the main one has for it.
func (h Home) Around(dir string) iter.Seq2[string, *profile.Project] {
	return func(yield func(string, *profile.Project) bool) {
		p := profile.FindProject(dir, h.Inner)
		for ; filepath.IsAbs(dir); dir = filepath.Dir(dir) {
			is := p != nil && p.Root == dir
			if !is && !yield(dir, nil) || is && !yield(dir, p) {
				return
			}
			if is {
				if main := p.Behind(h.Inner); main != nil && !yield(dir, main) {
					return
				}
				p = profile.FindProject(filepath.Dir(dir), h.Inner)
			}
			if dir == "/" {
				return
			}
		}
	}
}

// Look reads a project and what is recorded about it.
func (h Home) Look(p *profile.Project) *View {
	rec, err := h.Trust().For(p)
	return h.look(&View{Project: p, Record: rec, RecordErr: err})
}

// Open reads what is recorded about a folder, and the config.toml of the project that it is; p is nil where it is none.
// Profiles are not looked at.
func (h Home) Open(root string, p *profile.Project) *View {
	v := &View{Root: root, Project: p}
	if p == nil {
		v.Record, v.RecordErr = h.Trust().Project(root)
		return v
	}
	v.Record, v.RecordErr = h.Trust().For(p)
	h.lookConfig(v)
	return v
}

// look fills in the view of a project.
func (h Home) look(v *View) *View {
	v.Root = v.Project.Root
	h.lookConfig(v)
	files, err := v.Project.ProfileFiles()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		err = plain(err)
		v.Uncertain = append(v.Uncertain, err)
	}
	unapproved := &budget{}
	for _, path := range files {
		v.Profiles = append(v.Profiles, h.lookProfile(v, path, unapproved))
	}
	v.addDeleted(files, err)
	return v
}

// lookGone is the view of a project of which only the record is left.
func lookGone(rec *trust.ProjectRecord) *View {
	v := &View{Root: rec.Root, Record: rec, Conf: ProfileView{Verdict: trust.Verdict{State: trust.Allowed}, rec: rec.Config}}
	if c := rec.Config; c != nil && c.WasApproved() {
		v.Conf.State, v.Conf.Claims = trust.Deleted, recorded(c, nil)
	}
	v.addDeleted(nil, nil)
	return v
}

// Gone is the view of what was a project, nearer to a folder than those that are one, and that has profiles which the
// user had allowed; nil where there is none.
func (h Home) Gone(dir string) *View {
	for dir, p := range h.Around(dir) {
		if p != nil {
			return nil
		}
		rec, err := h.Trust().Project(dir)
		if err != nil {
			return &View{Root: dir, RecordErr: err}
		}
		if rec == nil {
			continue
		}
		if v := lookGone(rec); slices.ContainsFunc(v.Profiles, func(p ProfileView) bool { return p.State == trust.Deleted }) {
			return v
		}
	}
	return nil
}

// lookConfig reads the project's config.toml.
func (h Home) lookConfig(v *View) {
	pv := &v.Conf
	pv.Path, pv.rec = filepath.Join(v.Project.Dir, "config.toml"), v.Record.ConfigRecord()
	v.Config = config.Load(pv.Path, true)
	switch verdict := v.Record.CheckConfig(v.Config.File); {
	case v.Config.Err != nil:
		pv.Err, pv.State = v.Config.Err, Broken
		v.Uncertain = append(v.Uncertain, pv.Err)
	case v.Project.Problem != nil && v.Config.File != nil:
		pv.State = Foreign
	default:
		pv.State = verdict.State
	}
	if v.Config.Config != nil {
		for _, kv := range v.Config.Config.Shims {
			for _, c := range claims([]string{kv.Key}, "always", pv.State == trust.Allowed) {
				c.Target = kv.Value
				pv.Claims = append(pv.Claims, c)
			}
		}
	}
	if pv.State != trust.Allowed {
		pv.Claims = recorded(pv.rec, pv.Claims)
	}
}

func (h Home) lookProfile(v *View, path string, unapproved *budget) ProfileView {
	rec := v.Record.Profile(path)
	pv := ProfileView{Name: strings.TrimSuffix(filepath.Base(path), ".toml"), Path: path, rec: rec}
	if h.byRecord(v, &pv) {
		return pv
	}
	loader := h.loader(v.Project)
	if rec == nil || !rec.WasApproved() {
		loader.Read = unapproved.reader(h.globalDir())
	}
	p, err := loader.Load(path, profile.Local)
	if err != nil {
		pv.broken(v, rec, err)
		v.Uncertain = append(v.Uncertain, err)
		pv.Claims = recorded(rec, v.scan(path, loader.Read))
		return pv
	}
	pv.Profile, pv.Verdict = p, h.Trust().Judge(v.Record, p, v.Config.File)
	pv.overrule(v)
	pv.Claims = claims(p.Commands(), p.When(), pv.State == trust.Allowed)
	if pv.State != trust.Allowed {
		pv.Claims = recorded(rec, pv.Claims)
	}
	return pv
}

// byRecord fills in the view of a profile for Wanted, which asks for words alone, and reports whether it has: those of
// the very bytes that were allowed are in the record. A file that may extend another one is loaded.
func (h Home) byRecord(v *View, pv *ProfileView) bool {
	if !v.words || pv.rec == nil || pv.rec.Decision != trust.Allowed || v.Project.Problem != nil || v.Conf.Err != nil {
		return false
	}
	file, err := profile.ReadFile(pv.Path)
	if err != nil || bytes.Contains(file.Data, []byte("extends")) || bytes.ContainsRune(file.Data, '\\') {
		return false
	}
	p := profile.Profile{Path: pv.Path, Scope: profile.Local, Files: []profile.File{file}}
	pv.Verdict = h.Trust().Judge(v.Record, &p, v.Config.File)
	pv.Claims = claims(pv.rec.Commands, pv.rec.ShimWhen, true)
	return pv.State == trust.Allowed && pv.Of == ""
}

// broken fills in the view of a profile that could not be loaded.
func (pv *ProfileView) broken(v *View, rec *trust.ProfileRecord, err error) {
	pv.Verdict = trust.Verdict{State: Broken, Err: err, File: pv.Path}
	switch {
	case v.Project.Problem != nil:
		pv.State, pv.Err, pv.File = Foreign, v.Project.Problem, v.Project.Dir
	case rec != nil && rec.Decision == trust.Denied:
		pv.State = trust.Denied
	}
	pv.Unread = errors.Is(err, errUnread)
}

// overrule puts what is wrong with the whole project in the place of the verdict on one profile.
func (pv *ProfileView) overrule(v *View) {
	switch {
	case v.RecordErr != nil:
		pv.State, pv.Err, pv.File, pv.Detail = trust.Unreadable, v.RecordErr, "", ""
	case v.Project.Problem != nil:
		// Read only to know what to refuse.
		pv.Profile, pv.State, pv.Err, pv.File = nil, Foreign, v.Project.Problem, v.Project.Dir
	case v.Conf.Err != nil && pv.State != trust.Untrusted && pv.State != trust.Denied:
		pv.State, pv.Err, pv.File = Broken, v.Conf.Err, v.Conf.Path
	}
}

// claims are those on words that a shim can have. What is not allowed guards no everyday tool.
func claims(words []string, when string, allowed bool) (list []Claim) {
	for _, word := range words {
		if profile.CheckCommand(word) == nil {
			list = append(list, Claim{word, when, "", allowed || !Everyday(word)})
		}
	}
	return list
}

// scan guesses what a file that cannot be used would claim. Such claims can only lead
// to a refusal.
func (v *View) scan(path string, read func(string) (profile.File, error)) []Claim {
	if read == nil {
		read = profile.ReadFile
	}
	file, err := read(path)
	if err != nil {
		v.Uncertain = append(v.Uncertain, err)
	}
	var words []string
	for _, word := range profile.ScanClaims(file.Data, filepath.Base(path)) {
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return claims(words, "always", false)
}

// recorded adds the claims of the version that was allowed last. They are guarded
// whatever they are called: the user relies on them. A denied profile is treated like
// one that was never allowed.
func recorded(rec *trust.ProfileRecord, now []Claim) []Claim {
	if rec == nil || !rec.WasApproved() {
		return now
	}
	return append(claims(rec.Commands, rec.ShimWhen, rec.Decision == trust.Allowed), now...)
}

// addDeleted adds the allowed profiles whose files are not there any more, or are not
// seen because listing them failed.
func (v *View) addDeleted(files []string, err error) {
	for _, r := range v.Record.All() {
		rec := &r
		if !rec.WasApproved() || slices.Contains(files, rec.Path) {
			continue
		}
		p := ProfileView{
			Name: rec.Name, Path: rec.Path, Claims: recorded(rec, nil), rec: rec,
			Verdict: trust.Verdict{State: trust.Deleted, File: rec.Path, Detail: "it is gone"},
		}
		switch {
		case rec.Decision == trust.Denied:
			p.State = trust.Denied
		case err != nil:
			p.State, p.Err, p.Detail = Broken, err, ""
		}
		v.Profiles = append(v.Profiles, p)
	}
}

// profile returns the profile of that name, also one that is gone.
func (v *View) profile(name string) *ProfileView {
	for i := range v.Profiles {
		if v.Profiles[i].Name == name {
			return &v.Profiles[i]
		}
	}
	return nil
}

// Trusted reports whether the user has allowed anything of the project as it is now.
func (v *View) Trusted() bool {
	if v.RecordErr != nil || v.Project == nil || v.Project.Problem != nil {
		return false
	}
	if v.Config.File != nil && v.Conf.State == trust.Allowed {
		return true
	}
	return slices.ContainsFunc(v.Profiles, func(p ProfileView) bool { return p.State == trust.Allowed })
}

// refusal says why a profile or the config.toml cannot be used, and the one thing to type.
func (v *View) refusal(p *ProfileView) (reason, hint string) {
	what, gone, look := fmt.Sprintf("profile %q of %q", p.Name, v.Root), "its file is gone", "inner profile validate "+quotePath(p.Name)
	if p.Name == "" {
		what, gone, look = fmt.Sprintf("config.toml of %q", v.Root), "is gone", "inner config edit --local"
	}
	switch p.State {
	case trust.Untrusted:
		return what + " is not allowed", "inner allow"
	case trust.Changed:
		reason = what + " changed since it was allowed"
		if p.Detail != "" && p.Detail != trust.OtherContent {
			return fmt.Sprintf("%s (%q: %s)", reason, v.short(p.File), p.Detail), "inner allow"
		} else if p.File != "" {
			reason += fmt.Sprintf(" (%q)", v.short(p.File))
		}
		return reason, "inner allow"
	case trust.Denied:
		if p.File != p.Path && p.File != "" {
			return fmt.Sprintf("%s is not used: %q was denied", what, v.short(p.File)), "inner allow"
		}
		return what + " was denied", "inner allow"
	case trust.Deleted:
		return what + " was allowed and " + gone, trust.PutBack(v.Root, cmp.Or(p.Path, filepath.Join(v.Root, ".inner/config.toml")))
	case Foreign:
		return what + " is not used: " + fault.First(v.Project.Problem), "inner status"
	case Broken:
		if v.ByConfig(p) {
			return v.refusal(&v.Conf)
		}
		return what + " is not valid: " + fault.First(p.Err), look
	}
	return what + " is " + string(p.State), "inner status"
}

// ByConfig reports whether a profile is only broken because the project's config.toml is.
func (v *View) ByConfig(p *ProfileView) bool {
	return p.Name != "" && p.State == Broken && v.Conf.Err != nil && p.File == v.Conf.Path
}

// short is a path as seen from the project.
func (v *View) short(path string) string {
	if rel, ok := strings.CutPrefix(path, strings.TrimSuffix(v.Root, "/")+"/"); ok {
		return rel
	}
	return path
}

// isThere reports whether a folder exists, or may: one that cannot be inspected counts.
func isThere(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrInvalid)
}
