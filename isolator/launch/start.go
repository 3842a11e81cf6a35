package launch

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/outside"
	"github.com/enr/inner/isolator/launch/wire"
	"github.com/enr/inner/isolator/plan"
)

// session is one run, seen from the launcher. Only the main goroutine touches
// it; the relays and the signal forwarder reach it through its wake pipe.
type session struct {
	o     Options
	stdio [3]int // the person's descriptors
	full  bool   // the box's own terminal is the program's controlling one
	ptys  []int  // for each terminal of the box, the descriptor its output goes to
	real  tty    // the person's terminal, when full
	print int    // opened for what the box writes to it, or -1
	spec  wire.Spec
	owned []int // descriptors to close at the end

	sock    int // to the supervisor, -1 once closed
	errPipe int // bwrap's stderr, -1 at its end
	errEnd  int // where bwrap writes to it, -1 once it has been started
	errText []byte
	wakeR   int
	wakeW   int
	signals chan os.Signal

	pid    int // bwrap
	boxPid int // the supervisor, or what it has become; 0 until it has spoken
	boxFd  int // a pidfd of it, or -1
	pidfd  int
	bwrap  syscall.WaitStatus
	reaped bool

	pipes   [3]int // in place of stdout and stderr, the end that the program gets; -1 for none
	relays  []*relay
	pumps   []*relay // for those pipes
	running int      // relays and pumps that have not ended
	keys    keys

	rest       outside.List // what is mounted after bwrap
	covered    covered      // what is masked again when the host replaces it, see recover.go
	nsenter    string
	supervisor string // the binary that supervises the box, and mounts in it from outside

	net       Network
	dispenser *dispenser // nil without one

	contained *contained // nil with bwrap

	limits boxLimits

	caughtAll bool // signals are caught
	observed  bool // whoever observes has the listener
	networked bool // the box's network is in our hands, or there is none
	ready     bool // the supervisor will wait for the word
	released  bool // it was given
	started   bool
	failure   *failure // why the program did not start, or nil
	ended     bool     // with status
	status    syscall.WaitStatus

	stopped   bool      // we stopped ourselves, after the job
	caught    sigaction // of SIGTSTP, to be put back after that
	waits     bool      // the program has not got its terminal yet, see want
	wanted    bool      // it has asked for it
	timedOut  bool
	hungUp    bool
	abandoned bool           // a signal came while only output was left to write
	early     syscall.Signal // came before the program was started

	interrupted bool // SIGINT came

	cancelled bool          // Options.Done was closed
	finished  chan struct{} // closed when the run is over, with Options.Done
	awaited   chan struct{} // closed when nobody waits for Done any more

	join joining

	asked *asked // the question on the terminal, or nil
	holds uint32 // of the relay, for questions

	alarms  alarms
	resumed time.Time // when we went on without having seen SIGCONT
}

// runs reports whether the program runs, and over whether it, or all of the box, has ended.
func (s *session) runs() bool { return s.started && !s.over() }
func (s *session) over() bool { return s.ended || s.reaped }

// open takes stock of the descriptors and decides what the program's will be.
func open(p plan.Plan, o Options) (*session, error) {
	if err := startable(p); err != nil {
		return nil, err
	}
	s := &session{o: o, sock: -1, errPipe: -1, errEnd: -1, wakeR: -1, wakeW: -1, pid: -1, pidfd: -1, boxFd: -1, print: -1, real: tty{fd: -1}, pipes: [3]int{-1, -1, -1}, join: joining{door: -1, guest: -1, detacher: -1, former: -1}}
	s.stdio = [3]int{rawFd(o.Stdin), rawFd(o.Stdout), rawFd(o.Stderr)}
	if err := noFolder(s.stdio[:]); err != nil {
		return nil, err
	}
	s.supervisor = cmp.Or(o.Supervisor, "/proc/self/exe")
	s.rest, s.nsenter = outside.List{Pins: p.Pins, Masks: p.Masks}, p.Nsenter
	s.covered = covered{hidden: p.Masked, protected: p.Protected, table: -1, root: -1}
	s.spec = wire.Spec{Program: p.Program, Dir: p.Dir, DirElse: p.DirElse, Argv: p.Argv, Env: p.Env, Fills: p.Fills, Landlock: p.Landlock, Observe: o.Observe != nil, Trial: o.Trial, Calls: o.Calls != nil}
	var err error
	if s.rest.Cover, err = coverOf(p); err != nil {
		return nil, err
	}
	if s.spec.Shown, err = identified(p.Shown); err != nil {
		return nil, err
	}
	if c := p.Container; c != nil {
		s.spec.Container = &wire.Container{Engine: c.Engine, Mounts: c.Mounts, Filter: c.Filter, UID: c.UID, NoNet: c.NoNet}
	}
	if p.Limits != nil {
		s.spec.Rlimits = p.Limits.Rlimits
	}
	for _, l := range p.Listen {
		s.spec.Listen = append(s.spec.Listen, l.Port)
	}
	s.spec.Dispense = len(p.Publish) > 0
	s.net.Listeners = make([][]net.Listener, len(p.Listen))
	s.networked = len(p.Listen) == 0 && !s.spec.Dispense
	// The Go runtime keeps an ignored SIGHUP or SIGINT, and forgets any other.
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(sig) {
			s.spec.Ignored |= 1 << (sig - 1)
		}
	}
	s.openTerminals()
	return s, nil
}

// startable checks the words of a plan: what is executed, and that the kernel takes them whole.
func startable(p plan.Plan) error {
	if p.Container == nil && !filepath.IsAbs(p.Bwrap) {
		return fmt.Errorf("bwrap %q: not an absolute path", p.Bwrap)
	}
	if len(p.Argv) == 0 || p.Program == "" {
		return errors.New("the plan names no program")
	}
	for _, list := range [][]string{p.Words(), p.Argv, p.Env, {p.Bwrap, p.Program, p.Dir, p.DirElse}} {
		for _, w := range list {
			if strings.IndexByte(w, 0) >= 0 {
				return fmt.Errorf("argument %q: holds a NUL byte", w)
			}
		}
	}
	return nil
}

// openTerminals gives the box a terminal for each one among the person's descriptors.
func (s *session) openTerminals() {
	var terminal [3]bool
	var device [3]uint64
	for i, fd := range s.stdio {
		if terminal[i] = isTerminal(fd); terminal[i] {
			device[i] = terminalDevice(fd)
		}
	}
	var devices []uint64 // of s.ptys
	s.full = s.o.Interactive && !s.o.Trial && terminal[0] && ours(s.stdio[0])
	if s.spec.Full = s.full; s.full {
		s.real.fd = s.stdio[0]
		// In the background its modes are somebody else's for the moment.
		foreground := s.real.foreground()
		if t, err := unix.IoctlGetTermios(s.real.fd, unix.TCGETS); err == nil && foreground {
			s.spec.Termios = *t
		}
		s.waits = !terminal[1] || !foreground
		s.spec.Waits = s.waits
		s.real.shared = !terminal[1]
		s.spec.Stdio[0] = wire.FromPty
		s.ptys, devices = []int{s.printTo(device)}, []uint64{device[0]}
	}
	for i := 1; i <= 2; i++ {
		if !terminal[i] {
			continue
		}
		at := slices.Index(devices, device[i])
		if at < 0 {
			at = len(devices)
			s.ptys, devices = append(s.ptys, s.stdio[i]), append(devices, device[i])
		}
		s.spec.Stdio[i] = wire.FromPty + uint8(at)
	}
	s.spec.Ptys = uint8(len(s.ptys))
	for i, fd := range s.ptys {
		s.spec.Winsize[i] = winsize(fd)
	}
}

// printTo returns the descriptor for what the box writes to the terminal that is the
// standard input: one of the person's own, if it can be written.
func (s *session) printTo(device [3]uint64) int {
	for _, i := range []int{1, 2, 0} {
		if device[i] != device[0] {
			continue
		}
		if mode, err := unix.FcntlInt(uintptr(s.stdio[i]), unix.F_GETFL, 0); err == nil && mode&unix.O_ACCMODE != unix.O_RDONLY {
			return s.stdio[i]
		}
	}
	if fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", s.stdio[0]), unix.O_WRONLY|unix.O_NOCTTY|unix.O_CLOEXEC, 0); err == nil {
		s.print = fd
		return fd
	}
	return s.stdio[0] // the relay finds that it takes nothing
}

// own remembers a descriptor to be closed at the end.
func (s *session) own(fd int, err error) (int, error) {
	if err == nil {
		s.owned = append(s.owned, fd)
	}
	return fd, err
}

// start starts what makes the box: bwrap, a container's engine, or the supervisor itself. On
// error nothing is running.
//
// The order, up to [session.release]: the keyring before the fork, so that the
// box has it; descriptors close-on-exec before the fork; signals caught before
// the terminal is raw; raw before the word that lets the program start; the
// word only after the supervisor has said that it waits, and on this thread.
func (s *session) start(p plan.Plan) error {
	if err := freshKeyring(); err != nil {
		return err
	}
	wire.CloseOnExecFrom(3)
	s.limits.plan = p.Limits
	fork := s.startBwrap
	if p.Container != nil {
		fork = s.startContainer
	}
	if err := fork(p); err != nil {
		return err
	}
	s.listen()
	s.startPumps()
	return nil
}

// startBwrap makes the words of bwrap, the descriptors that they name, and the process.
func (s *session) startBwrap(p plan.Plan) error {
	// One processor is plenty for the supervisor: fewer threads to start and to
	// keep. Set by bwrap, it is in no environment that can be read.
	words := append(p.Words(), "--setenv", "GOMAXPROCS", "1")
	if s.full || s.o.Calls != nil {
		// The supervisor is the box's first process: nothing inside can trace,
		// kill or stop it, and with it everything inside ends. bwrap's own first
		// process can be traced, and talked out of dying with its parent.
		words = append(words, "--as-pid-1")
	}
	words = append(words, bounding(p)...)
	var data []uintptr // from plan.FirstDataFD on
	add := func(fd int, err error) error {
		_, err = s.own(fd, err)
		data = append(data, uintptr(fd))
		return err
	}
	for _, d := range p.Data {
		if err := add(wire.Memfd(d)); err != nil {
			return err
		}
	}
	if p.Map != nil {
		words = append(words, "--userns", strconv.Itoa(plan.FirstDataFD+len(data)))
		if err := add(mappedNamespace(p.Bwrap, *p.Map)); err != nil {
			return err
		}
	}
	s.spec.FillFD = plan.FirstDataFD + len(data)
	for _, f := range p.Fills {
		if err := add(wire.Pack(f.Source)); err != nil {
			return err
		}
	}
	args, err := s.own(wire.Memfd(nulTerminated(words)))
	if err != nil {
		return err
	}
	e, err := s.ends()
	if err != nil {
		return err
	}
	files, err := s.supervisorFiles(e, args)
	if err != nil {
		return err
	}
	if err = s.openDoor(); err != nil {
		return err
	}
	group, err := s.groupOf(p.Limits)
	if err != nil {
		return err
	}
	argv, env := command(p.Limits, []string{p.Bwrap, "--args", "5", "--", cmp.Or(p.Self, wire.Exe), wire.Word})
	err = s.fork(argv, env, append(files, data...), syscall.SysProcAttr{
		// CLONE_INTO_CGROUP (Linux 5.7): not one process of the box is outside.
		UseCgroupFD: group >= 0,
		CgroupFD:    max(group, 0),
		// No Pdeathsig: it would kill bwrap before it has released its
		// child, which then waits for that for ever (bwrap 0.8.0, measured).
		// Until bwrap asks for it itself the supervisor looks after this.
	})
	if err != nil {
		return fmt.Errorf("cannot run %q: %w", argv[0], err)
	}
	s.closeOwned()
	return nil
}

// fork starts the process that becomes bwrap, the engine or the supervisor.
func (s *session) fork(argv, env []string, files []uintptr, sys syscall.SysProcAttr) (err error) {
	sys.Setsid, sys.PidFD = true, &s.pidfd
	if s.pid, err = syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{Dir: "/", Env: env, Files: files, Sys: &sys}); err != nil {
		s.pid = -1
	}
	unix.Close(s.errEnd)
	s.errEnd = -1
	return err
}

// ends are the descriptors that every box is started with. They are among those that the
// session owns.
type ends struct {
	null  int
	spec  int    // what the supervisor reads of the run
	sock  int    // the supervisor's end
	stdio [3]int // the program's
}

// ends makes them, and what they are the other ends of.
func (s *session) ends() (e ends, err error) {
	if e.null, err = s.own(unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)); err != nil {
		return e, fmt.Errorf("/dev/null: %w", err)
	}
	if e.spec, err = s.own(wire.Memfd(s.spec.Encode())); err != nil {
		return e, err
	}
	var pair, pipe, wake [2]int
	if err = unix.Pipe2(wake[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return e, os.NewSyscallError("pipe2", err)
	}
	s.wakeR, s.wakeW = wake[0], wake[1]
	if err = unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return e, os.NewSyscallError("pipe2", err)
	}
	s.errPipe, s.errEnd = pipe[0], pipe[1]
	_ = unix.SetNonblock(s.errPipe, true)
	if pair, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0); err != nil {
		return e, os.NewSyscallError("socketpair", err)
	}
	s.sock = pair[0]
	e.sock, _ = s.own(pair[1], nil)
	_ = unix.SetsockoptInt(s.sock, unix.SOL_SOCKET, unix.SO_PASSCRED, 1)
	if err = s.openPipes(); err != nil {
		return e, err
	}
	for i := range e.stdio {
		e.stdio[i] = s.passed(i, e.null)
	}
	return e, nil
}

// supervisorFiles returns the descriptors of a process that is or becomes the supervisor, by
// their numbers there. args holds the arguments of bwrap.
func (s *session) supervisorFiles(e ends, args int) ([]uintptr, error) {
	// A path descriptor is enough to execute it, and gives nothing to read.
	exe, err := s.own(unix.Open(s.supervisor, unix.O_PATH|unix.O_CLOEXEC, 0))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.supervisor, err)
	}
	null := uintptr(e.null)
	files := []uintptr{null, null, uintptr(s.errEnd), wire.FdSocket: uintptr(e.sock), wire.FdExe: uintptr(exe), wire.FdArgs: uintptr(args), wire.FdSpec: uintptr(e.spec)}
	for _, fd := range e.stdio {
		files = append(files, uintptr(fd))
	}
	return files, nil
}

// passed returns the descriptor that becomes descriptor wire.FdStdio+i of the
// supervisor: the person's own, or null where that is not for the box. A terminal
// never is, for reading or for writing: whoever has a descriptor of one can open it
// again for both (/proc/self/fd), change its modes, and read what is typed at
// whatever is in its foreground.
func (s *session) passed(i, null int) int {
	fd := s.stdio[i]
	switch {
	case fd < 0 || s.spec.Stdio[i] != wire.FromLauncher:
		return null
	case s.pipes[i] >= 0:
		return s.pipes[i]
	case isTerminal(fd):
		return null
	}
	return fd
}

func nulTerminated(words []string) []byte {
	size := 0
	for _, w := range words {
		size += len(w) + 1
	}
	b := make([]byte, 0, size)
	for _, w := range words {
		b = append(append(b, w...), 0)
	}
	return b
}

// close lets go of everything but the signals: they stay caught, and without
// effect, while the caller cleans up after the run and exits. The writing end
// of the wake pipe is theirs; with Options.Done nobody else has it.
func (s *session) close() {
	if s.finished != nil {
		close(s.finished)
		<-s.awaited
		if s.running == 0 && s.pidfd >= 0 {
			defer unix.Close(s.wakeW)
		}
	}
	s.contained.leave(s.bwrap)
	s.real.restore()
	s.limits.group.Close()
	s.disconnect()
	s.closeOwned()
	s.closeDoor()
	s.covered.close()
	for _, fd := range []int{s.sock, s.errPipe, s.errEnd, s.pidfd, s.boxFd, s.print, s.wakeR} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

func (s *session) closeOwned() {
	for _, fd := range s.owned {
		unix.Close(fd)
	}
	s.owned = nil
}
