package main

// inner verify --attack: known attempts to get out of a box, each made first without a box and then in the
// box of a profile. The supervisor of its boxes is the inner binary, as in every run. The scripts of its
// attacks start this program again: with attack.BoxWord for a box, and with attack.Word for what no word
// of a shell does.

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/isolator/verify/attack"
	"github.com/enr/inner/profile"
)

// row is one attack and how it went.
type row struct {
	Name   string `json:"name"`
	Class  string `json:"class"`
	What   string `json:"what"`
	Live   bool   `json:"live"`             // it works here, bare
	Result string `json:"result"`           // "held", "leaked", "declared", "not live", "unknown"
	Detail string `json:"detail,omitempty"` // what leaked, what declares it, or why not
}

// bad reports whether the row makes the profile fail.
func (r row) bad() bool { return r.Result == "leaked" || r.Result == "unknown" }

type report struct {
	Profile string `json:"profile"`
	Live    int    `json:"live"`
	Held    int    `json:"held"`
	Leaked  int    `json:"leaked"` // undeclared leaks, and attacks whose result is unknown
	Given   int    `json:"declared"`
	Attacks []row  `json:"attacks"`
}

// suite is the attacks on the box of one profile.
type suite struct {
	*app
	verifyFlags
	attack.Suite

	profile *profile.Profile
	context profile.Context // of the person, whose home and project no attack sees
	config  profile.RunConfig
}

// attack is the whole suite.
func (a *app) attack(p *profile.Profile, c profile.Context, f verifyFlags) error {
	rc, err := settings.Resolve(p, c)
	if err != nil {
		return err
	}
	base, err := attackBase()
	if err != nil {
		return err
	}
	s := &suite{app: a, verifyFlags: f, profile: p, context: c, config: rc}
	s.Suite = attack.Suite{
		Base: base, Build: version, Inner: a.Inner, Profile: p.Path, Furnish: s.furnish,
		Parts: attack.Parts{Zones: rc.Zones, Keep: rc.Keep},
	}
	return s.all()
}

// all tries the escape suite on a profile's sandbox, some attacks at a time. A signal ends it between
// two attacks.
func (s *suite) all() error {
	attack.Sweep(s.Base)
	// A suite whose every box would be refused tells nothing.
	if _, err := s.Try(attack.Attack{Try: ":", Host: `box "$TRY"`}, false); fault.AsRefusal(err) != nil {
		refused := *fault.AsRefusal(err)
		refused.Msg = fmt.Sprintf("the profile %q is refused here, so there is nothing to attack: %s", s.profile.Name, refused.Msg)
		return &refused
	}
	list := attack.List()
	if s.only != "" {
		one, ok := attack.Find(s.only)
		if !ok {
			return fault.Refuse(2, "inner verify --help", "no attack is called %q", s.only)
		}
		list = []attack.Attack{one}
	}
	ctx, end := features.Interruptible(nil)
	defer end()
	r := report{Profile: s.profile.Name}
	for one := range s.work(ctx, list) {
		result := <-one // also of those that a signal finds under way: what they made is taken away
		if r.count(result); !s.json && ctx.Err() == nil {
			s.print(result)
		}
	}
	if ctx.Err() != nil {
		s.Say("stopped: %v", context.Cause(ctx))
		return cli.Exit(cli.SignalCode(ctx))
	}
	if s.json {
		if err := s.PrintJSON(r); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(s.Out, "\n%d attacks, %d live here: %d held, %d declared, %d leaked\n",
			len(r.Attacks), r.Live, r.Held, r.Given, r.Leaked)
	}
	return cli.ExitCode(cli.OneIf(r.Leaked > 0))
}

// work tries attacks side by side until ctx is done, and gives their results in order.
func (s *suite) work(ctx context.Context, list []attack.Attack) <-chan chan row {
	results := make(chan chan row, cmp.Or(s.jobs, runtime.NumCPU())-1) // and one is waited for
	go func() {
		defer close(results)
		for _, at := range list {
			one := make(chan row, 1)
			select {
			case results <- one:
			case <-ctx.Done():
				return
			}
			go func() {
				runtime.LockOSThread() // which its processes die with
				defer runtime.UnlockOSThread()
				one <- s.one(at)
			}()
		}
	}()
	return results
}

// one tries one attack, bare and then in the box, each in a new fixture.
func (s *suite) one(at attack.Attack) row {
	r := row{Name: at.Name, Class: at.Class, What: at.What, Result: "not live"}
	leak, err := s.Try(at, true)
	if leak == "" { // for instance because the kernel lacks what it uses
		r.Detail = "it fails outside a box, too"
		if err != nil && err.Error() != "" {
			r.Detail += ": " + fault.First(err)
		}
		return r
	}
	r.Live = true
	for range 2 { // a machine that is too busy for a box may have time for the next
		if leak, err = s.Try(at, false); leak != "" || err == nil {
			break
		}
	}
	declared := at.Declared(s.config)
	switch {
	case leak != "" && declared != "":
		r.Result, r.Detail = "declared", declared
	case leak != "":
		r.Result, r.Detail = "leaked", leak
	case at.Refusable && fault.AsRefusal(err) != nil:
		r.Result, r.Detail = "held", "the run is refused: "+fault.First(err)
	case err != nil:
		r.Result, r.Detail = "unknown", fault.First(err)
	default:
		r.Result = "held"
	}
	return r
}

func (r *report) count(row row) {
	r.Attacks = append(r.Attacks, row)
	if row.Live {
		r.Live++
	}
	switch {
	case row.bad():
		r.Leaked++
	case row.Result == "declared":
		r.Given++
	case row.Result == "held":
		r.Held++
	}
}

func (s *suite) print(r row) {
	mark := s.mark(r.Result == "leaked", r.Result == "unknown", r.Result == "held")
	fmt.Fprintf(s.Out, "%s %-9s %-26s %s\n", mark, r.Result, visible.Text(r.Name),
		visible.Text(withDetail(r.What, r.Detail)))
}

// attackBase is where fixtures are made: private, and not where a box has a
// folder of its own.
func attackBase() (string, error) {
	dir, err := os.UserCacheDir()
	if err == nil {
		dir = filepath.Join(dir, "inner")
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", fault.Refuse(125, "", "there is no place for the attacks: %v", err)
	}
	if len(dir) > attack.MaxBase {
		return "", fault.Refuse(125, "set XDG_CACHE_HOME",
			"the cache folder %q has a path of more than %d bytes, too long for the names of sockets", dir, attack.MaxBase)
	}
	for _, tmp := range []string{"/tmp", "/var/tmp", "/run", "/dev/shm"} {
		if paths.Below(tmp, dir) {
			return "", fault.Refuse(125, "set XDG_CACHE_HOME",
				"the cache folder %q is below %s, of which a box has its own", dir, tmp)
		}
	}
	return dir, nil
}
