// Package launch turns a [plan.Plan] into a process and stays with it: the
// box's terminal, its signals, its time limit, its exit code.
//
// Two processes do this. The launcher is the one the person's shell sees. The
// supervisor (package box) is the first process in the box, executed through
// a descriptor so that no mount is needed for it; the program is its child. Package wire says what they
// say to each other. The launcher's part, in its order:
//
//	memfds, socketpair, fresh keyring; forks bwrap, in a run before there is a plan (early.go), and catches signals
//	Here      hides, pins links, serves git, from outside, while the supervisor prepares the box
//	Ready     takes the network of the box; the real terminal raw; what was typed before, typed again (not waited
//	          for where the box has no terminal: the word is read when the box is ready)
//	Start     lets go of pipes; relays bytes, sends signals
//	Stopped   stops itself
//	Ended     drains, restores
//
// Output that goes to a terminal passes through a terminal of the box also where that is not the program's
// standard input: then nobody can read keys from it.
//
// What it promises:
//
//   - no descriptor of the person's terminal enters the box; what is typed is read
//     outside, and only in the foreground;
//   - what the terminal answers after the end is not typed into the shell, and its
//     clipboard is out of reach;
//   - the program starts only after the launcher's word, and every process of
//     the box dies with the launcher, also when that is killed with SIGKILL;
//   - when Result.Started is false the program has not run;
//   - nothing about the run is on a command line, and bwrap's own environment
//     is empty (inside the box it is readable in /proc/1/environ);
//   - the terminal is put back as it was, however the run ends.
//
// For a plan with a map of ids the user namespace is made first, and bwrap
// joins it.
//
// What it does not: it decides nothing about mounts or namespaces, and knows
// no bwrap option but those of this handing over (--args, --setenv, --as-pid-1,
// --userns, --cap-add). The plan must have a PID namespace and
// --die-with-parent: only the pair leaves no process behind (measured with
// bwrap 0.8.0).
package launch

import (
	"os"
	"syscall"
	"time"

	"github.com/enr/inner/isolator/launch/wire"
	"github.com/enr/inner/isolator/plan"
)

// Exit codes that are not the program's own.
const (
	CodeTimeout       = wire.Timeout
	CodeNoSandbox     = wire.NoSandbox
	CodeNotExecutable = wire.NotExecutable
	CodeNotFound      = wire.NotFound
)

// killGrace is how long a program may take after SIGTERM, at its time limit or
// because inner got one, or after SIGHUP, before the whole box is killed.
const killGrace = 5 * time.Second

// Options says how a plan is run.
type Options struct {
	// Stdin, Stdout and Stderr are the person's, normally those of package os.
	// One that is nil is /dev/null.
	Stdin, Stdout, Stderr *os.File

	// Supervisor is the binary of inner that is started as supervisor; "" is this program.
	Supervisor string

	// Early, when not nil, is a bwrap that waits for its words. Run takes or ends it.
	Early *Early

	// Interactive gives the box a terminal of its own when stdin is a terminal.
	// Without it a terminal as stdin is /dev/null.
	Interactive bool

	// Made says that the terminal as stdin was made by this process, which holds its other end: nobody
	// else reads it. Any other terminal has to be this process's controlling one.
	Made bool

	// Raw has that terminal give what is typed at once, and show none of it, from the start.
	Raw bool

	// CursorFix is printed after the run when stdout is a terminal:
	// "newlines" ends with three line breaks, "shell" with one.
	CursorFix string

	// Timeout is the longest the program may run; zero means no limit. At the
	// limit it gets SIGTERM, five seconds later the box is killed.
	Timeout time.Duration

	// Clipboard lets the box's output reach the clipboard of the terminal (OSC 52 and
	// its kind); otherwise those sequences are taken out of it.
	Clipboard bool

	// Watch, when not nil, sees what the program writes to terminals, after
	// the person has seen it. WatchAll has standard output and error pass
	// through inner also where they are no terminals: the program then writes
	// to a pipe, whatever the person gave.
	Watch    Watcher
	WatchAll bool

	// Meanwhile, when not nil, is called while bwrap makes the box, before the program may
	// start. It returns who watches, as Watch, or nil; on an error the program does not start.
	Meanwhile func() (Watcher, error)

	// Ask, when not nil, puts questions to the person while the program has a
	// terminal of the box's own.
	Ask *Asker

	// Network, when not nil, is given the network of a box that listens or
	// publishes, before the program starts. On an error it does not start.
	Network func(Network) error

	// Over, when not nil, is asked ten times a second which limit the box came to that the
	// kernel does not hold, by its key: then the box is killed. It must not wait for anything.
	Over func() string

	// Done, when not nil, says that this process makes several runs side by side: no signal
	// is caught, and when Done is closed the box is killed.
	Done <-chan struct{}

	// Join is where the launcher listens for inner attach, a path in a folder that is the
	// user's alone and that no box sees; "" for nowhere. Stay has the box go on without a
	// terminal from the start: what its program writes before somebody joins is dropped. Such
	// a run starts only with a terminal of the box's own.
	Join string
	Stay bool

	// Saved, when not nil, is told of a file that came to a protected place while nothing in the box
	// ran: an editor's save. Its identity is that of files.Identity, "" when another one came since.
	Saved func(place, identity string)

	// Mounted, when not nil, is called when all is hidden. With an error no program starts.
	Mounted func() error

	// Inside, when not nil, mounts more in the box before the program starts: all of bwrap's mounts are
	// there. The descriptors are closed when it returns.
	Inside func(Inside) error

	// Ending, when not nil, is called before the box is killed, and when its program has ended.
	Ending func()

	// Begun, when not nil, is called when the program is about to start, after all that has to be done then.
	Begun func()

	// Trial has the program loaded, and ended before its first instruction: Result.Started
	// says whether it would run. It goes without a terminal.
	Trial bool

	// Calls, when not nil, has no program of the plan run: the box stays, until Done is closed or a
	// client ends it, and runs the calls that come to its door (Join).
	Calls *Calls

	// Grant, when not nil, gives the box what somebody outside of all boxes says, and returns what became of
	// that. It is called from goroutines.
	Grant func(request []byte, to Running) (words string, err error)

	// Observe, when not nil, is given the listener of a filter that tells of every
	// call of the program that names a file (seccomp_unotify(2)), just before it
	// starts. Each waits for an answer. The file is the callee's.
	Observe func(*os.File)
}

// Watcher sees what passes through inner. Its methods are called from several
// goroutines and must not wait for anything.
type Watcher interface {
	Output(p []byte)
	Resize(rows, cols uint16)
}

// Result is how a run ended.
type Result struct {
	Code     int            // the exit code to hand on
	Started  bool           // the program has run
	TimedOut bool           // the time limit ended it
	Signal   syscall.Signal // what it died of, or 0; before Linux 6.15 without a terminal as told by Code
	Reason   string         // one line, when the program has not run
	Err      error          `json:"-"` // what Meanwhile returned, then
	// Forbidden says that it did not start because this machine lets nobody make mounts in a box from outside.
	Forbidden bool `json:"-"`
	// Interrupted says that SIGINT ended it, or kept it from starting. Who waits for inner in its
	// place should see that: a shell leaves a loop at ^C only then.
	Interrupted bool
	Reached     []string // the limits it came to, by their keys, where that can be known
	// Refused says how often the box connected to a port of its own loopback, by the port, for which nothing
	// listens there, but something on the host: where the kernel lets us see that.
	Refused map[uint16]int
	// Recovered and Replaced are hidden and protected places of the box that the host has
	// replaced while something in the box ran, and that were covered again; Uncovered is why
	// one could not be covered, and the box was ended.
	Recovered, Replaced []string
	Uncovered           string
}

// Run makes the box of p, runs its program in it and waits for the end.
//
// It must be called on the main goroutine, with runtime.LockOSThread held
// since the start of main: the death signal that ties bwrap to inner is sent
// when the thread that forked it ends, not the process. With Options.Done it may be any
// goroutine that has called runtime.LockOSThread and never gives its thread back: it ends
// with the goroutine. Run joins a new session keyring on that thread, marks every descriptor from 3 up
// close-on-exec, without Options.Done, and lets go of a stdin or stdout that is a pipe once the
// program has it, so that its other end sees the program alone.
func Run(p plan.Plan, o Options) Result {
	s, err := open(p, o)
	if err != nil {
		return Result{Code: CodeNoSandbox, Reason: wire.Line(err.Error())}
	}
	defer s.close()
	if err := s.start(p); err != nil {
		return Result{Code: CodeNoSandbox, Reason: wire.Line(err.Error())}
	}
	if s.o.Meanwhile != nil {
		watch, err := s.o.Meanwhile()
		if s.o.Watch = watch; err != nil {
			s.program.at, s.program.res = ended, Result{Code: CodeNoSandbox, Reason: wire.Line(err.Error()), Err: err}
			// The supervisor ends when it sees that no job will come. To kill bwrap at once
			// would leave its child, which waits for it for ever, see start.
			s.refuse()
			s.killAfter(earlyGrace)
		}
	}
	s.loop()
	s.calls.answers.Wait()
	return s.result()
}
