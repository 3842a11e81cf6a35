package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/isolator/verify/attack"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/registry"
)

// attackTime is how long one attack may take.
const attackTime = 10 * time.Second

// attackRow is one attack and how it went.
type attackRow struct {
	Name   string `json:"name"`
	Class  string `json:"class"`
	What   string `json:"what"`
	Live   bool   `json:"live"`             // it works here, bare
	Result string `json:"result"`           // "held", "leaked", "declared", "not live", "unknown"
	Detail string `json:"detail,omitempty"` // what leaked, what declares it, or why not
}

// bad reports whether the row makes the profile fail.
func (r attackRow) bad() bool { return r.Result == "leaked" || r.Result == "unknown" }

type attackReport struct {
	Profile string      `json:"profile"`
	Live    int         `json:"live"`
	Held    int         `json:"held"`
	Leaked  int         `json:"leaked"` // undeclared, those that could not be told included
	Given   int         `json:"declared"`
	Attacks []attackRow `json:"attacks"`
}

// attackAll tries the escape suite on a profile's sandbox. The attacks of one
// process come one after the other: a run has the process's signals and
// environment to itself. So there is a process for each processor.
func (a *app) attackAll(p *profile.Profile, c profile.Context, f verifyFlags) error {
	cache, err := attackBase()
	if err != nil {
		return err
	}
	if f.rows {
		return a.attackRows(p, c, cache)
	}
	attack.Sweep(cache)
	known, err := a.attackRegistries(p, c) // its processes find the answers
	if err != nil {
		return err
	}
	if err := a.attackable(p, c, cache, known); err != nil {
		return err
	}
	var names []string
	for _, at := range attack.List() {
		if f.only == "" || at.Name == f.only {
			names = append(names, at.Name)
		}
	}
	if len(names) == 0 {
		return usagef("no attack is called %q", f.only)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	jobs := f.jobs
	if jobs == 0 {
		jobs = runtime.NumCPU()
	}
	report := attackReport{Profile: p.Name}
	sig, err := attackers(names, min(jobs, len(names)), p, f, stop, func(row attackRow) {
		report.count(row)
		if !f.json {
			a.printAttack(row)
		}
	})
	switch {
	case err != nil:
		return &fault.Refusal{Code: 125, Msg: "the attacks cannot be tried: " + err.Error()}
	case sig != nil:
		a.say("stopped by %v", sig)
		return exit(128 + int(sig.(syscall.Signal)))
	case f.json:
		if err := a.printJSON(report); err != nil {
			return err
		}
	default:
		fmt.Fprintf(a.stdout, "\n%d attacks, %d live here: %d held, %d declared, %d leaked\n", len(report.Attacks), report.Live, report.Held, report.Given, report.Leaked)
	}
	if report.Leaked > 0 {
		return exit(1)
	}
	return nil
}

func (r *attackReport) count(row attackRow) {
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

// attackRows tries the attacks whose names come in, a line each, and answers
// each by a row of JSON.
func (a *app) attackRows(p *profile.Profile, c profile.Context, cache string) error {
	// A run catches signals for good; whoever sends the names ends it.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	known, err := a.attackRegistries(p, c)
	if err != nil {
		return err
	}
	out := json.NewEncoder(a.stdout)
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		at, ok := attack.Find(in.Text())
		if !ok {
			return usagef("no attack is called %q", in.Text())
		}
		if err := out.Encode(a.attackOne(at, p, c, cache, known)); err != nil {
			return err
		}
	}
	return in.Err()
}

// attackRegistries has the package managers asked that the profile's groups name,
// once: in the home of a scene they would say the same.
func (a *app) attackRegistries(p *profile.Profile, c profile.Context) (map[string]registry.Told, error) {
	rc, err := settings.Resolve(p, c)
	if err != nil {
		return nil, err
	}
	return features.Registries(a.Settings, p, c, rc)
}

func (a *app) printAttack(r attackRow) {
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
	fmt.Fprintf(a.stdout, "%s %-9s %-26s %s\n", paint(a.stdout, code, mark), r.Result, printable(r.Name), printable(text))
}

// attackBase is where scenes are made: private, and not where a box has a
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
