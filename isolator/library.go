// Package isolator runs programs in boxes, for other Go programs:
//
//	isolator.Main() // first in main
//	p, err := isolator.Load(ctx, isolator.Options{Name: "tools"})
//	result, err := p.Command(ctx, "make", "test").Run()
//
// What a run is made of is package run; here is what callers of tools need besides: profiles by name, file or
// role, values for the standard streams, and sessions.
package isolator

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/container"
	"github.com/enr/inner/isolator/roles"
	"github.com/enr/inner/isolator/run"
	"github.com/enr/inner/isolator/session"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/isolator/why"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/config"
	"github.com/enr/inner/profile/strict"
)

// mainCalled says that this process called Main, so it can be started again as the supervisor
// of a box.
var mainCalled bool // allowed: written once, by Main

// Main must be the first call in the main function of a program that makes boxes. The program is
// started again as the supervisor of each box, and there Main does not return. In a normal
// process it returns at once.
func Main() {
	if isKeeper(os.Args) {
		os.Exit(keepBox())
	}
	if container.IsInside(os.Args) {
		os.Exit(container.Inside())
	}
	run.Main(container.Backend)
	mainCalled = true
}

// library is the word of a command that was not typed, for the record.
const library = "library"

// Options say which profile, and where. Exactly one of Name, File, Role and TOML is set.
type Options struct {
	Name string // the name of a profile, as in `inner run -p NAME`; a project's must be allowed
	File string // the path of a profile, as in `inner run -p ./FILE`: needs no permission
	Role string // a role of the table [roles] that is in force in Dir; AsRole says that it counts, also when it is ""
	TOML []byte // the text of a profile: needs no permission

	AsRole bool

	Dir     string // the working folder, on the host; "" is the current one
	Session string // the session whose /tmp and last folder the calls share; "" for none

	// Inner is the absolute path of an inner binary that supervises the boxes, for a program
	// that cannot call Main first.
	Inner string
}

// Refusal says why a program did not start: what is wrong, what to type, and the exit code of inner for it. Its
// Kind is one of those of `inner exec --json`.
type Refusal = fault.Refusal

// refused turns an error into a *Refusal.
func refused(err error) error {
	if err == nil {
		return nil
	}
	r := &Refusal{Kind: fault.KindOf(err), Code: fault.Code(err), Msg: err.Error()}
	if f := fault.AsRefusal(err); f != nil {
		r.Hint = f.Hint
		return r
	}
	r.Msg, _, _ = strings.Cut(r.Msg, "\n")
	r.Hint = cmp.Or(fault.Room(err), "inner profile validate")
	if _, unknown := errors.AsType[*profile.NotFoundError](err); unknown {
		r.Hint = "inner profile list"
	}
	if problems, many := errors.AsType[strict.Problems](err); many && len(problems) > 0 {
		r.Hint = "edit " + problems[0].File
	}
	return r
}

// Profile is a profile with everything it is resolved against, as it was when it was loaded.
// It does not change, and may be used by several goroutines.
type Profile struct {
	caller  *caller.Caller
	word    string // that was typed, for the record
	session string
	from    []string // the flags that name the profile to `inner exec`; nil for Options.TOML

	settings *settings.Settings
	place    settings.Place
	commands config.Commands // [commands] in force
	role     roles.Role      // the zero value without one
	profile  *profile.Profile
	context  profile.Context
	spec     profile.RunConfig
}

// Load loads a profile. It refuses one that would not run because it is not allowed, grants more
// than was allowed, or is not valid. It starts no process. The error is a *Refusal.
func Load(ctx context.Context, o Options) (*Profile, error) {
	home, inner, err := caller.Folders(os.Getenv)
	if err != nil {
		err = &fault.Refusal{Code: 125, Msg: err.Error()}
	}
	if err = cmp.Or(o.check(), err, ctx.Err()); err == nil {
		o.Dir, err = filepath.Abs(cmp.Or(o.Dir, "."))
	}
	if err == nil && o.File != "" {
		o.File, err = filepath.Abs(o.File)
	}
	if err != nil {
		return nil, refused(err)
	}
	p, err := LoadFor(&caller.Caller{Home: home, InnerHome: inner, Environ: os.Environ(), Exe: o.Inner, Teller: new(Notes)}, library, o)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// LoadFor is Load for a caller that is known: nothing is read of this process. word is what was typed, for
// the record. The profile that comes with
// an error says no more than its name and role, as far as they are known.
func LoadFor(who *caller.Caller, word string, o Options) (p *Profile, err error) {
	p = &Profile{caller: who, settings: settings.Of(who), word: word, session: o.Session, from: []string{"-p", cmp.Or(o.File, o.Name)}}
	switch {
	case o.Role != "" || o.AsRole:
		p.from = []string{"--as", o.Role}
	case o.TOML != nil:
		p.from = nil
	}
	return p, refused(p.load(o))
}

// load loads the profile, and refuses one that would not run because it is not allowed, grants more than was
// allowed, or is not valid.
func (p *Profile) load(o Options) (err error) {
	if p.place, err = p.settings.At(o.Dir); err != nil {
		return err
	}
	chosen, err := p.choose(o)
	if err != nil {
		return err
	}
	if p.commands, err = p.settings.Commands(p.place); err != nil {
		return err
	}
	return p.resolve(chosen)
}

// resolve resolves what was chosen, and checks that it is allowed as it is.
func (p *Profile) resolve(chosen *profile.Profile) (err error) {
	p.profile = chosen
	if p.context, err = p.settings.Context(p.place, profile.Overrides{Interactive: new(bool)}, false); err != nil {
		return err
	}
	if p.spec, err = settings.Resolve(chosen, p.context); err != nil {
		return err
	}
	return p.settings.AsAllowed(chosen, p.context, p.spec)
}

// check refuses options that do not go together.
func (o Options) check() error {
	set := 0
	for _, there := range []bool{o.Name != "", o.File != "", o.Role != "" || o.AsRole, o.TOML != nil} {
		if there {
			set++
		}
	}
	switch {
	case set != 1:
		return fault.Refuse(2, "", "exactly one of Name, File, Role and TOML says which profile")
	case o.Inner == "" && !mainCalled:
		return fault.Refuse(2, "call isolator.Main() first in main, or set Options.Inner to the path of inner",
			"isolator.Main was not called in this process")
	case o.Inner != "" && !filepath.IsAbs(o.Inner):
		return fault.Refuse(2, "", "Inner %q is not an absolute path", o.Inner)
	case o.Session != "":
		return session.Key{ID: o.Session}.Check()
	}
	return nil
}

// choose loads the profile that the options name.
func (p *Profile) choose(o Options) (chosen *profile.Profile, err error) {
	name := o.Name
	switch {
	case o.TOML != nil:
		return p.settings.Loader(p.place).LoadBytes(profile.File{Path: filepath.Join(p.place.Cwd, "Options.TOML"), Data: slices.Clone(o.TOML)}, profile.Direct)
	case o.File != "":
		name = o.File
	case o.Role != "" || o.AsRole:
		if p.role, err = roles.Of(p.settings, o.Role, p.place); err != nil {
			return nil, err
		}
		name = p.role.Profile
	case profile.CheckName(name) != nil:
		return nil, fault.Refuse(2, "", "Name %q is not the name of a profile: File takes a path", name)
	}
	return p.settings.Choose(name, p.place)
}

// commanded returns the profile that a command runs in: another one where [commands] says so. The table does
// not count for a call with variables of its own: with those, a name can mean another program.
func (p *Profile) commanded(c *Cmd) (*Profile, error) {
	table := p.commands
	if len(c.Env) > 0 {
		table.Profiles = nil
	}
	name, err := settings.Commanded(table, c.Argv, c.Line)
	if err != nil || name == "" {
		return p, err
	}
	other := *p
	other.settings = p.settings.With(p.caller)
	chosen, err := other.settings.Choose(name, p.place)
	if err != nil {
		return nil, err
	}
	if err := other.resolve(chosen); err != nil {
		return nil, err
	}
	if gives, err := settings.Gives(other.commands, other.role.Name, p.spec, other.spec); !gives {
		return p, err
	}
	return &other, nil
}

// Name returns the name of the profile, and Role that of its role; "" without one.
func (p *Profile) Name() string {
	if p.profile == nil {
		return ""
	}
	return p.profile.Name
}

// Path is the file of the profile.
func (p *Profile) Path() string {
	if p.profile == nil {
		return ""
	}
	return p.profile.Path
}

// Role is documented at Name.
func (p *Profile) Role() string { return p.role.Name }

// MaxOutput is how many bytes of each output the profile lets a caller keep.
func (p *Profile) MaxOutput() int64 {
	return cmp.Or(p.spec.Output.MaxOutput, profile.DefaultMaxOutput)
}

// Place says what the box has at a path of the host.
type Place struct {
	Box    string // the path in the box, with links resolved there; "" when it has none
	Access string // "rw", "ro", "hidden", "absent" or "outside"
	Key    string // the deciding key of the profile language, or of the table of resources
	From   string // where that is written, FILE:LINE, or in words where no file says it
}

// Classify says what the box has at a path of the host, as `inner why` does. It looks at the
// host again, and creates nothing. The error is a *Refusal: the box would not start.
func (p *Profile) Classify(host string) (Place, error) {
	if !filepath.IsAbs(host) {
		host = filepath.Join(p.place.Cwd, host)
	}
	t, err := p.Table()
	if err != nil {
		return Place{}, err
	}
	a := t.Path(filepath.Clean(host))
	box := a.Box
	if a.Access == why.Absent || a.Access == why.Outside {
		box = ""
	}
	return Place{Box: box, Access: string(a.Access), Key: a.Key, From: a.From}, nil
}

// Table is what the box has of the host, for Classify and for who asks more. The program of the profile need
// not be there.
func (p *Profile) Table() (*why.Table, error) {
	c := p.context
	c.Overrides.Entrypoint = "/bin/sh"
	b, err := run.Show(p.settings.With(p.caller),
		run.Call{Profile: p.profile, Context: c, Word: p.word, By: p.role.By("", p.session)}, false)
	if err != nil {
		return nil, refused(err)
	}
	return why.Of(b), nil
}

// Dir is the folder that the profile was loaded for, with no link in it.
func (p *Profile) Dir() string { return p.place.Cwd }

// OwnsGit reports whether a box may make and change repositories as it likes.
func (p *Profile) OwnsGit() bool { return p.spec.GitDir == "rw" }

// Session opens the session of the profile, which the caller closes.
func (p *Profile) Session() (*session.Session, error) {
	key := session.Key{ID: p.session, Project: cmp.Or(p.place.Root(), p.place.Cwd), Profile: p.profile.Path}
	return session.Open(p.caller.SessionsDir(), key)
}

// Args returns a command line that runs argv in a box of the profile, for a program that starts
// processes in its own way: `inner exec` and its arguments. It does everything that Command does,
// but reads the profile again. dir is the working folder, on the host; "" is that of Load. The
// error is a *Refusal.
func (p *Profile) Args(dir string, argv ...string) ([]string, error) {
	switch {
	case len(argv) == 0 || argv[0] == "":
		return nil, refused(fault.Refuse(2, "", "argv is empty"))
	case p.from == nil:
		return nil, refused(fault.Refuse(2, "",
			"Options.TOML cannot be passed to another process: use Options.File"))
	}
	at, err := p.settings.With(p.caller).At(cmp.Or(dir, p.place.Cwd))
	if err != nil {
		return nil, refused(err)
	}
	program := p.caller.Exe
	if program == "" {
		if program, err = exec.LookPath("inner"); err != nil {
			return nil, refused(&fault.Refusal{Code: 127, Kind: fault.KindNotFound, Msg: "inner is not on PATH", Hint: "make install, or set Options.Inner"})
		}
	}
	words := append([]string{program, "exec"}, p.from...)
	if p.session != "" {
		words = append(words, "--session", p.session)
	}
	return append(append(words, "-C", at.Cwd, "--"), argv...), nil
}
