package isolator

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/connect"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/procfs"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/isolator/session"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/isolator/why"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/config"
)

// mainCalled says that this process lets Main have the first word, so that it can be
// started again as the supervisor of a box.
var mainCalled bool // allowed: written once, by Main

// Main is the first line of the main function of a program that makes boxes: the program is
// started again as the supervisor of each box, and Main does not return there. In a normal
// process it does nothing and returns.
func Main() {
	switch {
	case launch.IsBox(os.Args):
		os.Exit(launch.Box())
	case launch.IsContainer(os.Args):
		os.Exit(launch.Container())
	case launch.IsOutside(os.Args):
		os.Exit(launch.Outside())
	case procfs.IsPart(os.Args):
		os.Exit(procfs.Part(os.Args))
	case connect.Is(os.Args):
		os.Exit(connect.Run(os.Args[1], os.Args[2]))
	}
	mainCalled = true
}

// Options say which profile, and where. Exactly one of Name, File, Role and TOML is set.
type Options struct {
	Name string // of a profile, as `inner run -p NAME`; one of a project has to be allowed
	File string // the path of one: the caller's own word, as `inner run -p ./FILE`
	Role string // of the table [roles] that is in force in Dir
	TOML []byte // the text of one, the caller's own word

	Dir     string // the folder it is about; "" is the current one
	Session string // calls share a /tmp and a working folder; "" for none

	// Inner is the path of an inner binary that is the supervisor of boxes, for a program that
	// cannot call Main first.
	Inner string
}

// Refusal says why a program did not start.
type Refusal struct {
	Kind string // "usage", "not_found", "not_trusted", "profile", "no_sandbox", "limits", "workdir", "timeout" or "backend"
	Code int    // the exit code of inner for it: 2, 124, 125, 126 or 127
	Msg  string
	Fix  string // what to type; "" when there is nothing
}

func (r *Refusal) Error() string { return r.Msg }

// refused is an error as a *Refusal.
func refused(err error) error {
	if err == nil {
		return nil
	}
	r := &Refusal{Kind: fault.KindOf(err), Code: fault.Code(err), Msg: err.Error()}
	if f := fault.AsRefusal(err); f != nil {
		r.Fix = f.Hint
	}
	return r
}

func usage(format string, args ...any) error {
	return &fault.Refusal{Code: 2, Kind: fault.KindUsage, Msg: fmt.Sprintf(format, args...)}
}

// Profile is a profile with everything it is resolved against, as it was when it was loaded.
// It does not change, and may be used by several goroutines.
type Profile struct {
	caller   *caller.Caller
	settings *settings.Settings // nobody reads more with these: each call has its own, see With
	profile  *profile.Profile
	context  profile.Context
	spec     profile.RunConfig
	by       runlog.By
	place    settings.Place
	commands config.Commands // [commands] in force
	session  string
	from     []string // how `inner exec` is told the profile; nil for one from a text
}

// Load loads a profile, and refuses one that would not run: that is not allowed, grants more
// than was allowed, or is not valid. It starts no process. The error is a *Refusal.
func Load(ctx context.Context, o Options) (*Profile, error) {
	p, err := load(o)
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return nil, refused(err)
	}
	return p, nil
}

func load(o Options) (*Profile, error) {
	set := 0
	for _, there := range []bool{o.Name != "", o.File != "", o.Role != "", o.TOML != nil} {
		if there {
			set++
		}
	}
	switch {
	case set != 1:
		return nil, usage("exactly one of Name, File, Role and TOML says which profile")
	case o.Inner == "" && !mainCalled:
		return nil, &fault.Refusal{Code: 2, Kind: fault.KindUsage, Msg: "isolator.Main was not called in this process", Hint: "call isolator.Main() first in main, or set Options.Inner to the path of inner"}
	case o.Inner != "" && !filepath.IsAbs(o.Inner):
		return nil, usage("Inner %q is not an absolute path", o.Inner)
	}
	if o.Session != "" {
		if err := (session.Key{ID: o.Session}).Check(); err != nil {
			return nil, err
		}
	}
	home, inner, err := caller.Folders(os.Getenv)
	if err != nil {
		return nil, &fault.Refusal{Code: 125, Msg: err.Error()}
	}
	notes := new(caller.Notes)
	p := &Profile{caller: &caller.Caller{Home: home, InnerHome: inner, Environ: os.Environ(), Exe: o.Inner, Teller: notes}, session: o.Session}
	p.settings = settings.Of(p.caller)
	dir, err := filepath.Abs(cmp.Or(o.Dir, "."))
	if err != nil {
		return nil, err
	}
	if p.place, err = p.settings.At(dir); err != nil {
		return nil, err
	}
	if err := p.choose(o); err != nil {
		return nil, err
	}
	if p.commands, err = p.settings.Commands(p.place); err != nil {
		return nil, err
	}
	return p, p.resolve()
}

// resolve completes a profile that was chosen.
func (p *Profile) resolve() (err error) {
	if p.context, err = p.settings.Context(p.place, profile.Overrides{Interactive: new(bool)}, false); err != nil {
		return err
	}
	if p.spec, err = settings.Resolve(p.profile, p.context); err != nil {
		return err
	}
	return p.settings.AsAllowed(p.profile, p.context, p.spec)
}

// commanded is the profile that a command runs in: another one where [commands] says so.
// With variables of the caller's a name can mean another program, and has none.
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
	if other.profile, err = other.settings.Choose(name, p.place); err != nil {
		return nil, err
	}
	return &other, other.resolve()
}

// choose loads the profile that the options name.
func (p *Profile) choose(o Options) (err error) {
	switch name := o.Name; {
	case o.TOML != nil:
		file := profile.File{Path: filepath.Join(p.place.Cwd, "Options.TOML"), Data: slices.Clone(o.TOML)}
		p.profile, err = p.settings.Loader(p.place).LoadBytes(file, profile.Direct)
		return err
	case o.File != "":
		if name, err = filepath.Abs(o.File); err != nil {
			return err
		}
		p.from = []string{"-p", name}
		p.profile, err = p.settings.Choose(name, p.place)
		return err
	case o.Role != "":
		role, err := p.settings.RoleOf(o.Role, p.place)
		if err != nil {
			return err
		}
		p.by, name, p.from = role.By("", o.Session), role.Profile, []string{"--as", o.Role}
		p.profile, err = p.settings.Choose(name, p.place)
		return err
	default:
		if profile.CheckName(name) != nil {
			return usage("Name %q is not the name of a profile: File takes a path", name)
		}
		p.from = []string{"-p", name}
		p.profile, err = p.settings.Choose(name, p.place)
		return err
	}
}

// Name is that of the profile.
func (p *Profile) Name() string { return p.profile.Name }

// Place is what the box has of a path of the host.
type Place struct {
	Box    string // the path in the box, links resolved as there; "" when it has none
	Access string // "rw", "ro", "hidden", "absent" or "outside"
	Key    string // of the profile language that decides, or of the table of resources
	From   string // FILE:LINE that says so, or in words where no file does
}

// Classify says what the box has of a path of the host, as `inner why` does. It looks at the
// host anew, and makes nothing. The error is a *Refusal: the box would not start.
func (p *Profile) Classify(host string) (Place, error) {
	if !filepath.IsAbs(host) {
		host = filepath.Join(p.place.Cwd, host)
	}
	b, err := Show(p.settings.With(p.caller), p.callOf(), false)
	if err != nil {
		return Place{}, refused(err)
	}
	a := b.Why().Path(filepath.Clean(host))
	box := a.Box
	if a.Access == why.Absent || a.Access == why.Outside {
		box = ""
	}
	return Place{Box: box, Access: string(a.Access), Key: a.Key, From: a.From}, nil
}

// Args returns the words of a command that runs argv in a box of the profile, for a program
// that starts processes in a way of its own: `inner exec` and its arguments. The words have
// everything that Command does, and read the profile again. dir is the folder it is about, on
// the host; "" is that of Load. The error is a *Refusal.
func (p *Profile) Args(dir string, argv ...string) ([]string, error) {
	if len(argv) == 0 || argv[0] == "" {
		return nil, refused(usage("argv is empty"))
	}
	if dir == "" {
		dir = p.place.Cwd
	}
	at, err := p.settings.With(p.caller).At(dir)
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
	if p.from == nil {
		return nil, refused(usage("another process cannot be told a profile that was loaded from Options.TOML: use Options.File"))
	}
	if p.session != "" {
		words = append(words, "--session", p.session)
	}
	return append(append(words, "-C", at.Cwd, "--"), argv...), nil
}

func (p *Profile) callOf() Call {
	return Call{Profile: p.profile, Context: p.context, Word: "library", By: p.by}
}
