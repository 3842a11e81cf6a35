// Package server serves the git directories of a project to its box, in a process of its own.
//
// The process is started beside what makes the box, and ended before it: whoever waits for an answer
// of a server that is stopped cannot be killed. It reads what a hostile box wrote, so Landlock leaves it the
// repositories and git alone. Killed at any moment it leaves lock files in the repository at most,
// which the launcher removes by the journal.
//
//	s, err := server.Start(exe)
//	err = s.Describe(repositories)
//	err = s.Mount(namespaces)     // all are in the box, and it may start
//	s.End()                       // before the box ends
//
// What the process does is isolator/git/share: a program that starts boxes does not link it.
package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/git/gate"
	"github.com/enr/inner/profile/gitconfig"
)

// Repository is one that is served.
type Repository struct {
	gate.Repository
	Box string // where the box has its store of objects

	// Policy says what of the repository's settings the box sees: what remains of them, without logins when Logins
	// is not set. Ours come after them.
	Policy *gitconfig.Policy
	Logins bool
	Ours   []gitconfig.Entry
	// Ignored are patterns of files that the box's git ignores, besides those of the host's info/exclude.
	Ignored []string
	leaves  []string // those of Covered that are tracked: its git leaves them as they are
	Away    []string // names of the git directory that the box does not see
}

// serve is what a binary of inner is started as to serve.
var serve = []string{"inner: git", "__git"}

// Is reports whether this process was started for that.
func Is(args []string) bool { return slices.Equal(args, serve) }

// Message is what a server tells.
type Message struct {
	Failed string // it cannot serve
	Line   string // for the person
	Moved  *Moved
}

// Say is a message with a line for the person.
func Say(format string, args ...any) Message { return Message{Line: fmt.Sprintf(format, args...)} }

// Moved is a ref, or a HEAD, that a box made, moved or, with New "", removed, maybe in several steps, with nobody else's
// between them. The values are ids in hex, or "ref: " and a name.
type Moved struct{ Repo, Ref, Old, New string }

// Server is a process that serves.
type Server struct {
	socket int
	words  *os.File // a pipe: the repositories, as JSON, and a byte for what mounts, which ends with it
	pid    int
	over   chan struct{} // closed when the process is gone
	failed error         // why it is, when it was killed or has failed
	heard  chan struct{} // closed when all that it told was taken; nil before it serves
	repos  []Repository

	mu    sync.Mutex
	lines []string
	moved []Moved
}

// The descriptors of a server.
const (
	SocketFD = 3 // messages
	WordsFD  = 4 // a pipe: the repositories, as JSON, and then a byte that what mounts waits for
)

// threads is how many threads of a server run Go code until all that it serves is open: with one that is faster.
const threads = "GOMAXPROCS=1"

// slack is how late the timers of a server may be. Go's runtime looks at its threads every 20 us after each
// pause, which costs more than the requests do.
const slack = 10 * time.Millisecond

// maxLines is how many lines of one box are kept, and MaxMoved how many moves: it can make as many as it likes.
const (
	maxLines = 1000
	MaxMoved = 1000
)

// Start starts a server, without waiting for it. program is a binary of inner. It serves what Describe says: a start
// takes longer than it does to find that out.
func Start(program string) (*Server, error) {
	theirWords, words, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirWords.Close()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		words.Close()
		return nil, err
	}
	theirs := os.NewFile(uintptr(pair[1]), "server")
	defer theirs.Close()
	s := &Server{socket: pair[0], words: words, over: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // PR_SET_PDEATHSIG looks at the thread
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0)
		cmd := &exec.Cmd{
			Path: program, Args: serve, Env: []string{"PATH=/usr/bin:/bin", threads}, Dir: "/", ExtraFiles: []*os.File{theirs, theirWords},
			SysProcAttr: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}, // no signal of a terminal reaches it
		}
		err := cmd.Start()
		if err == nil {
			s.pid = cmd.Process.Pid
		}
		started <- err
		if err == nil {
			s.failed = cmd.Wait()
			_ = unix.Shutdown(s.socket, unix.SHUT_RDWR) // a process that mounts for it may have the other end
		}
		words.Close()
		close(s.over)
	}()
	if err := <-started; err != nil {
		unix.Close(s.socket)
		return nil, err
	}
	return s, nil
}

// Describe says what to serve.
func (s *Server) Describe(repos []Repository) error {
	s.repos = repos
	text, err := json.Marshal(repos)
	if err == nil {
		_, err = s.words.Write(text)
	}
	return err
}

// Mount has the server mount all repositories in a box, whose namespaces these are (share.Mounting), and returns
// when it serves them.
func (s *Server) Mount(user, mounts int) error {
	err := unix.Sendmsg(s.socket, []byte{'M'}, unix.UnixRights(mounts, user), nil, unix.MSG_NOSIGNAL)
	if err == nil {
		err = s.answer()
	}
	if err == nil {
		_, err = s.words.Write([]byte{'M'})
	}
	if err == nil {
		err = s.answer()
	}
	if err != nil {
		return err
	}
	s.heard = make(chan struct{})
	go s.listen()
	return nil
}

// answer waits for an answer of the server.
func (s *Server) answer() error {
	m, err := s.receive()
	switch {
	case err != nil:
		return fmt.Errorf("the server of the repository: %w", err)
	case m.Failed != "":
		return errors.New(m.Failed)
	}
	return nil
}

func (s *Server) receive() (m Message, err error) {
	buf := make([]byte, 64<<10)
	n, err := Recv(s.socket, buf, nil)
	if err == nil && n == 0 {
		err = errors.New("it ended")
	}
	if err == nil {
		err = json.Unmarshal(buf[:n], &m)
	}
	return m, err
}

// Recv receives a message on a socket, and what comes with it.
func Recv(socket int, buf, oob []byte) (n int, err error) {
	for {
		n, _, _, _, err := unix.Recvmsg(socket, buf, oob, unix.MSG_CMSG_CLOEXEC)
		if err != unix.EINTR {
			return n, err
		}
	}
}

// listen takes what the server tells.
func (s *Server) listen() {
	defer close(s.heard)
	for {
		m, err := s.receive()
		if err != nil {
			return
		}
		s.mu.Lock()
		if m.Line != "" && len(s.lines) < maxLines && !slices.Contains(s.lines, m.Line) {
			s.lines = append(s.lines, m.Line)
		}
		if m.Moved != nil {
			s.moved = m.Moved.After(s.moved)
		}
		s.mu.Unlock()
	}
}

// After adds a move to those before it.
func (m Moved) After(list []Moved) []Moved {
	for i, o := range slices.Backward(list) {
		if o.Repo == m.Repo && o.Ref == m.Ref {
			if o.New != m.Old {
				break
			}
			list[i].New = m.New
			return list
		}
	}
	return append(list, m)[:min(len(list)+1, MaxMoved)]
}

// Told returns what the server has told since the last call.
func (s *Server) Told() (lines []string, moved []Moved) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines, moved = s.lines, s.moved
	s.lines, s.moved = nil, nil
	return lines, moved
}

// End ends the server: what the box asks for from now on fails. It may be called again.
func (s *Server) End() {
	select {
	case <-s.over:
		if s.heard != nil && s.failed != nil {
			<-s.heard
			const ended = "git: the server of the repositories ended (%v), and git failed in the sandbox from then on"
			s.lines, s.heard = append(s.lines, fmt.Sprintf(ended, s.failed)), nil
		}
		return
	default:
	}
	_ = unix.Kill(s.pid, unix.SIGKILL)
	_ = unix.Shutdown(s.socket, unix.SHUT_RDWR) // what is on its way comes still
	if s.heard != nil {
		<-s.heard
		s.heard = nil
	}
	for _, r := range s.repos {
		if Locks(r.Private) {
			<-s.over                    // the kernel takes some 15 ms to end a process that has an inotify
			_ = Sweep(r.Dir, r.Private) // else the next run does
		}
	}
}

// Close lets go of what is left, after End.
func (s *Server) Close() { unix.Close(s.socket) }
