// Package wire is the one protocol of a box: messages with descriptors over a SOCK_SEQPACKET socket,
// between the launcher and the first process of the box (package box), and what they describe. The
// box runs jobs: the program of a plan is the first one, calls of a session are others.
//
//	launcher                            first process
//	  Make(Box) ───────────────────────►
//	                    ◄───────────────── Here             mount in it
//	                    ◄───────────────── Ready            all is done that goes before a job; with the masters of its terminals
//	  Start(job) ──────────────────────► a Job and its standard streams; where no terminals come, not after Ready
//	                    ◄───────────────── Observer         where the program is observed
//	                    ◄───────────────── Started, or Failed
//	  Signal(job), Kill(job) ──────────►
//	                    ◄───────────────── Stopped, Ended, Killed
//	  Socket(kind) ────────────────────►
//	                    ◄───────────────── Socket           one of the box's network
//
// The program of a box is started on the launcher's word alone, and by then everything that has to die
// with the launcher is tied to its life. A job cannot speak in the first process's place.
package wire

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/visible"
)

// Descriptors of the first process, agreed between both ends. bwrap leaves what
// it does not know open (measured with bwrap 0.8.0).
const (
	FdSocket = 3 // SOCK_SEQPACKET, to the launcher
	FdExe    = 4 // its binary
	FdArgs   = 5 // bwrap's arguments, consumed by bwrap
)

// Word is the argument that makes a binary of inner the first process of a box, and
// Exe the name it is started under: together they cannot be typed by
// accident, as a shim called with the word __box would be.
const (
	Word = "__box"
	Exe  = "/proc/self/fd/4"
)

// Kind is what a message says. The comments name who says it, and what N and Text are then.
type Kind byte

// All of them.
const (
	Make     Kind = 'm' // launcher: here is a Box, in a file
	Here     Kind = 'h' // box: it is there
	Ready    Kind = 'r' // box: it is made; here are the masters of Box.Terminals
	Start    Kind = 'j' // launcher: start this Job, in a file, with these three streams
	Observer Kind = 'o' // box: here is the listener of a job's system calls
	Started  Kind = 'b' // box: the job is about to start
	Failed   Kind = 'x' // box: it could not, with exit code N, because of Text; job 0 is the box itself
	Signal   Kind = 's' // launcher: send N to the process group of the job, see Front
	Stopped  Kind = 'z' // box: signal N has stopped the job
	Ended    Kind = 'e' // box: it ended with the wait status N
	Kill     Kind = 'k' // launcher: end all processes of the job
	Killed   Kind = 'g' // box: none is left
	Socket   Kind = 'n' // launcher: make one of the family, type and protocol in the bytes of N; box: here it is, or the errno N, in their order
)

// Messages between a client and the launcher of a box for calls. Signal, Kill, Started and Failed are as
// above, about the client's call; Ended comes with the answer, in a file.
const (
	Call Kind = 'C' // client: run this, in a file, with these three streams
	End  Kind = 'X' // client: end the box
)

// Grant is what inner allow says to the launcher of any box: have it get this, in a file. The answer is Grant or
// Failed, with what became of it as Text.
const Grant Kind = 'G'

// Messages between a launcher and inner attach or detach. A client sends Terminal with its terminal, which the
// launcher reads and writes from its own Terminal on, until it says Released, or Ended with the exit code N. Failed
// refuses what was asked for, because of Text; Stopped says that the program has, and that the box goes on without the
// terminal until the client sends Terminal again.
const (
	Terminal Kind = 't' // client: here is my terminal; launcher: it is the box's now
	Size     Kind = 'W' // client: the size of its terminal has changed
	Detach   Kind = 'D' // client: go on without your terminal, with Text there; launcher: it does
	Released Kind = 'L' // launcher: the box goes on without the client's terminal, because of Text
)

// Front is added to a SIGCONT when the job gets the foreground of its terminal with it.
const Front = 1 << 8

// First is the number of the job that is the program of a plan.
const First = 1

// Msg is a message.
type Msg struct {
	Kind Kind
	Job  uint32
	N    uint32
	Text string
}

const (
	header     = 9   // of a message, before its text
	MaxMessage = 512 // bytes; a longer text is cut
)

// Send sends a message. It never blocks and never raises SIGPIPE. The descriptors stay the caller's.
func Send(sock int, m Msg, fds ...int) error {
	var buf [MaxMessage]byte
	b := append(buf[:0], byte(m.Kind))
	b = binary.LittleEndian.AppendUint32(b, m.Job)
	b = binary.LittleEndian.AppendUint32(b, m.N)
	b = append(b, m.Text[:min(len(m.Text), MaxMessage-header)]...)
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	for {
		err := unix.Sendmsg(sock, b, oob, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
		if err != unix.EINTR {
			return err
		}
	}
}

// giveWithin is how long the other end may take to read.
const giveWithin = 10 * time.Second

// SendPatiently waits for room, as Send does not.
func SendPatiently(sock int, m Msg, fds ...int) error {
	for end := time.Now().Add(giveWithin); ; {
		err := Send(sock, m, fds...)
		if err != unix.EAGAIN || time.Now().After(end) {
			return err
		}
		Poll(sock, unix.POLLOUT, 100)
	}
}

// Receive receives a message without blocking: unix.EAGAIN says that there is none now, io.EOF that
// there will be none any more. The descriptors that came with it are close-on-exec and the caller's;
// pid is the sender as the kernel knows it, or 0.
func Receive(sock int) (m Msg, fds []int, pid int, err error) {
	var buf [MaxMessage]byte
	var oob [96]byte
	n, oobn, _, _, err := unix.Recvmsg(sock, buf[:], oob[:], unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC)
	switch {
	case err == unix.EINTR, err == unix.ECONNRESET:
		// The second is told once, and before what lies there, when the other end closed without
		// having read all (unix_release_sock): why it did comes next.
		return Receive(sock)
	case err == unix.EAGAIN:
		return m, nil, 0, err
	case err != nil:
		return m, nil, 0, io.EOF
	}
	cms, _ := unix.ParseSocketControlMessage(oob[:oobn])
	for i := range cms {
		if cred, err := unix.ParseUnixCredentials(&cms[i]); err == nil {
			pid = int(cred.Pid)
		}
		if got, err := unix.ParseUnixRights(&cms[i]); err == nil {
			fds = append(fds, got...)
		}
	}
	if n >= header {
		m = Msg{Kind(buf[0]), binary.LittleEndian.Uint32(buf[1:]), binary.LittleEndian.Uint32(buf[5:]), string(buf[header:n])}
		return m, fds, pid, nil
	}
	CloseAll(fds)
	if n == 0 {
		return m, nil, 0, io.EOF
	}
	return m, nil, pid, nil // no kind
}

// Await is Receive, and waits.
func Await(sock int) (m Msg, fds []int, err error) {
	for {
		Poll(sock, unix.POLLIN, -1)
		if m, fds, _, err = Receive(sock); err != unix.EAGAIN {
			return m, fds, err
		}
	}
}

// Pair returns both ends of a connection; the first one is told who sends.
func Pair() (ours, theirs int, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, -1, os.NewSyscallError("socketpair", err)
	}
	_ = unix.SetsockoptInt(pair[0], unix.SOL_SOCKET, unix.SO_PASSCRED, 1)
	return pair[0], pair[1], nil
}

// Seal returns a file in memory that holds a Box or a Job, and Unseal reads it.
func Seal(v any) (fd int, err error) { return Memfd(Encode(v)) }

// Unseal leaves the descriptor open.
func Unseal(fd int, v any) error {
	data, err := Content(fd)
	if err != nil {
		return err
	}
	return Decode(data, v)
}

// Content reads a file in memory.
func Content(fd int) ([]byte, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	data := make([]byte, st.Size)
	if n, err := ReadAt(fd, data, 0); err != nil || n < len(data) {
		return nil, errors.Join(err, io.ErrUnexpectedEOF)
	}
	return data, nil
}

// Line makes one printable line of text that came from elsewhere.
func Line(s string) string {
	s = visible.Text(strings.TrimSpace(s))
	const limit = 400
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + "..."
	}
	return s
}
