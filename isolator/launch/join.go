package launch

import (
	"cmp"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// A box with a terminal of its own may go on without the person's, and be joined from
// another one. The launcher stays the process it is, and everything of the run dies with
// it; only the terminal that it reads and writes changes. It listens on a socket in
// the run's folder, which no box sees:
//
//	inner attach                             launcher
//	  Terminal ────────────────────────────► reads and writes that terminal from now on
//	  waits            ◄───────────── Terminal
//	  Size ────────────────────────────────► its size has changed
//	  ends             ◄───────────── Released(words)  the box goes on without this terminal
//	  stops            ◄───────────── Stopped          the program has (^Z); joins again when continued
//	  ends with code   ◄───────────── Ended(code)      the program has ended; then the socket closes
//	                   ◄───────────── Failed(words)    refused
//	inner detach: Detach(words) ───────────► lets go of its terminal, with these words there
//	                 ◄─────────────── Detach           it has
//	  Stopped ─────────────────────────────► was stopped and continued: the shell has its terminal, see letgo.go
//
// Where the terminal is stands in a file beside the socket, for inner ps.
//
// The terminal itself crosses over, so that no byte passes through a third process. When
// inner attach ends, however it does, its end of the socket closes and the box goes on
// without a terminal. Who joins while somebody is joined takes over: a connection that
// died without a word must not lock its owner out.

// Where the terminal of a box is, see visit.State.
const (
	Starting      = "starting" // in the one it was started in; the program does not run yet
	InItsTerminal = "own"      // in the one it was started in
	Detached      = "none"     // in none: inner attach
	Asks          = "asks"     // in none, and a question waits for somebody who joins
	Joined        = "joined"   // in that of inner attach
	Stopped       = "stopped"  // in the one it was started in, and stopped there (^Z)
)

// joining is the state of all that: where the terminal of the box is, and who talks with the
// launcher about it. A descriptor is -1 for none.
type joining struct {
	door     int   // the socket it listens on
	visitors []int // the connections
	guest    int   // that of whoever has joined

	closed bool // the program has no such terminal: nobody joins
	stay   bool // the box goes on when its terminal is gone
	taken  bool // a shell took the one that it was started in, see recall
}

// maxVisitors is how many connections are kept at a time, and maxWaiting how many more can wait.
const (
	maxVisitors = 256
	maxWaiting  = 128
)

// openDoor listens for those who want to join the box, or to give it something. Only one whose whole terminal is the
// box's can be joined, and go on without it.
func (s *session) openDoor() (err error) {
	if s.o.Join == "" {
		return nil
	}
	s.join.closed = s.o.Calls != nil
	for _, from := range s.job.Stdio {
		if !s.join.closed && (!s.console.full || from != wire.FromPty || len(s.console.ptys) != 1) {
			if s.o.Stay {
				return ErrNoTerminal
			}
			s.join.closed = true
		}
	}
	s.join.stay = s.o.Stay
	if s.join.door, err = wire.Listen(s.o.Join, maxWaiting); err != nil {
		return fmt.Errorf("socket %s: %w", s.o.Join, err)
	}
	return nil
}

// welcome takes a connection of the user's own processes outside of all boxes.
func (s *session) welcome() {
	fd, _, err := wire.Accept(s.join.door, true)
	if err == nil {
		s.join.visitors = append(s.join.visitors, fd)
	}
}

// visit reads what a connection says.
func (s *session) visit(fd int) {
	m, fds, _, err := wire.Receive(fd)
	switch {
	case err == unix.EAGAIN:
	case err != nil:
		s.leave(fd)
	case m.Kind == wire.Grant && len(fds) == 1 && s.o.Grant != nil:
		s.grant(fd, fds[0])
	case s.o.Calls != nil && m.Kind != wire.Terminal && m.Kind != wire.Detach:
		s.visitCalls(fd, m, fds)
		return
	case m.Kind == wire.Terminal && len(fds) == 1 && isTerminal(fds[0]):
		s.admit(fd, fds[0])
		return
	case m.Kind == wire.Size && fd == s.join.guest:
		s.attach() // it may just have been put into the foreground
		s.resize()
	case m.Kind == wire.Detach:
		s.letGo(fd, m.Text)
	case m.Kind == wire.Stopped:
		s.join.taken = true
	}
	wire.CloseAll(fds)
}

// WhereSuffix ends the name of the file that says where the terminal is, once the program runs: it begins with that of
// the socket.
const WhereSuffix = ".at"

// noteWhere writes that file.
func (s *session) noteWhere() {
	if s.join.door < 0 {
		return
	}
	where := ""
	if !s.join.closed {
		where = cmp.Or(map[place]string{guests: Joined, none: Detached}[s.console.at], InItsTerminal)
		if where == Detached && len(s.questions) > 0 {
			where = Asks
		}
	}
	_ = os.WriteFile(s.o.Join+WhereSuffix, []byte(where), 0o600)
}

// admit puts the box into a terminal, which is ours to close.
func (s *session) admit(fd, terminal int) {
	refusal := ""
	switch {
	case s.join.closed:
		refusal = NoTerminal
	case !s.runs():
		refusal = notRunning
	case !s.join.stay:
		refusal = "it is in the terminal it was started in, and not detached"
	default:
		s.moveTo(terminal, fd, takenOver)
		return
	}
	_ = wire.Send(fd, wire.Msg{Kind: wire.Failed, Text: refusal})
	unix.Close(terminal)
}

// NoTerminal is why nobody can join a box.
const NoTerminal = "its program has no terminal of its own to be joined by"

const notRunning = "its program is starting or has ended"

// leave follows the end of a connection.
func (s *session) leave(fd int) {
	s.join.visitors = slices.DeleteFunc(s.join.visitors, func(v int) bool { return v == fd })
	unix.Close(fd)
	if c := s.callOf(fd); c != nil {
		c.client = -1
		s.endWhole(c)
	}
	if fd == s.join.guest {
		s.join.guest = -1
		s.moveTo(-1, -1, wire.Msg{})
	}
}

// tellEnd says to whoever is joined how the program ended. The connection stays open until
// this process ends, since more may be said on the terminal.
func (s *session) tellEnd(code int) {
	if s.join.guest >= 0 {
		_ = wire.Send(s.join.guest, wire.Msg{Kind: wire.Ended, N: uint32(code)})
	}
}

// shutDoor ends the listening.
func (s *session) shutDoor() {
	if s.join.door >= 0 {
		_ = unix.Unlink(s.o.Join)
	}
	closeFds(&s.join.door)
}

// closeDoor ends the connections, too, but for that of the guest.
func (s *session) closeDoor() {
	s.shutDoor()
	for _, fd := range s.join.visitors {
		if fd != s.join.guest {
			unix.Close(fd)
		}
	}
	s.join.visitors = nil
}
