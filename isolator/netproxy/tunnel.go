package netproxy

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// tunnel is a connection through which bytes are passed as they are.
type tunnel struct {
	p              *Proxy
	client, server net.Conn
	to             place
	one            bool // request of HTTP is all that it is for
	socket         bool // one that asks for a websocket
	opened         atomic.Bool
	rec            *record
	quiet          time.Duration
	idle           *time.Timer // aborts it when nothing moves for so long
}

// tunnel joins a program to the target of its request. What the server sends is not held up
// while the program's first bytes are looked at.
func (p *Proxy) tunnel(c, s net.Conn, in *bufio.Reader, r request, g grant) {
	t := &tunnel{p: p, client: c, server: s, to: r.to, rec: p.record(r.to.target())}
	t.rec.note(func(h *Host) { h.Allowed++ })
	t.one, t.socket = r.begin != nil, r.socket
	t.join(p.times.idle, func(up way) error {
		_, err := up.Write(r.begin)
		if t.one && err == nil {
			return r.send(up, in)
		}
		if err == nil && r.to.name != "" && !r.to.open {
			err = t.check(up, in, g)
		}
		if err == nil {
			rest, _ := in.Peek(in.Buffered())
			_, err = up.Write(rest)
		}
		return err
	})
}

// join passes bytes both ways until both ends are through, or nothing moves for so long. What the program
// sends goes up after what begin has sent there; where that was one request, it goes nowhere, unless the server has
// opened the websocket that it asked for.
func (t *tunnel) join(idle time.Duration, begin func(way) error) {
	t.quiet, t.idle = idle, time.AfterFunc(idle, t.abort)
	defer t.idle.Stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		down := way{t, t.client, &t.rec.down, false}
		if t.one && sayClose(down, t.server, func() { t.opened.Store(t.socket) }) != nil {
			t.abort()
		}
		t.pass(down, t.server)
	}()
	up := way{t, t.server, &t.rec.up, false}
	if begin(up) == nil {
		up.shut = t.one
		t.pass(up, t.client)
	} else {
		t.abort()
	}
	<-done
}

// check holds the program's first bytes against the name that was asked for. A hello that has begun
// must be finished; a tunnel that is silent may stay.
func (t *tunnel) check(up io.Writer, in *bufio.Reader, g grant) error {
	first, err := in.Peek(1)
	if err != nil {
		return nil // it sends nothing, and the server may
	}
	_ = t.client.SetReadDeadline(time.Now().Add(t.p.times.hello))
	if first[0] == recordHandshake {
		if first, err = in.Peek(2); err != nil {
			return err
		}
	}
	isTLS, why := len(first) == 2 && first[1] == 3, ""
	var hello []byte
	switch {
	case isTLS:
		hello, why, err = readHello(in, t.to.name)
	case t.p.mustTLS(t.to, g):
		why = notTLS
	case t.to.port == 443:
		t.rec.note(func(h *Host) { h.Plain = true })
	}
	if err == nil && why == "" {
		_ = t.client.SetReadDeadline(time.Time{})
		_, err = up.Write(hello)
	}
	if err != nil || why == "" {
		return err
	}
	t.p.told(t.to.target(), refusal(TLS, "%s%s", t.to.target(), why))
	if isTLS { // all that it can be told: access_denied (RFC 8446 section 6.2)
		_, _ = t.client.Write([]byte{21, 3, 1, 0, 2, 2, 49})
	}
	part(t.client)
	return errors.New(why)
}

// pass copies one direction to its end. One that ends badly ends the other, too.
func (t *tunnel) pass(w way, from net.Conn) {
	if err := copyTo(w, from); err != nil {
		t.abort()
		return
	}
	closeWrite(w.to)
}

// buffers are for what is on its way. A connection on which nothing moves has none: there may be thousands. So that a
// box which reads none of them costs little, no more than these may be large at once.
var (
	large   = make(chan struct{}, 256)
	buffers = [2]sync.Pool{
		{New: func() any { return bytes.NewBuffer(make([]byte, 4<<10)) }},
		{New: func() any { return bytes.NewBuffer(make([]byte, largeSize)) }},
	}
)

const largeSize = 256 << 10

func takeBuffer() *bytes.Buffer {
	select {
	case large <- struct{}{}:
		return buffers[1].Get().(*bytes.Buffer)
	default:
		return buffers[0].Get().(*bytes.Buffer)
	}
}

func putBuffer(b *bytes.Buffer) {
	if b.Len() < largeSize {
		buffers[0].Put(b)
		return
	}
	buffers[1].Put(b)
	<-large
}

// copyTo copies until the end of a connection, which is no error.
func copyTo(w io.Writer, from net.Conn) error {
	raw, err := from.(syscall.Conn).SyscallConn()
	if err != nil {
		return err
	}
	for {
		var n int
		var failed error
		var b *bytes.Buffer
		err := raw.Read(func(fd uintptr) bool {
			b = takeBuffer()
			for n, failed = syscall.Read(int(fd), b.Bytes()); failed == syscall.EINTR; {
				n, failed = syscall.Read(int(fd), b.Bytes())
			}
			if n > 0 {
				return true
			}
			putBuffer(b) // what comes next is waited for without one
			return failed != syscall.EAGAIN
		})
		if err = errors.Join(err, failed); err != nil || n == 0 {
			return err
		}
		_, err = w.Write(b.Bytes()[:n])
		putBuffer(b)
		if err != nil {
			return err
		}
	}
}

// abort resets both connections: what a side has got must not look complete.
func (t *tunnel) abort() {
	reset(t.client)
	reset(t.server)
}

// copyN copies so many bytes.
func copyN(w io.Writer, from io.Reader, n int64) error {
	if n == 0 {
		return nil
	}
	b := takeBuffer()
	defer putBuffer(b)
	got, err := io.CopyBuffer(w, io.LimitReader(from, n), b.Bytes())
	if err == nil && got < n {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// reset ends a connection so that its other end sees an error, not an end.
func reset(c net.Conn) {
	if s, ok := c.(interface{ SetLinger(int) error }); ok {
		_ = s.SetLinger(0)
	}
	c.Close()
}

// way is one direction: what is written is counted, and shows that the tunnel is in use.
type way struct {
	t     *tunnel
	to    net.Conn
	count *atomic.Int64
	shut  bool // until the websocket is opened
}

func (w way) Write(b []byte) (int, error) {
	if w.shut && !w.t.opened.Load() {
		return len(b), nil
	}
	n, err := w.to.Write(b)
	w.count.Add(int64(n))
	w.t.idle.Reset(w.t.quiet)
	return n, err
}

// closeWrite tells the other end that nothing follows.
func closeWrite(c net.Conn) {
	if s, ok := c.(interface{ CloseWrite() error }); ok {
		_ = s.CloseWrite()
		return
	}
	c.Close()
}

// part ends a connection whose last word must arrive: a close with unread bytes is a reset, and
// takes what was sent with it.
func part(c net.Conn) {
	closeWrite(c)
	_ = c.SetReadDeadline(time.Now().Add(time.Second))
	_, _ = io.Copy(io.Discard, c)
}

// sayClose passes the head of the answer as far as its status, and says behind that that the connection ends with it. A
// server that is asked for that should say so, and some do not (RFC 9112 section 9.6): a program that keeps connections
// would send its next request into one that is closed. Where the protocol changes instead, it calls opened first.
func sayClose(w io.Writer, from io.Reader, opened func()) error {
	in := bufio.NewReader(from)
	first := true // of the lines of a head
	for more := true; more; {
		line, err := in.ReadSlice('\n')
		status := string(line[:min(len(line), len("HTTP/1.1 100"))])
		switch more = err == nil; {
		case !more:
		case !first:
			first = len(bytes.TrimSpace(line)) == 0
		case status == "HTTP/1.1 101":
			opened()
			more = false
		case strings.HasPrefix(status, "HTTP/1.1 1"): // another head follows
			first = false
		case strings.HasPrefix(status, "HTTP/1."):
			line = append(slices.Clip(line), "Connection: close\r\n"...)
			more = false
		default:
			more = false
		}
		if _, errW := w.Write(line); errW != nil || err != nil && err != io.EOF && err != bufio.ErrBufferFull {
			return errors.Join(errW, err)
		}
	}
	rest, _ := in.Peek(in.Buffered())
	_, err := w.Write(rest)
	return err
}
