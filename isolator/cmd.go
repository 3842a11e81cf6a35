package isolator

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/run"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/isolator/session"
	"github.com/enr/inner/isolator/streams"
	"github.com/enr/inner/profile"
)

// Cmd is one program in a box of its own. Set its fields before Start or Run; either may be
// called once. Exactly one of Argv and Line is set.
type Cmd struct {
	Argv []string // the program and its arguments
	Line string   // a command line for the shell of the box

	Dir     string            // box path to start in; "" is the session's folder, or else the profile's
	Env     map[string]string // in addition to the profile's variables
	Timeout time.Duration     // counts when it is shorter than the profile's; 0 is the profile's
	Actor   string            // on whose behalf, for the audit log

	// A nil Stdin is /dev/null; output to a nil Stdout or Stderr is discarded. The program gets
	// a *os.File itself and everything else through a pipe.
	Stdin          io.Reader
	Stdout, Stderr io.Writer

	p     *Profile
	ctx   context.Context
	alone bool          // see RunAlone
	done  chan struct{} // nil before Start; closed when result and err are known
	res   Result
	err   error
}

// Result says how a program ended.
type Result struct {
	Code     int    // the exit code; 128+N after signal N, 124 at the time limit
	Signal   string // the signal that ended it, such as "SIGTERM"; else ""
	TimedOut bool

	Run      string        // the id of the run, as in the audit log
	Backend  string        // what made the box
	Took     time.Duration // includes making the box
	Limits   []string      // limits that were reached, in words
	Hosts    []string      // hosts that were requested and refused
	Blocked  []string      // commands that [noop] blocked
	SetUp    []string      // warnings about how the box was made, which the next run of the profile would have, too
	Warnings []string      // of this run; those of Load are not kept
	Profile  string        // the name of the profile that it ran in
	Role     string        // and of its role; "" without one
}

// Command returns a Cmd that runs a program with its arguments. When ctx is done, the whole box
// is killed.
func (p *Profile) Command(ctx context.Context, argv ...string) *Cmd {
	return &Cmd{p: p, ctx: ctx, Argv: argv}
}

// Shell returns a Cmd that runs a command line with bash where the box has it, else with sh.
func (p *Profile) Shell(ctx context.Context, line string) *Cmd {
	return &Cmd{p: p, ctx: ctx, Line: line}
}

// Run starts the program and waits for its end. An error is a *Refusal and means that the program
// did not run; a program that fails is no error.
func (c *Cmd) Run() (Result, error) {
	if err := c.Start(); err != nil {
		return Result{}, err
	}
	return c.Wait()
}

// Start begins to make the box and returns at once. Wait says whether the program started.
func (c *Cmd) Start() error {
	if c.done != nil {
		return refused(fault.Refuse(2, "", "this Cmd was started before"))
	}
	if (len(c.Argv) == 0) == (c.Line == "") || len(c.Argv) > 0 && c.Argv[0] == "" {
		return refused(fault.Refuse(2, "", "a Cmd has either Argv or Line"))
	}
	if err := c.ctx.Err(); err != nil {
		return refused(&fault.Refusal{Code: 125, Kind: fault.KindBackend, Msg: "the call was cancelled: " + err.Error()})
	}
	c.done = make(chan struct{})
	go func() {
		defer close(c.done)
		// Never unlocked: the thread ends with this goroutine, and with it what the launcher
		// changed about it. A box dies with the thread that started it.
		runtime.LockOSThread()
		c.err = refused(c.run())
	}()
	return nil
}

// Wait waits until the program has ended. The error is as that of Run.
func (c *Cmd) Wait() (Result, error) {
	if c.done == nil {
		return Result{}, refused(fault.Refuse(2, "", "this Cmd was not started"))
	}
	<-c.done
	return c.res, c.err
}

// RunAlone is Run for a process that does nothing else, on its main goroutine, with its thread locked since
// the start of main: signals that come are the program's.
func (c *Cmd) RunAlone() (Result, error) {
	if c.done != nil {
		return Result{}, refused(fault.Refuse(2, "", "this Cmd was started before"))
	}
	c.alone, c.done = true, make(chan struct{})
	defer close(c.done)
	c.err = refused(c.run())
	return c.res, c.err
}

// run makes the call, on a thread of its own.
func (c *Cmd) run() (err error) {
	began, notes := time.Now(), new(Notes)
	defer func() {
		c.res.Took = time.Since(began)
		c.res.SetUp, c.res.Warnings = notes.Take()
		if p := recover(); p != nil {
			frames := strings.Fields(string(debug.Stack()))
			hint := "report it, with: " + strings.Join(frames[:min(len(frames), 40)], " ")
			err = &fault.Refusal{Code: 125, Kind: fault.KindBackend, Msg: fmt.Sprintf("inner failed: %v", p), Hint: hint}
		}
	}()
	c.res.Profile, c.res.Role = c.p.Name(), c.p.Role()
	if err := CheckWords(c.Argv, c.Line, c.Dir, c.Env); err != nil {
		return err
	}
	p, err := c.p.commanded(c)
	if err != nil {
		return err
	}
	c.res.Profile = p.Name()
	files, err := streams.Open(c.Stdin, c.Stdout, c.Stderr)
	if err != nil {
		return &fault.Refusal{Code: 125, Kind: fault.KindNoSandbox, Msg: err.Error()}
	}
	defer files.Close()
	who := *c.p.caller
	who.Teller, who.Stdin, who.Stdout, who.Stderr = notes, files.In, files.Out, files.Err
	done := c.ctx.Done()
	if done == nil && !c.alone { // of context.Background: the run takes no signal of this program all the same
		done = make(chan struct{})
	}
	call := run.Call{Profile: p.profile, Context: p.context, By: p.role.By(c.Actor, ""), Word: p.word}
	call.Done, call.Began = done, notes.Began
	var s *session.Session
	if p.session != "" {
		if s, err = p.Session(); err != nil {
			return err
		}
		defer s.Close()
	}
	if err := c.into(&call, &who, p.spec, s); err != nil {
		return err
	}
	its := p.settings.With(&who)
	if s != nil {
		call.Join = func(spec profile.RunConfig) (features.Outcome, error) { return callBox(its, s.Dir, call, spec) }
	}
	out, err := run.Run(its, call)
	if c.res.Run = out.ID; err != nil {
		return err
	}
	if s != nil && c.Line != "" {
		s.Ended()
	}
	c.ended(out)
	return nil
}

// What execve(2) takes, in bytes: of all arguments and variables together, and of each of them.
const (
	maxArgs = 1 << 20
	maxArg  = 128<<10 - 1
)

// CheckWords says what cannot be arguments and variables.
func CheckWords(argv []string, line, dir string, env map[string]string) error {
	size := 0
	for key, words := range map[string][]string{"argv": argv, "line": {line}, "cwd": {dir}} {
		for _, w := range words {
			switch size += len(w) + 1; {
			case strings.ContainsRune(w, 0):
				return fault.Refuse(2, "", "%s: contains a NUL character", key)
			case len(w) > maxArg:
				return fault.Refuse(2, "",
					"%s: is longer than the %d bytes that Linux takes as one argument; stdin takes more", key, maxArg)
			}
		}
	}
	for name, v := range env {
		size += len(name) + len(v) + 2
		switch {
		case strings.ContainsAny(name, "=\x00") || name == "":
			return fault.Refuse(2, "", "env: %.40q is not the name of a variable", name)
		case strings.ContainsRune(v, 0) || len(v) > maxArg:
			return fault.Refuse(2, "", "env: the value of %.40q is too long, or contains a NUL character", name)
		}
	}
	if size > maxArgs {
		return fault.Refuse(2, "", "the arguments and variables are longer than %d bytes", maxArgs)
	}
	return nil
}

// ended notes what a program came to.
func (c *Cmd) ended(out features.Outcome) {
	r := &c.res
	r.Code, r.TimedOut, r.Backend, r.Limits = out.Code, out.TimedOut, out.Backend, out.Limits
	r.Hosts, r.Blocked = refusedHosts(out.Hosts), slices.Sorted(maps.Keys(out.Blocked))
	if out.Signal != 0 {
		r.Signal = unix.SignalName(out.Signal)
	}
}

// into completes a call whose profile resolves to spec. s is its session, or nil.
func (c *Cmd) into(call *run.Call, who *caller.Caller, spec profile.RunConfig, s *session.Session) error {
	if s != nil {
		call.Tmp, call.Start, call.OrElse, call.By.Session = s.Tmp, s.Last, true, s.ID
	}
	if c.Dir != "" {
		call.Start, call.OrElse = c.Dir, false
		if !filepath.IsAbs(c.Dir) {
			call.Start = filepath.Join(spec.Cwd, c.Dir)
		}
	}
	argv := c.words(who, spec, call.Start, s != nil)
	o := profile.Overrides{Interactive: new(bool), Entrypoint: argv[0], Extra: argv[1:]}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		if spec.Env.Kept(name) {
			return fault.Refuse(2, "", "env: %q passes into no box ([hide] env of config.toml)", name)
		}
		o.Env = append(o.Env, profile.KV{Key: name, Value: c.Env[name]})
	}
	if c.Timeout > 0 && (spec.Output.Timeout == 0 || c.Timeout < spec.Output.Timeout) {
		o.Timeout = &c.Timeout
	}
	call.Context.Overrides = o
	return nil
}

// words are the arguments of what is asked for, which starts in a folder of the box.
func (c *Cmd) words(who *caller.Caller, spec profile.RunConfig, start string, inSession bool) []string {
	if c.Line != "" {
		return shellWords(who, c.Line, spec, inSession)
	}
	if program := c.Argv[0]; strings.Contains(program, "/") && !filepath.IsAbs(program) && start != "" {
		return append([]string{filepath.Join(start, program)}, c.Argv[1:]...)
	}
	return c.Argv
}

// shellWords returns the arguments that run a command line: with bash where the box has it, else
// with sh. In a session the shell writes the folder that it ended in to session.LastFile.
func shellWords(c *caller.Caller, line string, spec profile.RunConfig, inSession bool) []string {
	sh := "sh"
	if !spec.Container() { // an image need not have the host's bash
		if _, err := c.FindReal("bash", plan.BoxPath(spec, c.Getenv("PATH"))); err == nil {
			sh = "bash"
		}
	}
	if !inSession {
		return []string{sh, "-c", line}
	}
	// shift hides the line from itself: it sees no arguments. An earlier call may have left a
	// FIFO at LastFile, on which this one would block for ever.
	return []string{sh, "-c", "trap '[ -p " + session.LastFile + " ] || pwd -P >" + session.LastFile + " 2>/dev/null' EXIT; eval \"shift\n$1\"", sh, line}
}

// refusedHosts returns the names of the hosts that requests were refused for.
func refusedHosts(list []runlog.Host) []string {
	var out []string
	for _, h := range list {
		if h.Refused > 0 && h.Host != "" && !slices.Contains(out, h.Host) {
			out = append(out, h.Host)
		}
	}
	return out
}
