// Command inner-attack is the attack suite: known attempts to get out of a box, each made
// first without a box and then in the box of a profile. `inner verify --attack` finds it
// beside the inner binary and runs it; it is a program of its own, so that inner itself
// holds no exploits.
//
//	inner-attack --build=VERSION --inner=PATH --profile=NAME [--only=NAME] [--jobs=N] [--json]
//
// The supervisor of its boxes is the inner binary at PATH, as in every run. A VERSION other
// than its own is refused: what holds in a box of one build says nothing about another. With
// --rows it reads names of attacks from standard input and prints a row of JSON for each, for
// the process of the suite that started it.
package main

import (
	"flag"
	"io"
	"os"
	"runtime"

	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/isolator/verify/attack"
	"github.com/enr/inner/profile"
)

// version is set by the build, as inner's.
var version = "dev"

// flags are what inner, or another process of the suite, asks for.
type flags struct {
	build, inner, name, only string // name: of the profile
	jobs                     int
	json, rows               bool
}

// suite is the attacks on the box of one profile.
type suite struct {
	*settings.Settings
	flags
	stdout io.Writer

	profile *profile.Profile
	context profile.Context // of the person, whose home and project no attack sees
	parts   attack.Parts
	base    string // the folder of fixtures
}

func main() {
	if attack.IsInside(os.Args) {
		os.Exit(attack.Inside(os.Args))
	}
	// A box dies with the thread that started it (prctl PR_SET_PDEATHSIG).
	runtime.LockOSThread()
	stderr := tell.Teller{To: tell.To(os.Stderr)}
	code, err := tryAll(os.Args[1:], stderr)
	if err != nil {
		stderr.Fail(err)
		code = fault.Code(err)
	}
	os.Exit(code)
}

// parse reads the flags.
func parse(args []string) (f flags, err error) {
	fl := flag.NewFlagSet("inner-attack", flag.ContinueOnError)
	fl.SetOutput(io.Discard)
	fl.StringVar(&f.build, "build", "", "")
	fl.StringVar(&f.inner, "inner", "", "")
	fl.StringVar(&f.name, "profile", "", "")
	fl.StringVar(&f.only, "only", "", "")
	fl.IntVar(&f.jobs, "jobs", 0, "")
	fl.BoolVar(&f.json, "json", false, "")
	fl.BoolVar(&f.rows, "rows", false, "")
	if err := fl.Parse(args); err != nil || f.inner == "" || fl.NArg() > 0 {
		return f, &fault.Refusal{Code: 2, Msg: "inner-attack is run by inner", Hint: "inner verify --attack"}
	}
	if f.build != version {
		return f, &fault.Refusal{Code: 125, Msg: "the attack suite is of the build " + version + ", and inner of " + f.build, Hint: "install both from the same build"}
	}
	return f, nil
}

// tryAll is the whole suite, or with --rows a part of it, and returns the exit code.
func tryAll(args []string, stderr tell.Teller) (int, error) {
	f, err := parse(args)
	if err != nil {
		return 0, err
	}
	home, inner, err := caller.Folders(os.Getenv)
	if err != nil {
		return 0, err
	}
	s := &suite{flags: f, stdout: tell.To(os.Stdout)}
	s.Settings = settings.Of(&caller.Caller{
		Home: home, InnerHome: inner, Environ: os.Environ(), Version: version, Exe: f.inner,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Teller: stderr,
	})
	if err := s.load(); err != nil {
		return 0, err
	}
	if f.rows {
		return 0, s.answer(os.Stdin)
	}
	return s.all()
}

// load reads the profile that a run would take.
func (s *suite) load() error {
	pl, err := s.Here()
	if err != nil {
		return err
	}
	if s.profile, err = s.Choose(s.name, pl); err != nil {
		return err
	}
	if s.context, err = s.Context(pl, profile.Overrides{}, false); err != nil {
		return err
	}
	rc, err := settings.Resolve(s.profile, s.context)
	if err != nil {
		return err
	}
	s.parts = attack.Parts{Zones: rc.Zones, Keep: rc.Keep}
	s.base, err = attackBase()
	return err
}
