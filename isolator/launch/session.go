package launch

import (
	"os/signal"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
	"github.com/enr/inner/isolator/plan"
)

// session is one run, seen from the launcher. Each part keeps what it knows to itself; what has
// to happen in several of them is a method of the session. Only the main goroutine touches it:
// whoever catches signals, asks or calls reaches it through its inbox.
type session struct {
	o     Options
	box   wire.Box
	job   wire.Job    // the program
	owned descriptors // for the box, until it has them

	inbox   inbox         // what other goroutines have the loop do
	child   child         // bwrap, or what is in its place
	forker  chan struct{} // closed when the thread that forked it may end; nil when that is ours
	sock    int           // to the first process of the box; -1 once closed
	first   int           // the number of that process, as we see it; 0 until it has spoken
	life    int           // its pidfd: that process ends as the last one of the box; -1 where there is none
	program program       // what is known of the program

	console   console    // the person's terminals, and what the box has of them
	output    output     // what the box writes to them
	asked     *asked     // the question on the terminal, or nil
	questions []*pending // that wait
	join      joining    // other terminals, and clients
	calls     calls      // that run

	mounts       mounts          // what is mounted in the box from outside
	network      network         // of the box
	publishes    bool            // ports of it
	limits       boxLimits       // that it has
	container    *plan.Container // that is the box; nil with bwrap
	listener     int             // for its connection; -1 once that is there
	engineKilled bool

	caught      bool         // signals are caught
	late        atomic.Int32 // the last signal that came when this try was over, and its program had not run
	cancelled   bool         // Options.Done was closed
	stopWaiting func()       // for either, or nil

	alarms alarms
}

// runs reports whether the program runs, and over whether it will not any more: it, or all of the box, has ended.
func (s *session) runs() bool { return s.program.at == running && !s.child.reaped }
func (s *session) over() bool { return s.program.at == ended || s.child.reaped }

// started reports whether the program has run.
func (s *session) started() bool { return s.program.at == running || s.program.res.Started }

// newSession is a session that has not one descriptor.
func newSession(o Options) *session {
	return &session{
		o:     o,
		inbox: inbox{event: -1}, alarms: alarms{},
		child: child{pid: -1, pidfd: -1, errors: -1},
		sock:  -1, life: -1, listener: -1,
		program: program{task: task{id: wire.First}},
		console: console{stdio: [3]int{-1, -1, -1}, given: [3]int{-1, -1, -1}, real: tty{fd: -1}},
		join:    joining{door: -1, guest: -1},
		calls:   calls{last: wire.First, runs: map[uint32]*Call{}},
		network: network{over: make(chan struct{}), refused: refusals{packets: -1}},
		mounts:  mounts{covered: covered{table: -1, root: -1}},
	}
}

// open takes stock of the descriptors and decides what the program's will be.
func open(p plan.Plan, o Options) (*session, error) {
	if err := startable(p); err != nil {
		return nil, err
	}
	s := newSession(o)
	s.console.stdio = [3]int{RawFd(o.Stdin), RawFd(o.Stdout), RawFd(o.Stderr)}
	if err := noFolder(s.console.stdio[:]); err != nil {
		return nil, err
	}
	var err error
	if s.mounts.covered.saved = o.Saved; o.Saved == nil {
		s.mounts.covered.saved = func(string, string) {}
	}
	s.mounts.ops, s.mounts.data, s.mounts.looks = p.Outside(), p.Data, o.Mounted
	s.mounts.pins, s.mounts.late, s.mounts.empty, s.mounts.others = p.Pins, p.Late, p.Empty, o.Inside
	s.mounts.covered.hidden, s.mounts.covered.protected = p.Masked, p.Protected
	for _, l := range p.Listen {
		s.network.ports = append(s.network.ports, l.Port)
	}
	s.publishes = len(p.Publish) > 0
	s.limits.plan = p.Limits
	if s.box, err = boxOf(p, o); err != nil {
		return nil, err
	}
	s.job = programOf(p, o)
	s.console.open(o, &s.box, &s.job)
	return s, nil
}

// boxOf says what the first process has to do for a plan before its program starts.
func boxOf(p plan.Plan, o Options) (b wire.Box, err error) {
	b = wire.Box{Landlock: p.Landlock, Observe: o.Observe != nil}
	if c := p.Container; c != nil {
		b.Container = &wire.Container{Engine: c.Engine, Mounts: c.Mounts, Filter: c.Filter, UID: c.UID, NoNet: c.NoNet}
	}
	if p.Limits != nil {
		b.Rlimits = p.Limits.Rlimits
	}
	b.Shown, err = identified(p.Shown)
	return b, err
}

// programOf is the program of a plan, all but what concerns terminals.
func programOf(p plan.Plan, o Options) wire.Job {
	j := wire.Job{Program: p.Program, Dir: p.Dir, DirElse: p.DirElse, Argv: p.Argv, Env: p.Env, Alone: true, Trial: o.Trial}
	// The Go runtime keeps an ignored SIGHUP or SIGINT, and forgets any other.
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(sig) {
			j.Ignored |= 1 << (sig - 1)
		}
	}
	return j
}

// close lets go of everything but the signals: they stay caught, and without
// effect, while the caller cleans up after the run and exits.
func (s *session) close() {
	s.inbox.close()
	if s.stopWaiting != nil {
		s.stopWaiting()
	}
	s.leaveContainer()
	s.console.real.restore()
	s.limits.group.Close()
	closeFds(&s.network.refused.packets)
	s.network.unwanted()
	s.owned.close()
	s.closeDoor()
	s.mounts.covered.close()
	s.child.close()
	if s.forker != nil {
		close(s.forker)
	}
	closeFds(&s.listener, &s.sock, &s.life, &s.console.real.fd)
}

// descriptors are closed together.
type descriptors []int

// add adds one, unless there was an error.
func (d *descriptors) add(fd int, err error) (int, error) {
	if err == nil {
		*d = append(*d, fd)
	}
	return fd, err
}

func (d *descriptors) close() {
	for _, fd := range *d {
		unix.Close(fd)
	}
	*d = nil
}

// closeFds closes those descriptors that are open, and forgets them.
func closeFds(fds ...*int) {
	for _, fd := range fds {
		if *fd >= 0 {
			unix.Close(*fd)
			*fd = -1
		}
	}
}
