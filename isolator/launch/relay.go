package launch

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

const (
	relayBuffer = 4 << 10  // of output on its way: the kernel hands out no more at a time
	atOnce      = 64 << 10 // of output, before the loop looks around again
	keysBuffer  = 4 << 10  // of input: what a terminal holds itself
	lastOutput  = 1 << 20  // most that is still read once the box is dead
)

// relay copies what the box writes to one of its terminals, or to a pipe that stands in for a stream, to the
// person's end. It never waits: while that takes nothing, for as long as the person likes, it reads nothing.
type relay struct {
	master  int // the box's end, non-blocking
	out     int // the person's
	watch   Watcher
	buf     []byte
	waiting []byte // for out, which takes nothing for the moment

	modes  modes
	filter *filter // what the terminal is not told; nil tells it everything
	gone   bool    // out no longer takes anything
	held   bool    // nothing is read for now, see pause
	last   bool    // only what is there already is read, and no more than budget:
	budget int     // something outside may hold the other end and write for ever
	ended  bool    // it has read its last

	breaks  bool      // the box's terminal makes line breaks of line feeds, as the real one may
	follow  bool      // the real terminal's output is to be processed as the box's is
	pending bool      // a carriage return that may be one of those
	asked   time.Time // when the box last asked the terminal something

	plain   bool // a pump: from a pipe to whatever the person gave
	release int  // of a pump: what is let go of, with out, at its end; -1 for nothing
}

// source is what the loop waits for.
func (r *relay) source() source {
	switch {
	case len(r.waiting) > 0:
		return source{r.out, unix.POLLOUT, func() {
			r.flush()
			r.copy() // of the last there may be no more to wait for
		}}
	case r.held || r.ended:
		return source{fd: -1}
	}
	return source{r.master, unix.POLLIN, r.copy}
}

// copy copies some of what there is.
func (r *relay) copy() {
	for n := 0; n < atOnce && r.read(); n += relayBuffer {
	}
}

// read reads once and passes that on, and reports whether there may be more to read now. EIO says that
// nobody has the other end open any more: the first process of the box has, while it lives.
func (r *relay) read() bool {
	if len(r.waiting) > 0 || r.held || r.ended {
		return false
	}
	if r.buf == nil {
		r.buf = make([]byte, relayBuffer)
	}
	n, err := wire.Read(r.master, r.buf)
	if err == unix.EAGAIN && !r.last {
		return false
	}
	if err != nil || n <= 0 || r.last && r.budget <= 0 {
		r.end()
		return false
	}
	r.budget -= n
	r.pass(r.buf[:n])
	return true
}

// end lets go of both ends of a pump, so that the program and the reader see each other's end.
func (r *relay) end() {
	if r.ended = true; !r.plain {
		return
	}
	closeFds(&r.master, &r.out)
	put(-1, r.release)
}

// pause passes on what is there, up to the end of a control sequence, and then nothing more until held is false.
func (r *relay) pause() {
	for r.modes.state != ground && r.read() {
	}
	r.held = true
}

// pass writes to the person's end what that is to be told.
func (r *relay) pass(text []byte) {
	if !r.plain {
		if r.filter != nil {
			text = r.filter.pass(text)
		}
		if r.modes.scan(text); r.modes.asks {
			r.modes.asks, r.asked = false, time.Now()
		}
	}
	if r.breaks {
		text = r.feeds(text, r.alike())
	}
	r.say(text)
	if r.watch != nil {
		r.watch.Output(text)
	}
}

// say writes to the person's end, after what waits for it.
func (r *relay) say(text []byte) {
	r.waiting = append(r.waiting, text...)
	r.flush()
}

// flush writes what waits and can be written now. What is written to an end that is gone is dropped: the program must
// not hang on a dead terminal.
func (r *relay) flush() {
	for len(r.waiting) > 0 && !r.gone {
		if wire.Poll(r.out, unix.POLLOUT, 0) == 0 { // it may be one that waits, see apart
			return
		}
		n, err := unix.Write(r.out, r.waiting[:min(len(r.waiting), relayBuffer)])
		if err == unix.EAGAIN {
			return
		}
		r.gone = err != nil && err != unix.EINTR
		r.waiting = r.waiting[:copy(r.waiting, r.waiting[max(n, 0):])]
	}
	if r.waiting = r.waiting[:0]; r.gone && r.plain && !r.ended {
		r.end()
	}
}

// apart opens a terminal or a pipe once more, so that a write to it does not wait: that mode of fd is shared with the
// person's shell. Where it cannot be opened it is the same one.
func apart(fd int) (int, error) {
	if isTerminal(fd) || isPipe(fd) {
		again, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd),
			unix.O_WRONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		if err == nil {
			return again, nil
		}
	}
	return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
}

// alike has the real terminal process output as the program wants it of the box's,
// where others write to the real one as well: line breaks for them, none for a program
// that draws. It reports whether the real one makes line breaks of line feeds.
func (r *relay) alike() bool {
	real, err := unix.IoctlGetTermios(r.out, unix.TCGETS)
	if err != nil {
		return false
	}
	if r.follow {
		box, err := unix.IoctlGetTermios(r.master, unix.TCGETS) // the other end's
		if err == nil && real.Oflag != box.Oflag {
			real.Oflag = box.Oflag
			(&tty{fd: r.out}).set(real)
		}
	}
	return real.Oflag&(unix.OPOST|unix.ONLCR) == unix.OPOST|unix.ONLCR
}

// feeds makes line feeds of line breaks again, for a real terminal that makes line breaks of them.
func (r *relay) feeds(text []byte, on bool) []byte {
	if !on && !r.pending {
		return text
	}
	var out []byte
	for _, c := range text {
		if r.pending && (c != '\n' || !on) {
			out = append(out, '\r')
		}
		if r.pending = on && c == '\r'; !r.pending {
			out = append(out, c)
		}
	}
	return out
}

// keys is what the person typed and the box has not taken yet.
type keys []byte

// fill reads from the real terminal; call it only when empty and readable.
func (k *keys) fill(fd int) error {
	var buf [keysBuffer]byte
	n, err := unix.Read(fd, buf[:])
	switch {
	case err == unix.EINTR || err == unix.EAGAIN:
		return nil
	case err == nil && n <= 0:
		return unix.EIO
	}
	k.add(buf[:max(n, 0)])
	return err
}

// add puts more after what is there; what has no room is dropped.
func (k *keys) add(p []byte) { *k = append(*k, p[:min(len(p), keysBuffer-len(*k))]...) }

// flush writes to the box's terminal what it takes. What it refuses for good
// is dropped.
func (k *keys) flush(master int) {
	for len(*k) > 0 {
		n, err := unix.Write(master, *k)
		switch {
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			return
		case err != nil || n <= 0:
			*k = nil
		default:
			*k = (*k)[n:]
		}
	}
}
