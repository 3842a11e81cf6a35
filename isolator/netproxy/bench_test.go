package netproxy

import (
	"context"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// The two of these are compared: bytes through two sockets and a plain loop
// between them, and bytes through the proxy.

func BenchmarkForwarder(b *testing.B) {
	to := sink(b)
	l := listener(b)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				s, err := net.Dial("tcp", to.String())
				if err != nil {
					return
				}
				defer s.Close()
				go io.Copy(c, s)
				buf := make([]byte, 256<<10)
				for { // io.Copy would splice
					n, err := c.Read(buf)
					if err != nil {
						return
					}
					if _, err := s.Write(buf[:n]); err != nil {
						return
					}
				}
			}()
		}
	}()
	pour(b, func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		return c
	})
}

func BenchmarkTunnel(b *testing.B) {
	proxy := benchProxy(b, sink(b))
	pour(b, func() net.Conn {
		c, status, text := connectTo(b, proxy, "192.0.2.1:22")
		if status != 200 {
			b.Fatal(text)
		}
		return c
	})
}

func BenchmarkConnect(b *testing.B) {
	proxy := benchProxy(b, sink(b))
	for b.Loop() {
		c, status, text := connectTo(b, proxy, "192.0.2.1:22")
		if status != 200 {
			b.Fatal(text)
		}
		c.Close()
	}
}

// BenchmarkIdle reports what a thousand idle tunnels cost the process: both ends
// of both their connections are in it, of which the proxy's half is measured as
// memory of Go.
func BenchmarkIdle(b *testing.B) {
	hold := listener(b)
	go func() {
		var held []net.Conn // what nothing holds is closed
		for {
			c, err := hold.Accept()
			if err != nil {
				break
			}
			held = append(held, c)
		}
		for _, c := range held {
			c.Close()
		}
	}()
	proxy := benchProxy(b, hold.Addr())
	for b.Loop() {
		before, rss := memory(), resident(b)
		var conns []net.Conn
		for range 1000 {
			c, err := net.Dial("tcp", proxy)
			if err != nil {
				b.Fatal(err)
			}
			io.WriteString(c, "CONNECT 192.0.2.1:22 HTTP/1.1\r\n\r\n")
			conns = append(conns, c)
			var word [64]byte
			if n, err := c.Read(word[:]); err != nil || !strings.HasPrefix(string(word[:n]), "HTTP/1.1 200 ") {
				b.Fatalf("%q %v", word[:n], err)
			}
		}
		b.ReportMetric(float64(memory()-before)/1000, "go-B/conn")
		b.ReportMetric(float64(resident(b)-rss)/1000, "rss-B/conn")
		for _, c := range conns {
			c.Close()
		}
	}
}

func memory() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

func resident(b *testing.B) int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Fatal(err)
	}
	n, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return n * int64(os.Getpagesize())
}

func listener(b *testing.B) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	return l
}

// sink takes bytes until their end, and answers with one.
func sink(b *testing.B) net.Addr {
	l := listener(b)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				buf := make([]byte, 256<<10)
				for {
					if n, err := c.Read(buf); err != nil || buf[n-1] == '.' {
						c.Write([]byte{'.'})
						return
					}
				}
			}()
		}
	}()
	return l.Addr()
}

func benchProxy(b *testing.B, to net.Addr) string {
	p := New(Options{Policy: NewPolicy(rules(b, "192.0.2.1:22"), nil)})
	p.dial = func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", to.String())
	}
	l := listener(b)
	go p.Serve(l)
	b.Cleanup(p.Close)
	return l.Addr().String()
}

func pour(b *testing.B, open func() net.Conn) {
	buf := make([]byte, 256<<10)
	b.SetBytes(64 << 20)
	c := open()
	defer c.Close()
	for b.Loop() {
		for range 64 << 20 / len(buf) {
			if _, err := c.Write(buf); err != nil {
				b.Fatal(err)
			}
		}
	}
	c.Write([]byte{'.'})
	if _, err := io.ReadFull(c, buf[:1]); err != nil {
		b.Fatal(err)
	}
}
