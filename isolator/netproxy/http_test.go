package netproxy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// site has a real web server at an address.
func (w *world) site(at, name string) {
	s := httptest.NewServer(page(name))
	w.t.Cleanup(s.Close)
	w.places[at] = s.Listener.Addr().String()
}

// web is a world with a server of plain HTTP at name.example.
func web(t *testing.T) (w *world, p *Proxy, proxy string) {
	w = newWorld(t)
	w.names["name.example"] = []string{"93.184.216.34"}
	w.site("93.184.216.34:80", "web")
	w.site("93.184.216.34:8080", "web8080")
	p, proxy = w.proxy(Options{Policy: NewPolicy(rules(t, "name.example", "name.example:8080"), nil)})
	return w, p, proxy
}

func TestPlainHTTP(t *testing.T) {
	_, p, proxy := web(t)
	for _, c := range []struct{ request, want string }{
		{"GET http://name.example/a?b=c HTTP/1.1\r\nHost: name.example\r\n\r\n", `web: GET /a?b=c host=name.example body="" <nil> Connection=close`},
		{"GET http://name.example HTTP/1.1\r\n\r\n", `web: GET / host=name.example body="" <nil> Connection=close`},
		{"GET http://name.example?x HTTP/1.1\r\n\r\n", `web: GET /?x host=name.example body="" <nil> Connection=close`},
		{"GET HTTP://NAME.example.:80/ HTTP/1.1\r\nHost: x\r\n\r\n", `web: GET / host=name.example body="" <nil> Connection=close`},
		{"GET http://name.example:8080/ HTTP/1.1\r\n\r\n", `web8080: GET / host=name.example:8080 body="" <nil> Connection=close`},
		{"GET http://name.example/ HTTP/1.0\r\n\r\n", `web: GET / host=name.example body="" <nil> Connection=close`},
		{"GET http://name.example/ HTTP/1.1\r\nProxy-Authorization: s\r\nConnection: upgrade, keep-alive\r\nX-Kept: a\r\nX-Kept: b\r\n\r\n", `web: GET / host=name.example body="" <nil> Connection=close X-Kept=a|b`},
		// A Host that is of another place is not believed, nor are two.
		{"GET http://name.example/ HTTP/1.1\r\nHost: a.example\r\nhost: b.example\r\n\r\n", `web: GET / host=name.example body="" <nil> Connection=close`},
		{"GET http://name.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n", `web: GET / host=name.example body="" <nil> Connection=close`},
		{"POST http://name.example/ HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", `web: POST / host=name.example body="abc" <nil> Connection=close`},
		{"POST http://name.example/ HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n3;x=y\r\nabc\r\n0A\r\n0123456789\r\n0\r\nT: x\r\n\r\n", `web: POST / host=name.example body="abc0123456789" <nil> Connection=close`},
		{"POST http://name.example/ HTTP/1.1\r\nContent-Length: 20000\r\n\r\n" + strings.Repeat("a", 20000), `web: POST / host=name.example body="` + strings.Repeat("a", 20000) + `" <nil> Connection=close`},
		{"POST http://name.example/ HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc", `web: POST / host=name.example body="abc" <nil> Connection=close`},
	} {
		cl := open(t, proxy)
		io.WriteString(cl, c.request)
		method := strings.Fields(c.request)[0]
		status, text := cl.answer(t, method)
		if status == 100 {
			status, text = cl.answer(t, method)
		}
		if status != 200 || text != c.want {
			t.Errorf("%q:\n%d %s\nwant %s", c.request, status, text, c.want)
		}
		if _, err := cl.r.ReadByte(); err != io.EOF {
			t.Errorf("%q: not closed: %v", c.request, err)
		}
	}
	for _, h := range p.Report() {
		if h.Allowed == 0 || h.Refused+h.Failed > 0 || h.Up == 0 || h.Down == 0 {
			t.Errorf("%+v", h)
		}
	}
}

// The same by a real client, which waits for 100 Continue before it sends.
func TestRealClient(t *testing.T) {
	_, _, proxy := web(t)
	via := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: proxy}), ExpectContinueTimeout: patience}
	defer via.CloseIdleConnections()
	cl := &http.Client{Transport: via, Timeout: patience}
	for i, body := range []io.Reader{strings.NewReader("abc"), io.MultiReader(strings.NewReader("a"), strings.NewReader("bc"))} {
		req, _ := http.NewRequest("POST", "http://name.example/", body)
		req.Header.Set("Expect", "100-continue")
		resp, err := cl.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !strings.HasPrefix(string(text), `web: POST / host=name.example body="abc" <nil>`) {
			t.Errorf("%d: %s, %v", i, text, err)
		}
	}
	resp, err := cl.Get("http://other.example/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 403 || string(text) != "inner: other.example:80 is not in network_allow of profile \"x\"\n" {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
}

// Each of these is refused; TestPlainHTTP has the twins.
func TestStrictHTTP(t *testing.T) {
	w, _, proxy := web(t)
	const get = "GET http://name.example/ HTTP/1.1\r\n"
	const post = "POST http://name.example/ HTTP/1.1\r\n"
	for _, c := range []struct{ request, want string }{
		{"\r\n" + get + "\r\n", "is not HTTP"},
		{"GET http://name.example/\r\n\r\n", "is not HTTP"},
		{"GET  http://name.example/ HTTP/1.1\r\n\r\n", "is not HTTP"},
		{"GET http://name.example/ HTTP/1.1 \r\n\r\n", "is not HTTP"},
		{"GET http://name.example/ HTTP/2.0\r\n\r\n", "is not HTTP"},
		{"GET / HTTP/1.1\r\nHost: name.example\r\n\r\n", `is for "/", and this is a proxy`},
		{"GET https://name.example/ HTTP/1.1\r\n\r\n", "and this is a proxy for http:// and CONNECT"},
		{"GET ftp://name.example/ HTTP/1.1\r\n\r\n", "and this is a proxy for http:// and CONNECT"},
		{"GET http://a@name.example/ HTTP/1.1\r\n\r\n", "has a user"},
		{"GET http://name.example:/ HTTP/1.1\r\n\r\n", "has a colon and no port"},
		{"GET http://name.example:0/ HTTP/1.1\r\n\r\n", "a port is 1 to 65535"},
		{"GET http:///x HTTP/1.1\r\n\r\n", "has no host"},
		{"GET http://evil.example\\@name.example/ HTTP/1.1\r\n\r\n", `'\\', which no host has`},
		{"GET http://name.example/\x01 HTTP/1.1\r\n\r\n", "control character"},
		{"GET http://name.example/ HTTP/1.1\n\n", "does not end in CR LF"},
		{get + "A: b\nC: d\r\n\r\n", "does not end in CR LF"},
		{get + "A: b\rC: d\r\n\r\n", "control character"},
		{get + "A: b\x00\r\n\r\n", "control character"},
		{get + "A: b\x01\r\n\r\n", "control character"},
		{get + "A: b\r\n c\r\n\r\n", "is not NAME: VALUE"},
		{get + "A : b\r\n\r\n", "is not NAME: VALUE"},
		{get + ": b\r\n\r\n", "is not NAME: VALUE"},
		{get + "A\r\n\r\n", "is not NAME: VALUE"},
		{get + "A: " + strings.Repeat("b", maxHead) + "\r\n\r\n", "a head of more than 16384 bytes"},
		{get + strings.Repeat("b", 2*maxHead), "a head of more than 16384 bytes"},
		{get + strings.Repeat("A: b\r\n", maxFields) + "\r\n", "more than 200 lines"},
		{post + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", "is not NAME: VALUE"},
		{post + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "whose length is unclear"},
		{post + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n", "whose length is unclear"},
		{post + "Content-Length: 0\r\nContent-Length: 3\r\n\r\nabc", "whose length is unclear"},
		{post + "Content-Length: 3, 3\r\n\r\nabc", "whose length is unclear"},
		{post + "Content-Length: +3\r\n\r\nabc", "whose length is unclear"},
		{post + "Content-Length:\r\n\r\nabc", "whose length is unclear"},
		{post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "whose length is unclear"},
		{post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n", "whose length is unclear"},
		{"POST http://name.example/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "whose length is unclear"},
		{post + "Content-Length\u00a0: 3\r\n\r\nabc", "is not NAME: VALUE"},
		{"CONNECT name.example HTTP/1.1\r\n\r\n", "has no port"},
		{"CONNECT http://name.example:80 HTTP/1.1\r\n\r\n", `"http://name.example:80"`},
		{"\x16\x03\x01\x00\x05hello\r\n\r\n", "has a control character"}, // TLS to the proxy
	} {
		cl := open(t, proxy)
		status, text := cl.say(t, c.request)
		if status != 400 || !strings.HasPrefix(text, "inner: a request ") || !strings.Contains(text, c.want) || strings.ContainsAny(text, "\n\r\x00") {
			t.Errorf("%.80q:\n%d %s\nwant %s", c.request, status, text, c.want)
		}
	}
	if lookUps, dialled, _ := w.seen(); len(lookUps)+len(dialled) != 0 {
		t.Errorf("looked up %q, dialled %q", lookUps, dialled)
	}
	cl := open(t, proxy) // port 443 is for TLS when no entry names it
	if status, text := cl.say(t, "GET http://name.example:443/ HTTP/1.1\r\n\r\n"); status != 403 || text != "inner: name.example:443 is not TLS: the entry in network_allow has to name the port" {
		t.Errorf("%d %s", status, text)
	}
}

// What a program puts behind its request goes nowhere; the connection ends with the answer.
func TestBehindARequest(t *testing.T) {
	w := newWorld(t)
	w.names["name.example"], w.names["evil.example"] = []string{"93.184.216.34"}, []string{"93.184.216.35"}
	got := make(chan string, 1)
	w.serve("93.184.216.34:80", func(conn net.Conn) {
		r := bufio.NewReader(conn)
		req, err := http.ReadRequest(r)
		if err != nil {
			got <- err.Error()
			return
		}
		body, _ := io.ReadAll(req.Body)
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
		conn.(interface{ CloseWrite() error }).CloseWrite()
		more, _ := io.ReadAll(r)
		got <- fmt.Sprintf("%s %v %s|%s", req.Host, req.Close, body, more)
	})
	_, proxy := w.proxy(Options{Policy: NewPolicy(rules(t, "name.example"), nil)})
	cl := open(t, proxy)
	const second = "GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n"
	io.WriteString(cl, "POST http://name.example/ HTTP/1.1\r\nHost: evil.example\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"+second)
	if status, text := cl.answer(t, "POST"); status != 200 || text != "ok" {
		t.Errorf("%d %s", status, text)
	}
	cl.Close()
	if seen := <-got; seen != "name.example true abc|" {
		t.Errorf("the server saw %q", seen)
	}
	if _, dialled, _ := w.seen(); len(dialled) != 1 {
		t.Errorf("dialled %q", dialled)
	}
}

// A server that keeps the connection, whatever it was told, sees one request of it and its body, and frames of a websocket
// only where it has opened one.
func TestOneRequest(t *testing.T) {
	const (
		get    = "GET / HTTP/1.1\r\nHost: name.example\r\n"
		post   = "POST / HTTP/1.1\r\nHost: name.example\r\n"
		second = "GET /evil HTTP/1.1\r\nHost: evil.example\r\n\r\n"
		chunks = post + "Transfer-Encoding: chunked\r\n\r\n"
		socket = get + "Upgrade: websocket\r\nConnection: upgrade\r\n\r\n"
		ok     = "200 OK"
		change = "101 Switching Protocols"
	)
	w := newWorld(t)
	w.names["name.example"] = []string{"93.184.216.34"}
	says, got := make(chan string, 1), make(chan string, 1)
	w.serve("93.184.216.34:80", func(conn net.Conn) {
		r := bufio.NewReader(conn)
		head := ""
		for line := ""; line != "\r\n"; head += line {
			var err error
			if line, err = r.ReadString('\n'); err != nil {
				break
			}
		}
		io.WriteString(conn, "HTTP/1.1 "+<-says+"\r\nContent-Length: 0\r\n\r\n")
		rest, _ := io.ReadAll(r)
		got <- string(rest)
	})
	_, proxy := w.proxy(Options{Policy: NewPolicy(rules(t, "name.example"), nil)})
	for _, c := range []struct{ says, first, later, want string }{
		{ok, get + "\r\n", second, ""},
		{ok, get + "\r\n" + second, "", ""},
		{ok, post + "Content-Length: 3\r\n\r\na", "bc" + second, "abc"},
		{ok, post + "Content-Length: 3\r\n\r\nabc" + second, second, "abc"},
		{ok, chunks + "03;x\r\nabc\r\n", "A \r\n0123456789\r\n0\r\nT: x\r\n\r\n" + second, "3\r\nabc\r\na\r\n0123456789\r\n0\r\n\r\n"},
		{ok, chunks, "3\r\nabcd\r\n0\r\n\r\n" + second, "3\r\nabc"},
		{ok, chunks, "-3\r\nabc\r\n" + second, ""},
		{ok, chunks, "3\nabc\r\n" + second, ""},
		{ok, chunks, strings.Repeat("0", 5000) + "3\r\nabc\r\n" + second, ""},
		{ok, socket, second, ""},
		{change, socket, "frames", "frames"},
		{change, get + "\r\n", second, ""},
		{change, get + "Upgrade: h2c\r\nConnection: upgrade\r\n\r\n", second, ""},
	} {
		says <- c.says
		cl := open(t, proxy)
		io.WriteString(cl, strings.Replace(c.first, " / ", " http://name.example/ ", 1))
		for line := ""; line != "\r\n"; {
			var err error
			if line, err = cl.r.ReadString('\n'); err != nil {
				t.Fatalf("%q: %v", c.first, err)
			}
		}
		io.WriteString(cl, c.later)
		cl.Conn.(*net.TCPConn).CloseWrite()
		if seen := <-got; seen != c.want {
			t.Errorf("%q %q: behind the head the server saw %q", c.first, c.later, seen)
		}
		cl.Close()
	}
}

// A head that comes byte by byte has its time, and no more; meanwhile others are
// served.
func TestSlowHead(t *testing.T) {
	w := newWorld(t)
	w.names["name.example"] = []string{"93.184.216.34"}
	w.site("93.184.216.34:80", "web")
	o := Options{Policy: NewPolicy(rules(t, "name.example"), nil)}
	_, patient := w.proxy(o)
	_, proxy := w.proxy(o, func(p *Proxy) { p.times.head = 200 * time.Millisecond })
	const request = "GET http://name.example/ HTTP/1.1\r\n\r\n"
	for _, c := range []string{"", "G", request[:len(request)-1], "\x05", "\x05\x01", "\x05\x01\x00\x05\x01\x00\x03\x05na"} {
		io.WriteString(open(t, patient), c)
		if status, text := open(t, patient).say(t, request); status != 200 {
			t.Errorf("beside %q: %d %s", c, status, text)
		}
		cl := open(t, proxy)
		io.WriteString(cl, c)
		if b, err := io.ReadAll(cl.r); errors.Is(err, io.EOF) || len(b) > 2 {
			t.Errorf("%q: %q, %v", c, b, err)
		}
	}
	cl := open(t, proxy) // each byte is in time, the whole is not
	begun := time.Now()
	for i := 0; time.Since(begun) < patience; i++ {
		if _, err := cl.Write([]byte("a")); err != nil {
			return
		}
		cl.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
		if _, err := cl.r.ReadByte(); err == io.EOF {
			return
		}
	}
	t.Error("a head that never ends is read for ever")
}

// The head of a request is read as it is written out, or not at all.
func FuzzHead(f *testing.F) {
	for _, s := range []string{
		"GET http://name.example/a?b HTTP/1.1\r\nHost: name.example\r\nA: b\r\n\r\n", "CONNECT name.example:443 HTTP/1.1\r\n\r\n",
		"POST http://[::1]:8080 HTTP/1.0\r\nContent-Length: 3\r\nConnection: a\r\nA: b\r\n\r\nabc",
		"POST http://a.example HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "GET / HTTP/1.1\n\n", "OPTIONS http://a.example HTTP/1.1\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := readHTTP(bufio.NewReader(bytes.NewReader(b)), place{})
		if err != nil {
			if strings.ContainsAny(err.Error(), "\r\n\x00") {
				t.Errorf("%q: %q", b, err)
			}
			return
		}
		if r.begin == nil {
			return
		}
		// What another reader of HTTP makes of it.
		got, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(r.begin)))
		if err != nil {
			if strings.Contains(err.Error(), "invalid") || strings.Contains(err.Error(), "malformed") || strings.Contains(err.Error(), "bad ") || strings.Contains(err.Error(), "unsupported") { // of the path, or of a length: that is for the server to say
				return
			}
			t.Fatalf("%q was written as %q: %v", b, r.begin, err)
		}
		if to, err := parseAuthority(got.Host, 80); err != nil || to.target() != r.to.target() || !got.Close {
			t.Errorf("%q was written as %q: host %q", b, r.begin, got.Host)
		}
	})
}
