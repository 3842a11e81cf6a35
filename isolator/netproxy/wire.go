package netproxy

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// activity is when a byte last moved on either of two connections.
type activity struct {
	last atomic.Int64 // nanoseconds since start
	idle time.Duration
}

var start = time.Now()

func (a *activity) touch() { a.last.Store(int64(time.Since(start))) }

// left returns how long the connections may still be silent.
func (a *activity) left() time.Duration {
	return a.idle - (time.Since(start) - time.Duration(a.last.Load()))
}

// wire is a connection that needs no buffer while nothing comes: it waits for the
// descriptor to be readable and takes a buffer only then. Its reads and writes fail when
// nothing has moved for too long on it and on the connection at the other end of a tunnel,
// which shares its activity.
type wire struct {
	net.Conn
	raw   syscall.RawConn // nil: not a socket
	act   *activity
	fixed atomic.Bool // the read deadline was set by until
}

func newWire(c net.Conn, act *activity) *wire {
	w := &wire{Conn: c, act: act}
	if s, ok := c.(syscall.Conn); ok {
		if raw, err := s.SyscallConn(); err == nil {
			w.raw = raw
		}
	}
	act.touch()
	return w
}

// until makes reads fail after a time, whatever comes until then.
func (w *wire) until(d time.Duration) {
	w.fixed.Store(true)
	w.SetReadDeadline(time.Now().Add(d))
}

// relax undoes until: reads fail when nothing has moved for too long.
func (w *wire) relax() {
	w.fixed.Store(false)
	w.act.touch()
	w.SetReadDeadline(time.Now().Add(w.act.idle))
}

// putOff handles a deadline that has passed: it sets a later one and returns true when the other
// direction was busy meanwhile. Deadlines are not set anew at each byte that moves.
func (w *wire) putOff(err error, set func(time.Time) error) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	left := w.act.left()
	return left > 0 && set(time.Now().Add(left)) == nil
}

// get waits for bytes and returns up to limit of them in a buffer that the caller
// releases. At the end of the stream the error is io.EOF.
func (w *wire) get(limit int) (*buffer, int, error) {
	for {
		var buf *buffer
		var n int
		var err error
		if w.raw != nil {
			buf, n, err = readRaw(w.raw, limit)
		} else {
			buf = &buffer{b: make([]byte, min(limit, smallBuffer))}
			n, err = w.Conn.Read(buf.b)
		}
		if n > 0 {
			w.act.touch()
			return buf, n, nil
		}
		buf.release()
		if err != nil && (w.fixed.Load() || !w.putOff(err, w.SetReadDeadline)) {
			return nil, 0, err
		}
	}
}

// readRaw waits for bytes without holding a buffer meanwhile.
func readRaw(raw syscall.RawConn, limit int) (buf *buffer, n int, err error) {
	var no error
	err = raw.Read(func(fd uintptr) bool {
		buf = newBuffer()
		for {
			n, no = syscall.Read(int(fd), buf.b[:min(limit, len(buf.b))])
			if no != syscall.EINTR {
				break
			}
		}
		if no == syscall.EAGAIN {
			buf.release()
			buf = nil
		}
		return buf != nil
	})
	if err == nil && no != nil {
		err = os.NewSyscallError("read", no)
	} else if err == nil && n <= 0 {
		err = io.EOF
	}
	return buf, n, err
}

// Write writes all of b.
func (w *wire) Write(b []byte) (int, error) {
	done := 0
	for {
		n, err := w.Conn.Write(b[done:])
		done += n
		if n > 0 {
			w.act.touch()
		}
		if err == nil || !w.putOff(err, w.SetWriteDeadline) {
			return done, err
		}
	}
}

// closeWrite tells the other end that nothing follows.
func (w *wire) closeWrite() {
	if c, ok := w.Conn.(interface{ CloseWrite() error }); ok {
		c.CloseWrite()
		return
	}
	w.Conn.Close()
}

// abort resets the connection: the other end must not take what it has for all
// there is.
func (w *wire) abort() {
	if c, ok := w.Conn.(interface{ SetLinger(int) error }); ok {
		c.SetLinger(0)
	}
	w.Conn.Close()
}

// part closes a connection whose last word must arrive: a close with unread bytes
// is a reset, and takes what was sent with it.
func (w *wire) part(linger time.Duration) {
	w.closeWrite()
	w.until(linger)
	for {
		buf, _, err := w.get(smallBuffer)
		if err != nil {
			break
		}
		buf.release()
	}
	w.Conn.Close()
}

// input reads what has to be understood: heads, and the lines between chunks.
type input struct {
	w *wire
	b []byte // read and not used
}

// more reads some bytes.
func (in *input) more() error {
	buf, n, err := in.w.get(smallBuffer)
	if err != nil {
		return err
	}
	in.b = append(in.b, buf.b[:n]...)
	buf.release()
	return nil
}

// need reads until n bytes are there.
func (in *input) need(n int) error {
	for len(in.b) < n {
		if err := in.more(); err != nil {
			return err
		}
	}
	return nil
}

// take uses n bytes that are there.
func (in *input) take(n int) []byte {
	b := in.b[:n]
	in.b = in.b[n:]
	return b
}

// some returns what was read already, or waits for more, at most limit bytes. The buffer, if it
// is not nil, is to be released after that.
func (in *input) some(limit int) ([]byte, *buffer, error) {
	if len(in.b) == 0 {
		buf, got, err := in.w.get(limit)
		if err != nil {
			return nil, nil, err
		}
		return buf.b[:got], buf, nil
	}
	some := in.take(min(limit, len(in.b)))
	if len(in.b) == 0 {
		in.b = nil // kept as long as the tunnel otherwise
	}
	return some, nil, nil
}

// copyTo passes on everything that comes.
func (in *input) copyTo(dst io.Writer, count *atomic.Int64) error {
	for {
		some, buf, err := in.some(bigBuffer)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		wrote, err := dst.Write(some)
		count.Add(int64(wrote))
		buf.release()
		if err != nil {
			return err
		}
	}
}

// A buffer is held while bytes move, and so for long when the receiver does not
// read. The first few are large, for speed; the many are small.
const (
	bigBuffer   = 256 << 10
	smallBuffer = 4 << 10
	maxBig      = 64
)

type buffer struct {
	b   []byte
	big bool
}

var (
	bigInUse atomic.Int64
	bigs     = sync.Pool{New: func() any { return &buffer{b: make([]byte, bigBuffer), big: true} }}
	smalls   = sync.Pool{New: func() any { return &buffer{b: make([]byte, smallBuffer)} }}
)

func newBuffer() *buffer {
	if bigInUse.Add(1) <= maxBig {
		return bigs.Get().(*buffer)
	}
	bigInUse.Add(-1)
	return smalls.Get().(*buffer)
}

// release gives a buffer back; nil is none.
func (b *buffer) release() {
	switch {
	case b == nil:
	case b.big:
		bigs.Put(b)
		bigInUse.Add(-1)
	case len(b.b) == smallBuffer:
		smalls.Put(b)
	}
}
