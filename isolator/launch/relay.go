package launch

import (
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

const (
	relayBuffer = 16 << 10 // of output on its way to the real terminal
	keysBuffer  = 4 << 10  // of input: what a terminal holds itself
	lastOutput  = 1 << 20  // most that is still read once the box is dead
)

// relay copies what the box writes to one of its terminals to the person's. It
// has a goroutine of its own, since writing to the real terminal may block for
// as long as the person likes.
type relay struct {
	master int // non-blocking, shared with the loop
	out    int // the real terminal
	in     inbox
	loop   *inbox
	watch  Watcher
	over   chan struct{} // closed when it has ended

	// Owned by the goroutine until it has ended.
	buf     []byte
	modes   modes
	filter  *filter   // what the terminal is not told; nil tells it everything
	gone    bool      // the real terminal no longer takes anything
	yielded time.Time // see yield
	ended   bool      // it has read its last

	breaks  bool         // the box's terminal makes line breaks of line feeds, as the real one may
	follow  atomic.Bool  // the real terminal's output is to be processed as the box's is
	pending bool         // a carriage return that may be one of those
	asked   atomic.Int64 // when the box last asked the terminal something, or 0

	hold atomic.Pointer[func()] // not nil: the loop wants nothing written, from the end of a sequence on, and then does this
	held *func()                // the hold that is kept

	plain   bool // a pump: from a pipe to whatever the person gave
	release bool // of a pump: let go of out at the end
}

// newRelay completes a relay that knows its ends; run is for its goroutine.
func newRelay(r *relay) (*relay, error) {
	r.over = make(chan struct{})
	return r, r.in.open()
}

func (r *relay) run() {
	r.buf = make([]byte, relayBuffer)
	r.yielded = time.Now()
	for !r.ended {
		set := [2]unix.PollFd{{Fd: int32(r.in.event), Events: unix.POLLIN}, {Fd: int32(r.master), Events: unix.POLLIN}}
		polled, timeout := set[:], -1
		if hold := r.hold.Load(); (hold == nil || hold != r.held) && !r.drain(-1) {
			// With nobody at the other end for the moment the master is readable
			// all the time: look again later.
			polled, timeout = set[:1], 100
		}
		if r.ended {
			break
		}
		if hold := r.hold.Load(); hold != nil {
			polled, timeout = set[:1], -1
			if r.held != hold {
				r.held = hold
				r.loop.do(func() {
					if r.hold.Load() == hold {
						(*hold)()
					}
				})
			}
		}
		if _, err := unix.Poll(polled, timeout); err != nil && err != unix.EINTR {
			break
		}
		if set[0].Revents != 0 {
			r.in.doAll()
		}
	}
	if r.plain {
		r.finish()
	}
}

// stop is for the relay's own goroutine: the box is dead. It takes what is there, and ends. Something outside may
// hold the slave and write for ever.
func (r *relay) stop() {
	r.drain(lastOutput)
	r.ended = true
}

// drain copies until there is nothing to read for now, and reports whether
// somebody is there to write more: EIO says that nobody has the slave open,
// after the last byte was read. The kernel hands out at most 4 KiB at a time;
// gathering more before writing was slower. A budget that is not negative
// bounds what is read.
func (r *relay) drain(budget int) bool {
	for budget != 0 {
		if r.hold.Load() != nil && r.modes.state == ground {
			return true
		}
		r.yield()
		n, err := unix.Read(r.master, r.buf)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return true
		case err != nil || n <= 0:
			r.ended = r.plain // a pipe has no second life
			return false
		}
		r.pass(r.buf[:n])
		if r.gone && r.plain {
			r.ended = true
			return false
		}
		if budget > 0 {
			budget = max(0, budget-n)
		}
	}
	return true
}

// pass writes to the real terminal what that is to be told.
func (r *relay) pass(text []byte) {
	if !r.plain {
		if r.filter != nil {
			text = r.filter.pass(text)
		}
		if r.modes.scan(text); r.modes.asks {
			r.modes.asks = false
			r.asked.Store(time.Now().UnixNano())
		}
	}
	if r.breaks {
		text = r.feeds(text, r.alike())
	}
	if !r.gone && wire.WriteAll(r.out, text) != nil {
		// Read on: the program must not hang on a dead terminal.
		r.gone = true
	}
	if r.watch != nil {
		r.watch.Output(text)
	}
}

// yield lets the scheduler of Go see this goroutine before it takes it for one that runs for
// too long (10 ms: runtime/proc.go, forcePreemptNS). It would take its processor away then,
// and look at it every 20 µs for a while: half of all context switches of a long output.
func (r *relay) yield() {
	if now := time.Now(); now.Sub(r.yielded) > 5*time.Millisecond {
		r.yielded = now
		runtime.Gosched()
	}
}

// alike has the real terminal process output as the program wants it of the box's,
// where others write to the real one as well: line breaks for them, none for a program
// that draws. It reports whether the real one makes line breaks of line feeds.
func (r *relay) alike() bool {
	real, err := unix.IoctlGetTermios(r.out, unix.TCGETS)
	if err != nil {
		return false
	}
	if r.follow.Load() {
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

// finish lets go of both ends of a pump, so that the program and the reader see
// each other's end.
func (r *relay) finish() {
	unix.Close(r.master)
	r.master = -1
	if r.release {
		put(-1, r.out)
	}
}
