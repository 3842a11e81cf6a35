package main

import (
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/config"
	"github.com/enr/inner/profile/trust"
	"github.com/enr/inner/shims"
	"golang.org/x/sys/unix"
)

// shim is a call of a command through its shim: decide, then run the profile,
// pass through, or refuse. It returns only when the real program did not
// replace this process.
func shim(call shims.Call, args []string) int {
	env := shims.HostEnv(call)
	a := appOf(env.Home.User, call.InnerHome)
	d := shims.Decide(env)
	if a.prefixAnswers(d) {
		d = shims.Decide(env)
	}
	a.knownFrom(d)
	switch d.Kind {
	case shims.PassThrough:
		return a.pass(call, os.Args)
	case shims.Run:
		return a.shimRun(d, env, args)
	default:
		d.Reason += a.shimChange(d)
		a.Say("%s", d.Reason)
		if d.Hint != "" {
			a.Hint("%s", d.Hint)
		}
		a.Audit(runlog.Event{Type: runlog.EventRefused, Command: call.Name, Cwd: env.Cwd, Code: d.ExitCode, Reason: d.Reason})
		return d.ExitCode
	}
}

// shimChange says what changed in the profile that refuses, when that is why.
func (a *app) shimChange(d shims.Decision) string {
	if len(d.Views) == 0 || d.State != trust.Changed {
		return ""
	}
	v := d.Views[len(d.Views)-1]
	for _, p := range v.Profiles {
		if p.State == trust.Changed && p.Profile != nil && v.Project != nil {
			return a.WhatChanged(settings.Place{Cwd: v.Root, Project: v.Project}, p.Profile)
		}
	}
	return ""
}

// pass replaces this process by the real program.
func (a *app) pass(call shims.Call, argv []string) int {
	err := shims.Exec(call, argv, os.Environ())
	a.Say("%s", err)
	if code := shims.ExitCode(err); code == shims.ExitNotFound {
		a.Hint("install %s, or inner which %s", call.Name, call.Name)
		return code
	}
	return shims.ExitRefused
}

// shimRun runs the profile that claims the command. A word that is not the
// profile's own program runs in its sandbox all the same, without its args.
func (a *app) shimRun(d shims.Decision, env shims.Env, args []string) int {
	pl := settings.Place{Cwd: env.Cwd, Project: d.Project}
	o := profile.Overrides{Extra: args}
	if own := d.Profile.Program(); filepath.Base(own) != d.Name {
		o.Entrypoint = d.Name
	}
	p, o, err := a.commanded(pl, d.Profile, o, true, append([]string{d.Name}, args...))
	if err != nil {
		a.Fail(err)
		return fault.Code(err)
	}
	c, err := a.Context(pl, o, true)
	if err != nil {
		a.Fail(err)
		return 125
	}
	return leave(a.run(isolator.Call{Profile: p, Context: c, Word: d.Name}))
}

// leave ends this process as its program ended, when that was of SIGINT and somebody
// is at the terminal. A shell leaves a loop at ^C only when what it waited for died
// of that signal; after a code of 130 it would start the next one. Elsewhere a code
// says more.
func leave(out features.Outcome) int {
	if out.Interrupted && !out.TimedOut && !signal.Ignored(unix.SIGINT) && hasTerminal() {
		signal.Reset(unix.SIGINT)
		_ = unix.Kill(os.Getpid(), unix.SIGINT)
		time.Sleep(time.Second) // it comes at once
	}
	return out.Code
}

// hasTerminal reports whether this process has a controlling terminal.
func hasTerminal() bool {
	fd, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	_ = unix.Close(fd)
	return true
}

// knownFrom keeps what the decision of a shim was made from.
func (a *app) knownFrom(d shims.Decision) {
	for _, v := range d.Views {
		a.KnownRecord(v.Root, v.Project, settings.RecordRead{Record: v.Record, Err: v.RecordErr})
		if v.Project == nil {
			continue
		}
		var file profile.File
		if v.ConfigFile != nil {
			file = *v.ConfigFile
		}
		cfg := v.Config
		if cfg == nil && v.ConfigFile == nil && v.ConfigErr == nil {
			cfg = &config.Config{}
		}
		if cfg != nil || v.ConfigErr != nil {
			a.KnownConfig(filepath.Join(v.Project.Dir, "config.toml"), cfg, file, v.ConfigErr)
		}
	}
}
