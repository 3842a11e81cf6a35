package netproxy

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"io"
	"math/big"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

// recorded is what a real client sends first.
func recorded(t testing.TB, c *tls.Config) []byte {
	t.Helper()
	a, b := net.Pipe()
	defer b.Close()
	go tls.Client(a, c).Handshake()
	buf := make([]byte, 64<<10)
	n, err := b.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return buf[:n]
}

// split has a hello in records of a size.
func split(hello []byte, size int) []byte {
	var out []byte
	for part := range slices.Chunk(hello[5:], size) {
		out = append(append(out, 22, 3, 1, byte(len(part)>>8), byte(len(part))), part...)
	}
	return out
}

// raw is a hello with these extensions.
func raw(exts ...[]byte) []byte {
	body := append([]byte{3, 3}, make([]byte, 32)...)
	body = append(body, 0, 0, 2, 0x13, 1, 1, 0)
	all := bytes.Join(exts, nil)
	body = append(binary.BigEndian.AppendUint16(body, uint16(len(all))), all...)
	msg := append([]byte{1, 0, byte(len(body) >> 8), byte(len(body))}, body...)
	return append([]byte{22, 3, 1, byte(len(msg) >> 8), byte(len(msg))}, msg...)
}

func ext(kind byte, body string) []byte {
	return append([]byte{0, kind, byte(len(body) >> 8), byte(len(body))}, body...)
}

// sni is the extension of a server name.
func sni(name string) []byte {
	list := append([]byte{0, byte(len(name) >> 8), byte(len(name))}, name...)
	return ext(0, string([]byte{byte(len(list) >> 8), byte(len(list))})+string(list))
}

func TestWatch(t *testing.T) {
	config := func(name string) *tls.Config {
		return &tls.Config{ServerName: name, InsecureSkipVerify: true} //nolint:gosec // a test's hello
	}
	good := recorded(t, config("name.example"))
	old := recorded(t, &tls.Config{ServerName: "name.example", MaxVersion: tls.VersionTLS12})
	data := []byte{23, 3, 3, 0, 1, 'x'}
	cipher := []byte{20, 3, 3, 0, 1, 1}
	key := []byte{22, 3, 3, 0, 2, 16, 0} // ClientKeyExchange of TLS 1.2
	early := raw(sni("name.example"), ext(42, ""))
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	big := func(n int) []byte { return raw(sni("name.example"), ext(21, strings.Repeat("\x00", n))) }
	for name, c := range map[string]struct {
		in   []byte
		any  bool // need not be TLS
		want string
		open bool // still being watched
	}{
		"a client's":             {in: good, open: true},
		"and data":               {in: join(good, cipher, data)},
		"TLS 1.2":                {in: join(old, key, cipher, data)},
		"upper case":             {in: join(raw(sni("Name.EXAMPLE")), data)},
		"records of 1":           {in: join(split(good, 1), data)},
		"records of 7":           {in: join(split(good, 7), data)},
		"a large one":            {in: join(split(big(20000), 16000), data)},
		"another name":           {in: recorded(t, config("evil.example")), want: "has a TLS hello for evil.example"},
		"a name below":           {in: raw(sni("a.name.example")), want: "has a TLS hello for a.name.example"},
		"another, split":         {in: split(raw(sni("evil.example")), 3), want: "has a TLS hello for evil.example"},
		"no name":                {in: recorded(t, config("")), want: "has a TLS hello without a server name"},
		"no extensions":          {in: raw(), want: "has a TLS hello without a server name"},
		"an address":             {in: raw(sni("127.0.0.1")), want: `has a TLS hello for "127.0.0.1", which ends in a number and is not an address: write it as 192.0.2.7`},
		"a NUL":                  {in: raw(sni("name.example\x00.evil.example")), want: `has a TLS hello for "name.example\x00.evil.example", which has a control character`},
		"two names":              {in: raw(sni("name.example"), sni("evil.example")), want: errHello.Error()},
		"two names, one list":    {in: raw(ext(0, "\x00\x08\x00\x00\x01a\x00\x00\x01b")), want: errHello.Error()},
		"a name of another kind": {in: raw(ext(0, "\x00\x04\x01\x00\x01a")), want: errHello.Error()},
		"no TLS":                 {in: []byte("SSH-2.0-x\r\n"), want: "is not TLS"},
		"no TLS, granted":        {in: []byte("SSH-2.0-x\r\n"), any: true},
		"almost TLS":             {in: []byte{22, 4, 1}, want: "is not TLS"},
		"another name, granted":  {in: raw(sni("evil.example")), any: true, want: "has a TLS hello for evil.example"},
		"not a hello":            {in: []byte{22, 3, 1, 0, 4, 2, 0, 0, 0}, want: "has TLS that does not begin with a hello"},
		"an empty record":        {in: []byte{22, 3, 1, 0, 0, 1}, want: "has a TLS hello in broken records"},
		"a record too long":      {in: []byte{22, 3, 1, 0xff, 0xff, 1}, want: "has a TLS hello in broken records"},
		"too long":               {in: []byte{22, 3, 1, 0, 4, 1, 1, 0, 1}, want: "has a TLS hello that is too long"},
		"two hellos, one record": {in: []byte{22, 3, 1, 0, 5, 1, 0, 0, 0, 1}, want: "has more than a hello in its first TLS record"},
		"data within":            {in: join(split(good, 50)[:55], data), want: "has a TLS hello in broken records"},
		// A second hello, which a server may ask for.
		"again":               {in: join(good, cipher, raw(sni("name.example")), data)},
		"again, another name": {in: join(good, cipher, raw(sni("evil.example"))), want: "has a TLS hello for evil.example"},
		"again, no name":      {in: join(good, raw()), want: "has a TLS hello without a server name"},
		"after an alert":      {in: join(good, []byte{21, 3, 3, 0, 2, 1, 90}, raw(sni("evil.example"))), want: "has a TLS hello for evil.example"},
		"after nothing":       {in: join(good, []byte{22, 3, 3, 0, 0}, raw(sni("evil.example"))), want: "has a TLS hello in broken records"},
		"early data":          {in: join(early, cipher, data, data), open: true},
		"after early data":    {in: join(early, cipher, data, data, raw(sni("evil.example"))), want: "has a TLS hello for evil.example"},
		"enough early data":   {in: join(early, bytes.Repeat(join([]byte{23, 3, 3, 0x40, 0}, make([]byte, 0x4000)), 9))},
	} {
		for _, step := range []int{1, 2, 5, 1000, 1 << 20} { // however the bytes come
			if step < 1000 && len(c.in) > 10000 {
				continue // takes long
			}
			l := watch{name: "name.example", must: !c.any}
			var passed, rest []byte
			var done bool
			var err error
			for part := range slices.Chunk(c.in, step) {
				rest = append(rest, part...)
				var n int
				n, done, err = l.look(rest)
				passed, rest = append(passed, rest[:n]...), rest[n:]
				if done || err != nil {
					break
				}
			}
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != c.want || done == (c.open || c.want != "") {
				t.Errorf("%s, by %d: %q, done %v; want %q", name, step, got, done, c.want)
			}
			if !bytes.HasPrefix(c.in, passed) || c.open && len(rest) > 0 || bytes.Contains(passed, []byte("evil.example")) {
				t.Errorf("%s, by %d: passed on %q and held %q", name, step, passed, rest)
			}
		}
	}
}

// certificate is one for anything.
func certificate(t *testing.T) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// Through the proxy, with real clients and a real server.
func TestTLSTunnel(t *testing.T) {
	w := newWorld(t)
	w.names["name.example"], w.names["ssh.example"] = []string{"93.184.216.34"}, []string{"93.184.216.35"}
	conf := &tls.Config{Certificates: []tls.Certificate{certificate(t)}}
	again := conf.Clone()
	again.CurvePreferences = []tls.CurveID{tls.CurveP384} // not what the client sends first
	secure := func(conf *tls.Config) func(c net.Conn) {
		return func(c net.Conn) {
			s := tls.Server(c, conf)
			if s.Handshake() == nil {
				io.WriteString(s, s.ConnectionState().ServerName+"\n")
				io.Copy(io.Discard, s)
			}
		}
	}
	w.serve("93.184.216.34:443", secure(conf))
	w.serve("93.184.216.34:444", secure(again))
	w.serve("93.184.216.35:443", echo("SSH-2.0-x"))
	p, proxy := w.proxy(Options{Policy: NewPolicy(rules(t, "name.example", "name.example:444", "93.184.216.34", "ssh.example:443"), nil)})
	for _, c := range []struct {
		target, server, want string
		wantErr              bool
	}{
		{target: "name.example:443", server: "name.example"},
		{target: "NAME.example.:443", server: "Name.Example"},
		{target: "name.example:444", server: "name.example"}, // a second hello
		{target: "93.184.216.34:443", server: ""},
		{target: "93.184.216.34:443", server: "other.example"},
		{target: "name.example:443", server: "evil.example", wantErr: true},
		{target: "name.example:443", server: "", wantErr: true},
		{target: "name.example:444", server: "evil.example", wantErr: true},
	} {
		cl, status, text := connectTo(t, proxy, c.target)
		if status != 200 {
			t.Fatalf("%s: %d %s", c.target, status, text)
		}
		s := tls.Client(cl, &tls.Config{ServerName: c.server, InsecureSkipVerify: true}) //nolint:gosec // it is about the proxy
		err := s.Handshake()
		if (err != nil) != c.wantErr {
			t.Errorf("%s for %q: %v", c.target, c.server, err)
		}
		if c.wantErr && !strings.Contains(err.Error(), "access denied") {
			t.Errorf("%s for %q: the program is told %v", c.target, c.server, err)
		}
		if err == nil {
			var b [64]byte
			if n, err := s.Read(b[:]); err != nil || !strings.EqualFold(string(b[:n]), c.server+"\n") {
				t.Errorf("%s: the server took it for %q, %v", c.target, b[:n], err)
			}
		}
	}
	_, _, refused := w.seen()
	if len(refused) != 2 || refused[0].Kind != TLS || refused[0].Reason != "name.example:443 has a TLS hello for evil.example" {
		t.Errorf("told: %v", refused)
	}

	// A tunnel to port 443 without TLS: the port has to be named.
	cl, _, _ := connectTo(t, proxy, "ssh.example:443")
	if line, err := cl.r.ReadString('\n'); line != "SSH-2.0-x\n" { // before the client says a word
		t.Errorf("%q, %v", line, err)
	}
	io.WriteString(cl, "SSH-2.0-y\n")
	if line, err := cl.r.ReadString('\n'); line != "SSH-2.0-y\n" {
		t.Errorf("%q, %v", line, err)
	}
	cl, _, _ = connectTo(t, proxy, "name.example:443")
	io.WriteString(cl, "SSH-2.0-y\n")
	if b, err := io.ReadAll(cl.r); len(b) > 0 {
		t.Errorf("%q, %v", b, err)
	}
	eventually(t, "the reason", func() bool {
		for _, h := range p.Report() {
			if h.Reason == "name.example:443 is not TLS: the entry in network_allow has to name the port" {
				return true
			}
		}
		return false
	})
}

// A hello that is begun must be finished; a tunnel that is silent may stay.
func TestSlowHello(t *testing.T) {
	w := newWorld(t)
	w.names["name.example"] = []string{"93.184.216.34"}
	got := make(chan []byte, 2)
	w.serve("93.184.216.34:443", func(c net.Conn) {
		b, _ := io.ReadAll(c)
		got <- b
	})
	_, proxy := w.proxy(Options{Policy: NewPolicy(rules(t, "name.example"), nil)}, func(p *Proxy) { p.times.hello = 50 * time.Millisecond })
	hello := raw(sni("name.example"))
	silent, _, _ := connectTo(t, proxy, "name.example:443")
	slow, status, text := connectTo(t, proxy, "name.example:443")
	if status != 200 {
		t.Fatal(text)
	}
	slow.Write(hello[:len(hello)-1])
	var b [1]byte
	if _, err := slow.r.Read(b[:]); err == nil || errors.Is(err, net.ErrClosed) {
		t.Errorf("an unfinished hello: %q, %v", b, err)
	}
	if b := <-got; len(b) > 0 {
		t.Errorf("the server got %q", b)
	}
	silent.Write(hello)
	silent.Conn.(*net.TCPConn).CloseWrite()
	if b := <-got; !bytes.Equal(b, hello) {
		t.Errorf("the server got %q", b)
	}
}

// Whatever the bytes and however they come, the verdict is the same, and nothing
// of a hello goes on before it was judged.
func FuzzClientHello(f *testing.F) {
	f.Add(recorded(f, &tls.Config{ServerName: "name.example"}), 3, true)
	f.Add(split(recorded(f, &tls.Config{ServerName: "evil.example"}), 9), 1, false)
	f.Add(append(raw(sni("name.example"), ext(42, "")), 20, 3, 3, 0, 1, 1, 23, 3, 3, 0, 1, 0), 100, true)
	f.Add(append(raw(sni("name.example")), raw(sni("evil.example"))...), 7, true)
	f.Add([]byte("SSH-2.0-x\r\n"), 1, false)
	f.Fuzz(func(t *testing.T, in []byte, step int, must bool) {
		if step < 1 || len(in)/step > 4096 {
			step = 1 + len(in)/7
		}
		run := func(step int) (passed []byte, done bool, err error) {
			l := watch{name: "name.example", must: must}
			var rest []byte
			for part := range slices.Chunk(in, step) {
				rest = append(rest, part...)
				n, done, err := l.look(rest)
				passed, rest = append(passed, rest[:n]...), rest[n:]
				if done || err != nil {
					return passed, done, err
				}
			}
			return passed, false, nil
		}
		whole, done1, err1 := run(len(in) + 1)
		parts, done2, err2 := run(step)
		if done1 != done2 || (err1 == nil) != (err2 == nil) || !bytes.HasPrefix(in, parts) || !bytes.HasPrefix(whole, parts) {
			t.Errorf("%q at once: %v %v; by %d: %v %v", in, done1, err1, step, done2, err2)
		}
		if err1 == nil && must && len(whole) > 0 {
			if name, _, err := new(hello).read(in); err != nil || name != "name.example" {
				t.Errorf("passed %q on: %q, %v", whole, name, err)
			}
		}
	})
}
