package launch

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// A box with a terminal of its own may go on without the person's, and be joined from
// another one. The launcher stays the process it is, and everything of the run dies with
// it; only the terminal that it reads and writes changes. It listens on a socket in
// the run's folder, which no box sees:
//
//	inner attach                             launcher
//	  A(terminal) ─────────────────────────► reads and writes that terminal from now on
//	  waits            ◄──────────────── a
//	  W ───────────────────────────────────► its size has changed
//	  ends             ◄──────── d(words)    the box goes on without this terminal
//	  ends with code   ◄──────── e(code)     the program has ended; then the socket closes
//	                   ◄──────── r(words)    refused
//	inner detach: D(words) ────────────────► lets go of its terminal, with these words there
//	                 ◄──────────────────── z stops itself, to be continued: see letgo.go
//	inner ps: Q ───────────────────────────► s(state)
//
// The terminal itself crosses over, so that no byte passes through a third process. When
// inner attach ends, however it does, its end of the socket closes and the box goes on
// without a terminal. Who joins while somebody is joined takes over: a connection that
// died without a word must not lock its owner out.
const (
	joinAsk    = 'A'
	joinSize   = 'W'
	joinLeave  = 'D'
	joinState  = 'Q'
	joinDone   = 'a'
	joinLetGo  = 'd'
	joinEnded  = 'e'
	joinNo     = 'r'
	joinStops  = 'z'
	joinStates = 's'
)

// Where the terminal of a box is, see State.
const (
	Starting      = "starting" // in the one it was started in; the program does not run yet
	InItsTerminal = "own"      // in the one it was started in
	Detached      = "none"     // in none: inner attach
	Joined        = "joined"   // in that of inner attach
	Stopped       = "stopped"  // in the one it was started in, and stopped there (^Z)
)

// joining is the state of all that: where the terminal of the box is, and who talks with the
// launcher about it. A descriptor is -1 for none.
type joining struct {
	door     int   // the socket it listens on
	visitors []int // the connections
	guest    int   // that of whoever has joined
	detacher int   // that of whoever detaches the box from the terminal it was started in

	stay   bool  // the box goes on when its terminal is gone
	away   bool  // it has none now
	moving *move // to another terminal, see move.go

	former      int    // the connection of whoever had the box before the move, and
	formerWords string // what is said there when it is done
}

// maxVisitors is how many connections are kept at a time.
const maxVisitors = 8

// openDoor listens for those who want to join the box. Only one whose whole terminal is the
// box's can go on without it.
func (s *session) openDoor() error {
	if s.o.Join == "" {
		return nil
	}
	for _, from := range s.job.Stdio {
		if !s.console.full || from != wire.FromPty || len(s.console.ptys) != 1 {
			if s.o.Stay {
				return errNoTerminal
			}
			return nil
		}
	}
	fd, at, err := joinSocket(s.o.Join)
	if err != nil {
		return err
	}
	defer unix.Close(at.dir)
	_ = unix.Unlink(s.o.Join) // of a start that did not succeed
	old := unix.Umask(0o177)
	err = unix.Bind(fd, &unix.SockaddrUnix{Name: at.name})
	unix.Umask(old)
	if err == nil {
		err = unix.Listen(fd, maxVisitors)
	}
	if err != nil {
		unix.Close(fd)
		return os.NewSyscallError("socket "+s.o.Join, err)
	}
	s.join.door, s.join.stay = fd, s.o.Stay
	return nil
}

// joinPlace is a socket by a name that is short enough, whatever its folder is called.
type joinPlace struct {
	dir  int
	name string
}

func joinSocket(path string) (fd int, at joinPlace, err error) {
	at.dir, err = unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, at, &os.PathError{Op: "open", Path: filepath.Dir(path), Err: err}
	}
	at.name = "/proc/self/fd/" + strconv.Itoa(at.dir) + "/" + filepath.Base(path)
	fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		unix.Close(at.dir)
		return -1, at, os.NewSyscallError("socket", err)
	}
	return fd, at, nil
}

// welcome takes a connection of the user's own processes outside of all boxes.
func (s *session) welcome() {
	fd, _, err := unix.Accept4(s.join.door, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
	if err != nil {
		return
	}
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil || !OutsideBoxes(peer) || len(s.join.visitors) >= maxVisitors {
		unix.Close(fd)
		return
	}
	s.join.visitors = append(s.join.visitors, fd)
}

// OutsideBoxes reports whether a process is the user's own, and in our own namespace of
// processes and of users, where no process of a box is.
func OutsideBoxes(peer *unix.Ucred) bool {
	pid := int(peer.Pid)
	if int(peer.Uid) != os.Getuid() {
		return false
	}
	for _, kind := range []string{"pid", "user"} {
		theirs, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/" + kind)
		ours, oerr := os.Readlink("/proc/self/ns/" + kind)
		if err != nil || oerr != nil || theirs != ours {
			return false
		}
	}
	return true
}

// visit reads what a connection says.
func (s *session) visit(fd int) {
	var buf [wire.MaxMessage]byte
	n, _, fds, err := wire.ReceiveBytes(fd, buf[:])
	switch {
	case err == unix.EAGAIN:
		return
	case err != nil || n == 0:
		wire.CloseAll(fds)
		s.leave(fd)
		return
	}
	switch {
	case buf[0] == joinAsk && len(fds) == 1 && isTerminal(fds[0]):
		s.admit(fd, fds[0])
		return
	case buf[0] == joinSize && fd == s.join.guest:
		s.attach() // it may just have been put into the foreground
		s.resize()
	case buf[0] == joinLeave:
		if !s.runs() {
			s.refuseJoin(fd, "its program is starting or has ended")
			break
		}
		s.join.stay = true
		switch {
		case s.join.moving == nil && !s.elsewhere():
			s.moveTo(-1, -1, "")
			s.join.detacher, s.join.moving.words = fd, "\n"+wire.Line(string(buf[1:n]))+"\n"
		case s.join.guest >= 0:
			s.moveTo(-1, -1, "detached")
			fallthrough
		default:
			_ = wire.SendBytes(fd, []byte{joinDone})
		}
	case buf[0] == joinState:
		_ = wire.SendBytes(fd, append([]byte{joinStates}, s.where()...))
	}
	wire.CloseAll(fds)
}

func (s *session) where() string {
	switch {
	case !s.program.started && !s.program.ended:
		return Starting
	case s.join.guest >= 0:
		return Joined
	case s.join.away:
		return Detached
	}
	return InItsTerminal
}

func (s *session) refuseJoin(fd int, words string) {
	_ = wire.SendBytes(fd, append([]byte{joinNo}, words...))
}

// admit puts the box into a terminal, which is ours to close.
func (s *session) admit(fd, terminal int) {
	switch {
	case !s.runs():
		s.refuseJoin(fd, "its program is starting or has ended")
	case !s.join.stay:
		s.refuseJoin(fd, "it is in the terminal it was started in, and not detached")
	case s.join.moving != nil:
		s.refuseJoin(fd, "another terminal is just joining it")
	default:
		s.moveTo(terminal, fd, "taken over from another terminal")
		return
	}
	unix.Close(terminal)
}

// leave follows the end of a connection.
func (s *session) leave(fd int) {
	s.join.visitors = slices.DeleteFunc(s.join.visitors, func(v int) bool { return v == fd })
	unix.Close(fd)
	switch {
	case fd == s.join.detacher:
		s.join.detacher = -1 // nobody would continue us
	case s.join.moving != nil && s.join.moving.guest == fd:
		s.join.moving.guest = -1
		closeFds(&s.join.moving.terminal)
	case fd == s.join.guest:
		s.join.guest = -1
		s.goAway()
	}
}

// tellEnd says to whoever is joined how the program ended. The connection stays open until
// this process ends, since more may be said on the terminal.
func (s *session) tellEnd(code int) {
	if s.join.guest >= 0 {
		_ = wire.SendBytes(s.join.guest, []byte{joinEnded, byte(code)})
	}
}

// closeDoor ends the listening. Of the connections that of the guest stays.
func (s *session) closeDoor() {
	if s.join.door >= 0 {
		unix.Close(s.join.door)
		_ = unix.Unlink(s.o.Join)
		s.join.door = -1
	}
	for _, fd := range s.join.visitors {
		if fd != s.join.guest {
			unix.Close(fd)
		}
	}
	s.join.visitors = nil
	if m := s.join.moving; m != nil {
		closeFds(&m.terminal, &m.old)
		s.join.moving = nil
	}
}
