package main

import (
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/trust"
	"github.com/enr/inner/shims"
	"golang.org/x/sys/unix"
)

// shim is a call of a command through its shim: decide, then run the profile,
// pass through, or refuse. It returns only when the real program did not
// replace this process.
func shim(call shims.Call, args []string) int {
	env := shims.HostEnv(call)
	a := &app{home: env.Home.User, inner: call.InnerHome, stdin: os.Stdin, stdout: outputTo(os.Stdout), stderr: outputTo(os.Stderr)}
	d := shims.Decide(env)
	a.knownFrom(d)
	switch d.Kind {
	case shims.PassThrough:
		return a.pass(call, os.Args)
	case shims.Run:
		return a.shimRun(d, env, args)
	default:
		d.Reason += a.shimChange(d)
		a.say("%s", d.Reason)
		if d.Hint != "" {
			a.hint("%s", d.Hint)
		}
		a.audit(runlog.Event{Type: runlog.EventRefused, Command: call.Name, Cwd: env.Cwd, Code: d.ExitCode, Reason: d.Reason})
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
			return a.whatChanged(place{cwd: v.Root, project: v.Project}, p.Profile)
		}
	}
	return ""
}

// pass replaces this process by the real program.
func (a *app) pass(call shims.Call, argv []string) int {
	err := shims.Exec(call, argv, os.Environ())
	a.say("%s", err)
	if code := shims.ExitCode(err); code == shims.ExitNotFound {
		a.hint("install %s, or inner which %s", call.Name, call.Name)
		return code
	}
	return shims.ExitRefused
}

// shimRun runs the profile that claims the command. A word that is not the
// profile's own program runs in its sandbox all the same, without its args.
func (a *app) shimRun(d shims.Decision, env shims.Env, args []string) int {
	pl := place{cwd: env.Cwd, project: d.Project}
	o := profile.Overrides{Extra: args}
	if own := d.Profile.Program(); filepath.Base(own) != d.Name {
		o.Entrypoint = d.Name
	}
	c, err := a.context(pl, o, true)
	if err != nil {
		a.fail(err)
		return 125
	}
	return a.leave(a.ride(d.Profile, c, d.Name))
}

// leave ends this process as its program ended, when that was of SIGINT and somebody
// is at the terminal. A shell leaves a loop at ^C only when what it waited for died
// of that signal; after a code of 130 it would start the next one. Elsewhere a code
// says more.
func (a *app) leave(code int) int {
	if a.interrupted && !signal.Ignored(unix.SIGINT) && hasTerminal() {
		signal.Reset(unix.SIGINT)
		_ = unix.Kill(os.Getpid(), unix.SIGINT)
		time.Sleep(time.Second) // it comes at once
	}
	return code
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
