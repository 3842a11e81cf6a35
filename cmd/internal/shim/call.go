package shim

import (
	"errors"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/hooks"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/run"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/trust"
	"github.com/enr/inner/shims"
)

// Call carries out the call of a command through its shim, as argv says it: it decides, then runs the
// profile, passes through, or refuses. It returns the exit code, and only when the real program did not
// replace this process. With goesOn this program makes boxes by bwrap alone, and goes on as Fleet for others.
func Call(call shims.Call, argv []string, version string, goesOn bool) int {
	env := shims.HostEnv(call)
	p := Of(env.Home.User, call.InnerHome, version)
	d := shims.Decide(env)
	if p.prefixAnswers(d) {
		d = shims.Decide(env)
	}
	for _, v := range d.Views {
		p.Know(v)
	}
	switch d.Kind {
	case shims.PassThrough:
		p.sayBare(d, env.Cwd)
		return p.pass(call, argv)
	case shims.Run:
		// A box dies with the thread that started it (prctl PR_SET_PDEATHSIG): everything runs on one that lives
		// as long as the process. What only goes on as the real program needs no thread more.
		runtime.LockOSThread()
		launch.QuitPlainly()
		run := run.Call{Word: d.Name}
		if goesOn {
			run.Elsewhere = func(spec profile.RunConfig) error { return p.goOn(call, argv, spec) }
		}
		return p.run(run, d, env, argv[min(1, len(argv)):])
	default:
		d.Reason += p.change(d)
		p.Say("%s", d.Reason)
		if d.Hint != "" {
			p.Hint("%s", d.Hint)
		}
		p.Audit(runlog.Event{Type: runlog.EventRefused, Command: call.Name, Cwd: env.Cwd, Code: d.ExitCode, Reason: d.Reason})
		if len(d.Views) > 0 {
			// Prompts look at times. What came with an old one may claim words that have no shim yet.
			_, _ = shims.Regenerate(p.Site()) // which the next prompt does, too
		}
		return d.ExitCode
	}
}

// change says what changed in the profile that refuses, when that is why.
func (p *Process) change(d shims.Decision) string {
	if len(d.Views) == 0 || d.State != trust.Changed {
		return ""
	}
	v := d.Views[len(d.Views)-1]
	for _, it := range v.Profiles {
		if it.State == trust.Changed && it.Profile != nil && v.Project != nil {
			return p.WhatChanged(settings.Place{Cwd: v.Root, Project: v.Project}, it.Profile)
		}
	}
	return ""
}

// pass replaces this process by the real program.
func (p *Process) pass(call shims.Call, argv []string) int {
	err := shims.Exec(call, argv, os.Environ())
	p.Say("%s", err)
	if code := shims.ExitCode(err); code == shims.ExitNotFound {
		p.Hint("install %s, or inner status %[1]s", call.Name)
		return code
	}
	return shims.ExitRefused
}

// run runs the profile that claims the command. A word that is not the
// profile's own program runs in its sandbox all the same, without its args.
func (p *Process) run(call run.Call, d shims.Decision, env shims.Env, args []string) int {
	pl := settings.Place{Cwd: env.Cwd, Project: d.Project}
	o := profile.Overrides{Extra: args}
	if own := d.Profile.Program(); filepath.Base(own) != d.Name {
		o.Entrypoint = d.Name
	}
	prof, o, err := p.Commanded(pl, d.Profile, o, true, append([]string{d.Name}, args...), "")
	if err != nil {
		p.Tell(err)
		return fault.Code(err)
	}
	if call.Context, err = p.Context(pl, o, true); err != nil {
		p.Tell(err)
		return 125
	}
	call.Profile = prof
	return Leave(p.Run(call))
}

// Leave ends this process as its program ended, when that was of SIGINT and somebody
// is at the terminal. A shell leaves a loop at ^C only when what it waited for died
// of that signal; after a code of 130 it would start the next one. Elsewhere a code
// says more.
func Leave(out features.Outcome) int {
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

// sayBare says on a terminal that an agent runs outside the sandbox, once a day in each folder.
func (p *Process) sayBare(d shims.Decision, cwd string) {
	if !slices.Contains(shims.Agents(), d.Name) || shims.InBox() {
		return
	}
	if _, err := unix.IoctlGetTermios(int(os.Stderr.Fd()), unix.TCGETS); err != nil {
		return
	}
	if p.firstToday(d.Name + " " + cwd) {
		p.Say("%s runs outside the sandbox: no profile claims it here; type: inner init %[1]s", d.Name)
	}
}

// firstToday reports whether a word has not been asked about today, and remembers it by a file of its own in the
// folder of the day. Other days are forgotten; what cannot be remembered is said again.
func (p *Process) firstToday(word string) bool {
	told := filepath.Join(p.InnerHome, "shims", "told")
	day := filepath.Join(told, time.Now().Format(time.DateOnly))
	if !files.Exists(day) {
		_ = os.RemoveAll(told)
		_ = os.MkdirAll(day, 0o700)
	}
	return !errors.Is(os.Mkdir(filepath.Join(day, hooks.NewKey(word)), 0o700), fs.ErrExist)
}
