// Package shim is what shells start: the call of a command through its shim, and the question
// that the hook asks at a prompt. Both programs that can be behind the shims have it: inner-shim,
// which does nothing else, and inner itself, where inner-shim was not built.
//
//	if call, ok := shims.Invoked(shims.ExecFn(), os.Args[0]); ok {
//		os.Exit(shim.Call(call, os.Args[1:], version))
//	}
package shim

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/run"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/strict"
	"github.com/enr/inner/shims"
)

// Process is this process: what is set, and where it prints.
type Process struct {
	*settings.Settings

	stdout io.Writer

	// Program is the program that belongs behind the shims; the zero value is that of this
	// process.
	Program shims.Program
}

// Of returns the process for a home folder and an INNER_HOME.
func Of(home, inner, version string) *Process {
	p := &Process{stdout: tell.To(os.Stdout)}
	p.Settings = settings.Of(&caller.Caller{
		Home: home, InnerHome: inner, Environ: os.Environ(), Version: version,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Teller: tell.Teller{To: tell.To(os.Stderr)},
	})
	return p
}

// Folder returns the shim folder.
func (p *Process) Folder() shims.Folder { return shims.Folder{Home: p.InnerHome} }

// Site returns what the shim folder depends on.
func (p *Process) Site() shims.Site {
	return shims.Site{InnerHome: p.InnerHome, Home: p.Home, Path: os.Getenv("PATH"), Program: p.Program}
}

// Regenerate brings the shim folder up to date after something changed, and has every prompt look
// again.
func (p *Process) Regenerate() error {
	p.Forget() // what is recorded has changed
	report, err := shims.Regenerate(p.Site())
	if err != nil {
		return err
	}
	if !report.Changed() {
		return p.Folder().Bump()
	}
	return nil
}

// Run carries a call out, and says why when it does not start.
func (p *Process) Run(call run.Call) features.Outcome {
	out, err := run.Run(p.Settings, call)
	p.Tell(err)
	// Of these a shell says that a program died: it sees inner in its place, which ends with a code.
	loud := []unix.Signal{unix.SIGKILL, unix.SIGSEGV, unix.SIGBUS, unix.SIGABRT, unix.SIGILL, unix.SIGFPE, unix.SIGSYS}
	if s := out.Signal; slices.Contains(loud, s) && !out.TimedOut && len(out.Limits) == 0 {
		p.Say("the program was ended by %s", unix.SignalName(s))
		if s == unix.SIGKILL {
			p.Hint("journalctl -k says whether the kernel did it, for want of memory")
		}
	}
	return out
}

// Tell tells an error, unless it is nil, and what to type about it.
func (p *Process) Tell(err error) {
	if err == nil {
		return
	}
	p.Fail(err)
	if hint := p.Mend(err); hint != "" {
		p.Hint("%s", hint)
	}
}

// Mend is what to type about files that have faults, of which the first is to be edited, a profile that is not
// there, and what may not be read or written; "" about other errors.
func (p *Process) Mend(err error) string {
	var faults strict.Problems
	var unknown *profile.NotFoundError
	var at *fs.PathError
	switch {
	case errors.As(err, &faults) && filepath.IsAbs(faults[0].File):
		return "edit " + p.Short(faults[0].File)
	case errors.As(err, &unknown):
		return "inner profile list"
	case errors.Is(err, fs.ErrPermission) && errors.As(err, &at) && fault.AsRefusal(err) == nil:
		return "ls -ld " + quote.POSIX(filepath.Dir(at.Path))
	}
	return ""
}

// WarnIf tells an error that is no reason to stop.
func (p *Process) WarnIf(err error) {
	if err != nil {
		p.Warn("%s", err)
	}
}
