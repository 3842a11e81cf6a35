package launch

import (
	"encoding/binary"
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/limits"
	"github.com/enr/inner/isolator/plan"
)

// Descriptors of the supervisor, agreed between both ends. bwrap leaves what
// it does not know open (measured with bwrap 0.8.0).
const (
	fdSocket = 3 // SOCK_SEQPACKET, to the launcher
	fdExe    = 4 // the inner binary
	fdArgs   = 5 // bwrap's arguments, consumed by bwrap
	fdSpec   = 6 // the spec below
	fdStdio  = 7 // 7, 8, 9: stdin, stdout, stderr that pass through
)

// boxWord is the argument that makes the inner binary a supervisor, and
// boxExe the name it is started under: together they cannot be typed by
// accident, as a shim called with the word __box would be.
const (
	boxWord = "__box"
	boxExe  = "/proc/self/fd/4"
)

// Messages of the supervisor: one letter, then what is listed.
const (
	msgReady   = 'R' // it is there, and will wait for the word
	msgListen  = 'L' // a socket it listens on, by SCM_RIGHTS: index in the plan (1 byte)
	msgNetwork = 'N' // those were all, with the dispenser's socket when asked for
	msgObserve = 'O' // the listener of the program's calls, by SCM_RIGHTS
	msgFilled  = 'D' // a folder that is filled, by SCM_RIGHTS: index in the plan (1 byte)
	msgMaster  = 'M' // the masters of its terminals, by SCM_RIGHTS
	msgStart   = 'P' // it is about to start the program
	msgFailed  = 'X' // it could not: exit code (1 byte), reason
	msgStopped = 'S' // the program stopped: signal (1 byte)
	msgEnded   = 'E' // the program ended: wait status (4 bytes)

	// Of a box that runs calls, each with the number of the call (4 bytes) first.
	msgCallStart  = 'c' // its program is about to start
	msgCallFailed = 'x' // it could not: exit code (1 byte), reason
	msgCallEnded  = 'e' // it ended: wait status (4 bytes)
	msgCallKilled = 'k' // no process of it is left
)

// Messages of the launcher.
const (
	msgGo     = 'G'
	msgSignal = 's' // signal (1 byte)
	msgGive   = 'F' // the program may have its terminal
	msgTyped  = 'T' // see [box.settle]: how much to wait for, and the modes to set then (4 bytes each)
	msgHangup = 'H' // the terminal is gone

	msgCall       = 'C' // number of the call (4 bytes); its spec and standard streams, by SCM_RIGHTS
	msgCallSignal = 'J' // to its process group: number (4 bytes), signal (1 byte)
	msgCallKill   = 'K' // its processes are to end: number (4 bytes)
)

// maxMessage bounds a message of the supervisor; a longer one is cut.
const maxMessage = 512

// Where a standard descriptor of the program comes from.
const (
	fromLauncher = 0 // descriptor fdStdio+i
	fromPty      = 1 // the first terminal of the box; 2 is the second
)

// maxPtys is the most terminals of a box: one for each standard descriptor, when all
// three are of different terminals.
const maxPtys = 3

// spec is what the supervisor has to do.
type spec struct {
	Full    bool  // the first terminal is the controlling one, with job control
	Waits   bool  // the program is to ask for that terminal, see [session.want]
	Ptys    uint8 // how many terminals to open
	Stdio   [3]uint8
	Ignored uint64 // signals, bit n-1 for signal n, that stay ignored
	Winsize [maxPtys]unix.Winsize
	Termios unix.Termios // for the first terminal, when Full; zero leaves the kernel's

	Program, Dir string
	DirElse      string // where there is no Dir; "" for nowhere
	Argv, Env    []string
	Listen       []uint16     // ports of the loopback to listen on
	Dispense     bool         // start a dispenser
	Shown        []plan.Shown // to be looked at before the program starts
	Fills        []plan.Fill  // to be filled before that, each from descriptor FillFD and up
	FillFD       int
	Landlock     *plan.Landlock
	Rlimits      limits.Values // of which it sets its own
	Observe      bool          // tell the launcher of every call that names a file
	Trial        bool          // end the program before its first instruction
	Calls        bool          // there is no program: stay, and run calls

	Container *containerSpec // nil in a box of bwrap's
}

func (s *spec) encode() []byte {
	size := 256 + len(s.Program) + len(s.Dir)
	for _, list := range [][]string{s.Argv, s.Env} {
		for _, w := range list {
			size += 4 + len(w)
		}
	}
	e := encoder{b: make([]byte, 0, size)}
	e.u32(uint32(boolByte(s.Full)))
	e.u32(uint32(boolByte(s.Waits)))
	e.u32(uint32(s.Ptys))
	for _, v := range s.Stdio {
		e.u32(uint32(v))
	}
	e.u64(s.Ignored)
	for _, w := range s.Winsize {
		e.u32(uint32(w.Row)<<16 | uint32(w.Col))
		e.u32(uint32(w.Xpixel)<<16 | uint32(w.Ypixel))
	}
	t := s.Termios
	for _, v := range []uint32{t.Iflag, t.Oflag, t.Cflag, t.Lflag, uint32(t.Line), t.Ispeed, t.Ospeed} {
		e.u32(v)
	}
	e.str(string(t.Cc[:]))
	e.str(s.Program)
	e.str(s.Dir)
	e.str(s.DirElse)
	e.list(s.Argv)
	e.list(s.Env)
	e.u32(uint32(boolByte(s.Dispense)))
	e.u32(uint32(len(s.Listen)))
	for _, port := range s.Listen {
		e.u32(uint32(port))
	}
	e.u32(uint32(len(s.Shown)))
	for _, sh := range s.Shown {
		e.str(sh.Path)
		e.u64(sh.Dev)
		e.u64(sh.Ino)
	}
	e.u32(uint32(s.FillFD))
	e.u32(uint32(len(s.Fills)))
	for _, f := range s.Fills {
		e.str(f.Dest)
		e.u64(f.Room)
	}
	e.u32(uint32(boolByte(s.Landlock != nil)))
	if l := s.Landlock; l != nil {
		for _, v := range []bool{l.Signals, l.Abstract, l.Writes, l.Files} {
			e.u32(uint32(boolByte(v)))
		}
		e.list(l.Writable)
		e.list(l.Readable)
	}
	for _, v := range []uint64{s.Rlimits.Files, s.Rlimits.FileSize, s.Rlimits.Pids} {
		e.u64(v)
	}
	e.u32(uint32(boolByte(s.Observe)))
	e.u32(uint32(boolByte(s.Trial)))
	e.u32(uint32(boolByte(s.Calls)))
	e.u32(uint32(boolByte(s.Container != nil)))
	if s.Container != nil {
		s.Container.encode(&e)
	}
	return e.b
}

func decodeSpec(b []byte) (*spec, error) {
	d := decoder{s: string(b)}
	s := &spec{Full: d.u32() != 0, Waits: d.u32() != 0, Ptys: uint8(d.u32())}
	for i := range s.Stdio {
		s.Stdio[i] = uint8(d.u32())
	}
	s.Ignored = d.u64()
	for i := range s.Winsize {
		rc, xy := d.u32(), d.u32()
		s.Winsize[i] = unix.Winsize{Row: uint16(rc >> 16), Col: uint16(rc), Xpixel: uint16(xy >> 16), Ypixel: uint16(xy)}
	}
	t := &s.Termios
	t.Iflag, t.Oflag, t.Cflag, t.Lflag = d.u32(), d.u32(), d.u32(), d.u32()
	t.Line, t.Ispeed, t.Ospeed = uint8(d.u32()), d.u32(), d.u32()
	copy(t.Cc[:], d.str())
	s.Program, s.Dir, s.DirElse = d.str(), d.str(), d.str()
	s.Argv, s.Env = d.list(), d.list()
	s.Dispense = d.u32() != 0
	for n := d.u32(); n > 0 && !d.bad; n-- {
		s.Listen = append(s.Listen, uint16(d.u32()))
	}
	for n := d.u32(); n > 0 && !d.bad; n-- {
		s.Shown = append(s.Shown, plan.Shown{Path: d.str(), Dev: d.u64(), Ino: d.u64()})
	}
	s.FillFD = int(d.u32())
	for n := d.u32(); n > 0 && !d.bad; n-- {
		s.Fills = append(s.Fills, plan.Fill{Dest: d.str(), Room: d.u64()})
	}
	if d.u32() != 0 {
		s.Landlock = &plan.Landlock{Signals: d.u32() != 0, Abstract: d.u32() != 0, Writes: d.u32() != 0, Files: d.u32() != 0, Writable: d.list(), Readable: d.list()}
	}
	for _, v := range []*uint64{&s.Rlimits.Files, &s.Rlimits.FileSize, &s.Rlimits.Pids} {
		*v = d.u64()
	}
	s.Observe = d.u32() != 0
	s.Trial = d.u32() != 0
	s.Calls = d.u32() != 0
	if d.u32() != 0 {
		s.Container = new(containerSpec)
		s.Container.decode(&d)
	}
	if d.bad || d.s != "" || s.Ptys > maxPtys {
		return nil, errors.New("malformed box spec")
	}
	return s, nil
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}

type encoder struct{ b []byte }

func (e *encoder) u32(v uint32) { e.b = binary.LittleEndian.AppendUint32(e.b, v) }

func (e *encoder) u64(v uint64) { e.b = binary.LittleEndian.AppendUint64(e.b, v) }

func (e *encoder) str(s string) {
	e.u32(uint32(len(s)))
	e.b = append(e.b, s...)
}

func (e *encoder) list(l []string) {
	e.u32(uint32(len(l)))
	for _, s := range l {
		e.str(s)
	}
}

// decoder reads what encoder wrote. The strings share one copy of the input.
type decoder struct {
	s   string
	bad bool
}

func (d *decoder) u32() uint32 {
	if len(d.s) < 4 {
		d.bad, d.s = true, ""
		return 0
	}
	v := uint32(d.s[0]) | uint32(d.s[1])<<8 | uint32(d.s[2])<<16 | uint32(d.s[3])<<24
	d.s = d.s[4:]
	return v
}

func (d *decoder) u64() uint64 {
	v := uint64(d.u32())
	return v | uint64(d.u32())<<32
}

func (d *decoder) str() string {
	n := d.u32()
	if uint64(n) > uint64(len(d.s)) {
		d.bad, d.s = true, ""
		return ""
	}
	v := d.s[:n]
	d.s = d.s[n:]
	return v
}

func (d *decoder) list() []string {
	n := d.u32()
	if uint64(n)*4 > uint64(len(d.s)) {
		d.bad, d.s = true, ""
		return nil
	}
	l := make([]string, 0, n)
	for range n {
		l = append(l, d.str())
	}
	return l
}

// sendMsg sends one message. It never blocks and never raises SIGPIPE.
func sendMsg(sock int, msg []byte, fds ...int) error {
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

// recvMsg receives one message without blocking. n == 0 means that the other
// end is closed; unix.EAGAIN that there is no message now. The descriptors
// that came with it are close-on-exec and belong to the caller; pid is the
// sender as the kernel knows it, or 0.
func recvMsg(sock int, buf []byte) (n, pid int, fds []int, err error) {
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

// cleanLine makes one printable line of text that came from elsewhere.
func cleanLine(s string) string {
	s = visible.Text(strings.TrimSpace(s))
	const limit = 400
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + "..."
	}
	return s
}
