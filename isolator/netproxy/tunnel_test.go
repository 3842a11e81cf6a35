package netproxy

import (
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// tunnels is a world with one server, reached by its address.
func tunnels(t *testing.T, answer func(net.Conn), change ...func(*Proxy)) (*Proxy, string) {
	w := newWorld(t)
	w.serve("10.0.0.5:22", answer)
	return w.proxy(Options{Policy: NewPolicy(rules(t, "10.0.0.5:22"), nil)}, change...)
}

func tunnelTo(t testing.TB, proxy string) *client {
	t.Helper()
	c, status, text := connectTo(t, proxy, "10.0.0.5:22")
	if status != 200 {
		t.Fatal(text)
	}
	return c
}

// Either side may say that it has no more, and still get the rest.
func TestHalfClose(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 1<<16)
	p, proxy := tunnels(t, func(c net.Conn) {
		b, err := io.ReadAll(c)
		fmt.Fprintf(c, "%d %v\n", len(b), err)
		io.WriteString(c, big)
	})
	c := tunnelTo(t, proxy)
	io.WriteString(c, big)
	c.Conn.(*net.TCPConn).CloseWrite()
	if b, err := io.ReadAll(c.r); string(b) != "1048576 <nil>\n"+big || err != nil {
		t.Errorf("%.20q (%d), %v", b, len(b), err)
	}
	p2, proxy2 := tunnels(t, func(c net.Conn) {
		io.WriteString(c, "first\n")
		c.(*net.TCPConn).CloseWrite()
		b, _ := io.ReadAll(c)
		_ = b
	})
	c = tunnelTo(t, proxy2)
	if b, err := io.ReadAll(c.r); string(b) != "first\n" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := io.WriteString(c, "after"); err != nil {
		t.Error(err)
	}
	c.Close()
	for _, p := range []*Proxy{p, p2} {
		eventually(t, "all slots back", func() bool { return len(p.slots) == 0 })
	}
	if r := p2.Report(); r[0].Up != 5 || r[0].Down != 6 {
		t.Errorf("%+v", r)
	}
	if r := p.Report(); r[0].Up != 1<<20 || r[0].Down != 1<<20+14 {
		t.Errorf("%+v", r)
	}
}

// A reset is passed on as one: what came before it must not look whole.
func TestReset(t *testing.T) {
	p, proxy := tunnels(t, func(c net.Conn) {
		io.WriteString(c, "half of it")
		io.ReadFull(c, make([]byte, 2))
		c.(*net.TCPConn).SetLinger(0)
	})
	c := tunnelTo(t, proxy)
	if b, err := c.r.Peek(10); string(b) != "half of it" {
		t.Fatalf("%q %v", b, err)
	}
	io.WriteString(c, "go")
	if _, err := io.ReadAll(c.r); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the end was %v", err)
	}
	c = tunnelTo(t, proxy)
	c.r.Peek(10)
	c.Conn.(*net.TCPConn).SetLinger(0)
	c.Close()
	eventually(t, "all slots back", func() bool { return len(p.slots) == 0 })
}

// A tunnel is cut when nothing moves in either direction, and not while something
// does in one.
func TestIdle(t *testing.T) {
	const idle = 2 * time.Second
	begun := time.Now()
	p, proxy := tunnels(t, func(c net.Conn) {
		b := make([]byte, 1)
		c.Read(b)
		for b[0] == 'd' && time.Since(begun) < 4*idle { // down only
			if _, err := c.Write([]byte(".")); err != nil {
				return
			}
			time.Sleep(idle / 20)
		}
		io.Copy(io.Discard, c)
	}, func(p *Proxy) { p.times.idle = idle })
	silent, busy := tunnelTo(t, proxy), tunnelTo(t, proxy)
	io.WriteString(busy, "d")
	if _, err := silent.r.ReadByte(); err == nil || errors.Is(err, syscall.ETIMEDOUT) {
		t.Errorf("the silent one: %v", err)
	}
	if took := time.Since(begun); took < idle {
		t.Errorf("cut after %v", took)
	}
	for {
		if _, err := busy.r.ReadByte(); err != nil {
			break
		}
	}
	if took := time.Since(begun); took < 4*idle {
		t.Errorf("the busy one was cut after %v", took)
	}
	eventually(t, "all slots back", func() bool { return len(p.slots) == 0 })
}

// A receiver that does not read holds up its own tunnel alone.
func TestReceiverThatDoesNotRead(t *testing.T) {
	_, proxy := tunnels(t, func(c net.Conn) {
		io.Copy(c, zeroes{}) // without end
	})
	for range 4 {
		tunnelTo(t, proxy).r.Peek(1)
	}
	c := tunnelTo(t, proxy)
	if n, err := io.CopyN(io.Discard, c.r, 4<<20); err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

type zeroes struct{}

func (zeroes) Read(b []byte) (int, error) { return len(b), nil }

// A thousand at once, by both protocols, each with bytes both ways.
func TestThousand(t *testing.T) {
	p, proxy := tunnels(t, echo("server"))
	var wg sync.WaitGroup
	var done atomic.Int64
	gate := make(chan struct{})
	for i := range 1000 {
		wg.Go(func() {
			c, err := net.Dial("tcp", proxy)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			c.SetDeadline(time.Now().Add(3 * patience))
			request, head := "CONNECT 10.0.0.5:22 HTTP/1.1\r\n\r\n", "HTTP/1.1 200 Connection established\r\n\r\n"
			io.WriteString(c, request)
			want := head + "server\n"
			b := make([]byte, len(want))
			if _, err := io.ReadFull(c, b); err != nil || string(b) != want {
				t.Errorf("%d: %q, %v", i, b, err)
			}
			if done.Add(1) == 1000 {
				close(gate) // all are open now
			}
			select {
			case <-gate:
			case <-time.After(3 * patience):
				t.Error("not all opened")
			}
			word := fmt.Sprintf("word %4d", i)
			io.WriteString(c, word)
			if _, err := io.ReadFull(c, b[:9]); err != nil || string(b[:9]) != word {
				t.Errorf("%d: %q, %v", i, b[:9], err)
			}
		})
	}
	wg.Wait()
	eventually(t, "all slots back", func() bool { return len(p.slots) == 0 })
	if r := p.Report(); len(r) != 1 || r[0].Allowed != 1000 || r[0].Up != 9000 || r[0].Down != 16000 {
		t.Errorf("%+v", r)
	}
}

// What is beyond the limit waits, and is served when there is room again.
func TestCrowd(t *testing.T) {
	p, proxy := tunnels(t, echo("server"), func(p *Proxy) { p.slots = make(chan struct{}, 3) })
	var held []*client
	for range 3 {
		held = append(held, tunnelTo(t, proxy))
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		tunnelTo(t, proxy)
	}()
	select {
	case <-served:
		t.Error("a fourth connection is served")
	case <-time.After(50 * time.Millisecond):
	}
	held[0].Close()
	<-served
	for _, c := range held {
		c.Close()
	}
	eventually(t, "room", func() bool { return len(p.slots) <= 1 })
}

// Close ends whatever is going on, and leaves nothing running.
func TestClose(t *testing.T) {
	before := runtime.NumGoroutine()
	w := newWorld(t)
	w.names["name.example"], w.names["silent.example"] = []string{"93.184.216.34"}, []string{"1.1.1.1"}
	w.places["1.1.1.1:80"] = "silence"
	gone := make(chan error, 2)
	w.serve("93.184.216.34:80", func(c net.Conn) {
		_, err := io.Copy(io.Discard, c)
		gone <- err
	})
	p, proxy := w.proxy(Options{Policy: NewPolicy(rules(t, "name.example", "silent.example"), nil)})
	var all []*client
	for _, s := range []string{
		"", "G", "\x05", "CONNECT name.example:80 HTTP/1.1\r\n\r\n", "GET http://name.example/ HTTP/1.1\r\n\r\n",
		"CONNECT silent.example:80 HTTP/1.1\r\n\r\n", "CONNECT other.example:80 HTTP/1.1\r\n\r\n",
	} {
		c := open(t, proxy)
		io.WriteString(c, s)
		all = append(all, c)
	}
	eventually(t, "three dials", func() bool { _, dialled, _ := w.seen(); return len(dialled) == 3 })
	eventually(t, "two tunnels", func() bool {
		n := int64(0)
		for _, h := range p.Report() {
			n += h.Allowed
		}
		return n == 2
	})
	done := make(chan bool)
	go func() { p.Close(); p.Close(); close(done) }()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("Close hangs")
	}
	for range 2 {
		<-gone
	}
	for _, c := range all {
		if _, err := io.Copy(io.Discard, c.r); errors.Is(err, syscall.ETIMEDOUT) {
			t.Error("a connection outlives its proxy")
		}
		c.Close()
	}
	if c, err := net.Dial("tcp", proxy); err == nil {
		c.Close()
		t.Error("the listener outlives its proxy")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Serve(l); err != nil { // too late, and no harm
		t.Error(err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve left the listener open: %v", err)
	}
	// The listener of the server is the test's.
	eventually(t, "no goroutines", func() bool { return runtime.NumGoroutine() <= before+2 })
}

// A listener that fails is told; Close is not a failure.
func TestServe(t *testing.T) {
	p := New(Options{})
	defer p.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := p.Serve(l); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}
