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

type stepReader struct {
	r    io.Reader
	step int
}

func (s stepReader) Read(b []byte) (int, error) { return s.r.Read(b[:min(len(b), s.step)]) }

func TestHello(t *testing.T) {
	config := func(name string) *tls.Config {
		return &tls.Config{ServerName: name, InsecureSkipVerify: true} //nolint:gosec // a test's hello
	}
	good := recorded(t, config("name.example"))
	old := recorded(t, &tls.Config{ServerName: "name.example", MaxVersion: tls.VersionTLS12})
	data := []byte{23, 3, 3, 0, 1, 'x'}
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	big := func(n int) []byte { return raw(sni("name.example"), ext(21, strings.Repeat("\x00", n))) }
	for name, c := range map[string]struct {
		in   []byte
		want string
	}{
		"a client's":             {in: good},
		"and data":               {in: join(good, data)},
		"TLS 1.2":                {in: join(old, data)},
		"upper case":             {in: join(raw(sni("Name.EXAMPLE")), data)},
		"records of 1":           {in: join(split(good, 1), data)},
		"records of 7":           {in: join(split(good, 7), data)},
		"a large one":            {in: join(split(big(16000), 8000), data)},
		"too large, in parts":    {in: split(big(17000), 8000), want: unreadable},
		"another name":           {in: recorded(t, config("evil.example")), want: " has a TLS hello for evil.example"},
		"a name below":           {in: raw(sni("a.name.example")), want: " has a TLS hello for a.name.example"},
		"another, split":         {in: split(raw(sni("evil.example")), 3), want: " has a TLS hello for evil.example"},
		"no name":                {in: recorded(t, config("")), want: " has a TLS hello without a server name"},
		"no extensions":          {in: raw(), want: " has a TLS hello without a server name"},
		"an address":             {in: raw(sni("127.0.0.1")), want: ` has a TLS hello for "127.0.0.1", which ends in a number and is not an address: write it as 192.0.2.7`},
		"a NUL":                  {in: raw(sni("name.example\x00.evil.example")), want: ` has a TLS hello for "name.example\x00.evil.example", which has a control character`},
		"two names":              {in: raw(sni("name.example"), sni("evil.example")), want: unreadable},
		"two names, one list":    {in: raw(ext(0, "\x00\x08\x00\x00\x01a\x00\x00\x01b")), want: unreadable},
		"a name of another kind": {in: raw(ext(0, "\x00\x04\x01\x00\x01a")), want: unreadable},
		"not a hello":            {in: []byte{22, 3, 1, 0, 4, 2, 0, 0, 0}, want: unreadable},
		"an empty record":        {in: []byte{22, 3, 1, 0, 0, 1}, want: unreadable},
		"a record too long":      {in: []byte{22, 3, 1, 0xff, 0xff, 1}, want: unreadable},
		"too long":               {in: []byte{22, 3, 1, 0, 4, 1, 1, 0, 1}, want: unreadable},
		"two hellos, one record": {in: []byte{22, 3, 1, 0, 5, 1, 0, 0, 0, 1}, want: unreadable},
		"data within":            {in: join(split(good, 50)[:55], data), want: unreadable},
	} {
		for _, step := range []int{1, 2, 5, 1000, 1 << 20} { // however the bytes come
			if step < 1000 && len(c.in) > 10000 {
				continue // takes long
			}
			src := bytes.NewReader(c.in)
			records, why, err := readHello(stepReader{src, step}, "name.example")
			if why != c.want || err != nil {
				t.Errorf("%s, by %d: %q, %v; want %q", name, step, why, err, c.want)
			}
			if _, _, err := readHello(bytes.NewReader(records[:max(len(records), 1)-1]), "name.example"); why == "" && err == nil {
				t.Errorf("%s: it is read before all of it is there", name)
			}
			if rest := c.in[len(c.in)-src.Len():]; why == "" && !bytes.Equal(append(records, rest...), c.in) {
				t.Errorf("%s, by %d: read %q and left %q", name, step, records, rest)
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
	for _, word := range []string{"SSH-2.0-y\n", "\x16\x04\x01"} {
		cl, _, _ = connectTo(t, proxy, "name.example:443")
		io.WriteString(cl, word)
		if b, err := io.ReadAll(cl.r); len(b) > 0 {
			t.Errorf("%q: %q, %v", word, b, err)
		}
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

// Whatever the bytes, what is judged good is a hello for the name, to another reader as well.
func FuzzClientHello(f *testing.F) {
	f.Add(recorded(f, &tls.Config{ServerName: "name.example"}))
	f.Add(split(recorded(f, &tls.Config{ServerName: "evil.example"}), 9))
	f.Add(raw(sni("name.example"), ext(42, "")))
	f.Add([]byte("SSH-2.0-x\r\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		records, why, err := readHello(bytes.NewReader(in), "name.example")
		if err != nil || why != "" {
			return
		}
		if !bytes.HasPrefix(in, records) {
			t.Errorf("%q is passed on as %q", in, records)
		}
		a, z := net.Pipe()
		defer z.Close()
		go func() {
			z.Write(records)
			z.Close()
		}()
		tls.Server(a, &tls.Config{GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			if !strings.EqualFold(h.ServerName, "name.example") {
				t.Errorf("%q is for %q", in, h.ServerName)
			}
			return nil, errors.New("seen")
		}}).Handshake()
	})
}
