package netproxy

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"testing"
)

func TestSocks(t *testing.T) {
	w := newWorld(t)
	w.names["name.example"] = []string{"93.184.216.34"}
	w.serve("93.184.216.34:80", echo("name"))
	w.serve("10.0.0.5:80", echo("four"))
	w.serve("[fd00::5]:80", echo("six"))
	_, proxy := w.proxy(Options{Policy: NewPolicy(rules(t, "name.example", "10.0.0.5", "fd00::5", "gone.example", "10.0.0.6"), nil)})
	six := append(make([]byte, 0, 30), 5, 1, 0, 4, 0xfd, 0)
	six = append(append(six, make([]byte, 13)...), 5, 0, 80)
	mapped := append(make([]byte, 0, 30), 5, 1, 0, 4)
	mapped = append(append(mapped, make([]byte, 10)...), 0xff, 0xff, 10, 0, 0, 5, 0, 80)
	name := func(s string) []byte { return append(append([]byte{5, 1, 0, 3, byte(len(s))}, s...), 0, 80) }
	for _, c := range []struct {
		request []byte
		code    byte
		want    string
	}{
		{name("name.example"), 0, "name"},
		{name("Name.Example."), 0, "name"},
		{name("10.0.0.5"), 0, "four"},
		{name("::ffff:10.0.0.5"), 0, "four"},
		{name("fd00::5"), 0, "six"},
		{[]byte{5, 1, 0, 1, 10, 0, 0, 5, 0, 80}, 0, "four"},
		{mapped, 0, "four"},
		{six, 0, "six"},
		{name("other.example"), socksNotAllowed, ""},
		{name(""), socksNotAllowed, ""},
		{[]byte{5, 1, 0, 1, 10, 0, 0, 7, 0, 80}, socksNotAllowed, ""},
		{[]byte{5, 1, 0, 1, 10, 0, 0, 5, 0, 81}, socksNotAllowed, ""},
		{[]byte{5, 1, 0, 1, 10, 0, 0, 5, 0, 0}, socksFailure, ""},
		{name("gone.example"), socksUnreachable, ""},
		{[]byte{5, 1, 0, 1, 10, 0, 0, 6, 0, 80}, socksFailure, ""}, // nothing is there
		{[]byte{5, 2, 0, 1, 10, 0, 0, 5, 0, 80}, socksCommand, ""}, // BIND
		{[]byte{5, 3, 0, 1, 10, 0, 0, 5, 0, 80}, socksCommand, ""}, // UDP
		{[]byte{5, 1, 0, 2, 10, 0, 0, 5, 0, 80}, socksAddress, ""},
		{[]byte{5, 1, 1, 1, 10, 0, 0, 5, 0, 80}, socksFailure, ""},
		{[]byte{4, 1, 0, 1, 10, 0, 0, 5, 0, 80}, socksFailure, ""},
	} {
		cl, code := socksRaw(t, proxy, c.request)
		if code != c.code {
			t.Errorf("% x: code %d, want %d", c.request, code, c.code)
		}
		if line, err := cl.r.ReadString('\n'); c.want != "" && line != c.want+"\n" || c.want == "" && err != io.EOF {
			t.Errorf("% x: %q, %v", c.request, line, err)
		}
	}
	cl := open(t, proxy) // only with a password
	cl.Write([]byte{5, 1, 2})
	if b, err := io.ReadAll(cl.r); !bytes.Equal(b, []byte{5, 0xff}) {
		t.Errorf("% x, %v", b, err)
	}
	cl = open(t, proxy) // all at once, and the first bytes of the tunnel with it
	cl.Write(append(append([]byte{5, 3, 2, 1, 0}, name("name.example")...), "early\n"...))
	cl.Conn.(*net.TCPConn).CloseWrite()
	if b, err := io.ReadAll(cl.r); string(b) != "\x05\x00\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00name\nearly\n" {
		t.Errorf("%q, %v", b, err)
	}
}

// Whatever a program sends, a request is for a canonical host or is refused.
func FuzzSocks(f *testing.F) {
	f.Add([]byte("\x05\x01\x00\x05\x01\x00\x03\x0cname.example\x00\x50"))
	f.Add([]byte("\x05\x02\x00\x02\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50rest"))
	f.Add([]byte("\x05\x01\x00\x05\x01\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x7f\x00\x00\x01\x01\xbb"))
	f.Add([]byte("\x05\x01\x00\x05\x01\x00\x03\x04a\x00b.\x00\x50"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := readSocks(bufio.NewReader(bytes.NewReader(b)), io.Discard)
		if err != nil {
			return
		}
		to := r.to
		if (to.name == "") != to.addr.IsValid() || to.port == 0 {
			t.Errorf("%q: %+v", b, to)
		}
		if again, err := parseAuthority(to.target().String(), 0); err != nil || again != to {
			t.Errorf("%q: %+v, again %+v, %v", b, to, again, err)
		}
	})
}
