// Command inner-attack is the attack suite: known attempts to get out of a box, each made
// first without a box and then in the box of a profile. `inner verify --attack` finds it
// beside the inner binary and runs it; it is a program of its own, so that inner itself
// holds no exploits.
//
//	inner-attack --build=VERSION --inner=PATH --profile=NAME [--only=NAME] [--jobs=N] [--json]
//
// The supervisor of its boxes is the inner binary at PATH, as in every run. A VERSION other
// than its own is refused: what holds in a box of one build says nothing about another. The
// scripts of its attacks start it again: with --box=SCRIPT it runs that in a box, and after the
// word __do it does what no word of a shell does.
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

// flags are what inner, or a script of the suite, asks for, and whose the homes are.
type flags struct {
	build, inner, name, only, box string // name: of the profile
	jobs                          int
	json                          bool
	home, innerHome               string
}

// suite is the attacks on the box of one profile.
type suite struct {
	*settings.Settings
	flags
	attack.Suite
	stdout io.Writer

	profile *profile.Profile
	context profile.Context // of the person, whose home and project no attack sees
	config  profile.RunConfig
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == attack.Word {
		os.Exit(attack.Do(os.Args[2:]))
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
	fl.StringVar(&f.box, "box", "", "")
	fl.IntVar(&f.jobs, "jobs", 0, "")
	fl.BoolVar(&f.json, "json", false, "")
	if err := fl.Parse(args); err != nil || f.inner == "" || fl.NArg() > 0 {
		return f, &fault.Refusal{Code: 2, Msg: "inner-attack is run by inner", Hint: "inner verify --attack"}
	}
	if f.build != version {
		return f, &fault.Refusal{Code: 125, Msg: "the attack suite is of the build " + version + ", and inner of " + f.build, Hint: "install both from the same build"}
	}
	f.home, f.innerHome, err = caller.Folders(os.Getenv)
	return f, err
}

// tryAll is the whole suite, or with --box one box of it, and returns the exit code.
func tryAll(args []string, stderr tell.Teller) (int, error) {
	f, err := parse(args)
	if err != nil {
		return 0, err
	}
	if f.box != "" {
		return inBox(f), nil
	}
	s := &suite{flags: f, stdout: tell.To(os.Stdout), Settings: settings.Of(callerOf(f, stderr))}
	if err := s.load(); err != nil {
		return 0, err
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
	if s.config, err = settings.Resolve(s.profile, s.context); err != nil {
		return err
	}
	s.Suite = attack.Suite{
		Build: version, Inner: s.inner, Profile: s.profile.Path, Furnish: s.furnish,
		Parts: attack.Parts{Zones: s.config.Zones, Keep: s.config.Keep},
	}
	s.Base, err = attackBase()
	return err
}
