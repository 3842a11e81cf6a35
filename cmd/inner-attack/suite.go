package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/verify/attack"
)

// attackTime is how long one attack may take.
const attackTime = 10 * time.Second

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

// all tries the escape suite on a profile's sandbox and returns the exit code. The
// attacks of one process come one after the other: a run has the process's signals and
// environment to itself. So there is a process for each processor.
func (s *suite) all() (int, error) {
	attack.Sweep(s.base)
	if err := s.attackable(); err != nil {
		return 0, err
	}
	names := s.names()
	if len(names) == 0 {
		return 0, unknown(s.only)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	r := report{Profile: s.profile.Name}
	sig, err := work(names, min(cmp.Or(s.jobs, runtime.NumCPU()), len(names)), stop, func(row row) {
		r.count(row)
		if !s.json {
			s.print(row)
		}
	})
	switch {
	case err != nil:
		return 0, &fault.Refusal{Code: 125, Msg: "the attacks cannot be tried: " + err.Error()}
	case sig != nil:
		s.Say("stopped by %v", sig)
		return 128 + int(sig.(syscall.Signal)), nil
	}
	code := 0
	if r.Leaked > 0 {
		code = 1
	}
	return code, s.told(r)
}

// names are those of the attacks that were asked for.
func (s *suite) names() (names []string) {
	for _, at := range attack.List() {
		if s.only == "" || at.Name == s.only {
			names = append(names, at.Name)
		}
	}
	return names
}

// told ends the output: with --json it is all of it.
func (s *suite) told(r report) error {
	if s.json {
		return tell.JSON(s.stdout, r)
	}
	_, err := fmt.Fprintf(s.stdout, "\n%d attacks, %d live here: %d held, %d declared, %d leaked\n", len(r.Attacks), r.Live, r.Held, r.Given, r.Leaked)
	return err
}

func unknown(name string) error {
	return &fault.Refusal{Code: 2, Msg: fmt.Sprintf("no attack is called %q", name), Hint: "inner verify --help"}
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

// answer tries the attacks whose names come in, a line each, and answers
// each by a row of JSON.
func (s *suite) answer(list io.Reader) error {
	// A run catches signals for good; whoever sends the names ends it.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	out := json.NewEncoder(tell.Raw(s.stdout)) // what makes text visible would break the JSON
	in := bufio.NewScanner(list)
	for in.Scan() {
		at, ok := attack.Find(in.Text())
		if !ok {
			return unknown(in.Text())
		}
		if err := out.Encode(s.one(at)); err != nil {
			return err
		}
	}
	return in.Err()
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
