package main

import (
	"cmp"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/verify/attack"
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

// all tries the escape suite on a profile's sandbox, some attacks at a time, and returns the
// exit code. A signal ends it between two attacks.
func (s *suite) all() (int, error) {
	attack.Sweep(s.Base)
	// A suite whose every box would be refused tells nothing.
	if _, err := s.Try(attack.Attack{Try: ":", Host: `box "$TRY"`}, false); fault.AsRefusal(err) != nil {
		refused := *fault.AsRefusal(err)
		refused.Msg = fmt.Sprintf("the profile %q is refused here, so there is nothing to attack: %s", s.profile.Name, refused.Msg)
		return 0, &refused
	}
	list := attack.List()
	if s.only != "" {
		one, ok := attack.Find(s.only)
		if !ok {
			return 0, &fault.Refusal{Code: 2, Msg: fmt.Sprintf("no attack is called %q", s.only), Hint: "inner verify --help"}
		}
		list = []attack.Attack{one}
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	r := report{Profile: s.profile.Name}
	end := make(chan struct{})
	results := s.work(list, end)
	for one := range results {
		select {
		case result := <-one:
			r.count(result)
			if !s.json {
				s.print(result)
			}
		case sig := <-stop:
			close(end)
			<-one
			for one := range results { // what they made is taken away
				<-one
			}
			s.Say("stopped by %v", sig)
			return 128 + int(sig.(syscall.Signal)), nil
		}
	}
	code := 0
	if r.Leaked > 0 {
		code = 1
	}
	return code, s.told(r)
}

// work tries attacks side by side until the end, and gives their results in order.
func (s *suite) work(list []attack.Attack, end <-chan struct{}) <-chan chan row {
	results := make(chan chan row, cmp.Or(s.jobs, runtime.NumCPU())-1) // and one is waited for
	go func() {
		defer close(results)
		for _, at := range list {
			one := make(chan row, 1)
			select {
			case results <- one:
			case <-end:
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
			r.Detail += ": " + firstLine(err)
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
		r.Result, r.Detail = "held", "the run is refused: "+firstLine(err)
	case err != nil:
		r.Result, r.Detail = "unknown", firstLine(err)
	default:
		r.Result = "held"
	}
	return r
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// told ends the output: with --json it is all of it.
func (s *suite) told(r report) error {
	if s.json {
		return tell.JSON(s.stdout, r)
	}
	_, err := fmt.Fprintf(s.stdout, "\n%d attacks, %d live here: %d held, %d declared, %d leaked\n", len(r.Attacks), r.Live, r.Held, r.Given, r.Leaked)
	return err
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
	mark, code := "[ok]", "32"
	switch {
	case r.Result == "leaked":
		mark, code = "[!!]", "31"
	case r.Result == "unknown":
		mark, code = "[??]", "31"
	case r.Result != "held":
		mark, code = "[--]", "33"
	}
	text := r.What
	if r.Detail != "" {
		text += ": " + r.Detail
	}
	fmt.Fprintf(s.stdout, "%s %-9s %-26s %s\n", tell.Paint(s.stdout, code, mark), r.Result, visible.Text(r.Name), visible.Text(text))
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
		return "", &fault.Refusal{Code: 125, Msg: "there is no place for the attacks: " + err.Error()}
	}
	if len(dir) > attack.MaxBase {
		return "", &fault.Refusal{Code: 125, Msg: fmt.Sprintf("the cache folder %q has a path of more than %d bytes, too long for the names of sockets", dir, attack.MaxBase), Hint: "set XDG_CACHE_HOME"}
	}
	for _, tmp := range []string{"/tmp", "/var/tmp", "/run", "/dev/shm"} {
		if paths.Below(tmp, dir) {
			return "", &fault.Refusal{Code: 125, Msg: fmt.Sprintf("the cache folder %q is below %s, of which a box has its own", dir, tmp), Hint: "set XDG_CACHE_HOME"}
		}
	}
	return dir, nil
}
