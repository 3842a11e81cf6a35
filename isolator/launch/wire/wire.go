// Package wire is what the launcher and the supervisor of a box say to each other: the descriptors
// that they agree on, what the supervisor has to do, and the messages.
package wire

import (
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/visible"
)

// Descriptors of the supervisor, agreed between both ends. bwrap leaves what
// it does not know open (measured with bwrap 0.8.0).
const (
	FdSocket = 3 // SOCK_SEQPACKET, to the launcher
	FdExe    = 4 // its binary
	FdArgs   = 5 // bwrap's arguments, consumed by bwrap
	FdSpec   = 6 // a Spec
	FdStdio  = 7 // 7, 8, 9: stdin, stdout, stderr that pass through
)

// Word is the argument that makes a binary of inner a supervisor, and
// Exe the name it is started under: together they cannot be typed by
// accident, as a shim called with the word __box would be.
const (
	Word = "__box"
	Exe  = "/proc/self/fd/4"
)

// Messages of the supervisor: one letter, then what is listed.
const (
	MsgReady   = 'R' // it is there, and will wait for the word
	MsgListen  = 'L' // a socket it listens on, by SCM_RIGHTS: index in the plan (1 byte)
	MsgNetwork = 'N' // those were all, with the dispenser's socket when asked for
	MsgObserve = 'O' // the listener of the program's calls, by SCM_RIGHTS
	MsgFilled  = 'D' // a folder that is filled, by SCM_RIGHTS: index in the plan (1 byte)
	MsgMaster  = 'M' // the masters of its terminals, by SCM_RIGHTS
	MsgStart   = 'P' // it is about to start the program
	MsgFailed  = 'X' // it could not: exit code (1 byte), reason
	MsgStopped = 'S' // the program stopped: signal (1 byte)
	MsgEnded   = 'E' // the program ended: wait status (4 bytes)

	// Of a box that runs calls, each with the number of the call (4 bytes) first.
	MsgCallStart  = 'c' // its program is about to start
	MsgCallFailed = 'x' // it could not: exit code (1 byte), reason
	MsgCallEnded  = 'e' // it ended: wait status (4 bytes)
	MsgCallKilled = 'k' // no process of it is left
)

// Messages of the launcher.
const (
	MsgGo     = 'G'
	MsgSignal = 's' // signal (1 byte)
	MsgGive   = 'F' // the program may have its terminal
	MsgTyped  = 'T' // settle in package supervisor: how much to wait for, and the modes to set then (4 bytes each)
	MsgHangup = 'H' // the terminal is gone

	MsgCall       = 'C' // number of the call (4 bytes); its spec and standard streams, by SCM_RIGHTS
	MsgCallSignal = 'J' // to its process group: number (4 bytes), signal (1 byte)
	MsgCallKill   = 'K' // its processes are to end: number (4 bytes)
)

// MaxMessage bounds a message of the supervisor; a longer one is cut.
const MaxMessage = 512

// Where a standard descriptor of the program comes from.
const (
	FromLauncher = 0 // descriptor FdStdio+i
	FromPty      = 1 // the first terminal of the box; 2 is the second
)

// MaxPtys is the most terminals of a box: one for each standard descriptor, when all
// three are of different terminals.
const MaxPtys = 3

// Send sends one message. It never blocks and never raises SIGPIPE.
func Send(sock int, msg []byte, fds ...int) error {
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	for {
		err := unix.Sendmsg(sock, msg, oob, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
		if err != unix.EINTR {
			return err
		}
	}
}

// Receive receives one message without blocking. n == 0 means that the other
// end is closed; unix.EAGAIN that there is no message now. The descriptors
// that came with it are close-on-exec and belong to the caller; pid is the
// sender as the kernel knows it, or 0.
func Receive(sock int, buf []byte) (n, pid int, fds []int, err error) {
	var oob [96]byte
	var oobn int
	for {
		n, oobn, _, _, err = unix.Recvmsg(sock, buf, oob[:], unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC)
		if err != unix.EINTR {
			break
		}
	}
	if err != nil {
		return 0, 0, nil, err
	}
	cms, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		return n, 0, nil, nil
	}
	for i := range cms {
		if cred, err := unix.ParseUnixCredentials(&cms[i]); err == nil {
			pid = int(cred.Pid)
		}
		if got, err := unix.ParseUnixRights(&cms[i]); err == nil {
			fds = append(fds, got...)
		}
	}
	return n, pid, fds, nil
}

// giveWithin is how long the supervisor may take to read.
const giveWithin = 10 * time.Second

// SendPatiently waits for room, as Send does not.
func SendPatiently(sock int, msg []byte, fds ...int) error {
	for end := time.Now().Add(giveWithin); ; {
		err := Send(sock, msg, fds...)
		if err != unix.EAGAIN || time.Now().After(end) {
			return err
		}
		Poll(sock, unix.POLLOUT, 100)
	}
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
