package proxy

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/netip"
	"net/textproto"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/enr/inner/isolator/logins"
)

const secret = "glpat-REALVALUE_0123456789abcdef"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && strings.HasPrefix(os.Args[1], "--build=") {
		os.Exit(Main(os.Args, "test"))
	}
	os.Exit(m.Run())
}

// rig is a service behind TLS, inner-proxy, and a client as one in the box.
type rig struct {
	*testing.T
	up     *httptest.Server
	proxy  *logins.Proxy
	ready  logins.Ready
	port   uint16
	client *http.Client
	took   atomic.Int64 // requests that had the value
	kill   func() error

	mu     sync.Mutex
	events []logins.Event
}

const host = "example.com" // httptest's certificate is for it

func start(t *testing.T, h2 bool, c logins.Credential, env ...string) *rig {
	r := &rig{T: t}
	r.up = httptest.NewUnstartedServer(http.HandlerFunc(r.service))
	r.up.EnableHTTP2 = h2
	r.up.StartTLS()
	t.Cleanup(r.up.Close)
	at, _ := netip.ParseAddrPort(r.up.Listener.Addr().String())
	r.port = at.Port()
	roots := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.up.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Name, c.From, c.Hosts = "lab", [][]string{{"env", "LAB_TOKEN"}}, []string{fmt.Sprintf("%s:%d", host, r.port)}
	if c.In == nil {
		c.In = []string{"authorization"}
	}
	cmd := exec.Command(os.Args[0], "--build=test")
	cmd.Env = append(os.Environ(), "SSL_CERT_FILE="+roots)
	cmd.Env = append(cmd.Env, env...)
	var err error
	if r.proxy, err = logins.Start(cmd, logins.Job{Credentials: []logins.Credential{c}, Values: map[string]string{"LAB_TOKEN": secret}}, func(e logins.Event) {
		r.mu.Lock()
		r.events = append(r.events, e)
		r.mu.Unlock()
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.proxy.Close)
	if r.ready, err = r.proxy.Wait(time.Minute); err != nil || len(r.ready.Missing) > 0 {
		t.Fatal(err, r.ready.Missing)
	}
	r.client = &http.Client{
		Transport:     &http.Transport{DialTLSContext: r.dial, ForceAttemptHTTP2: h2},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return r
}

func (r *rig) raw() net.Conn {
	c, err := r.proxy.Dial(logins.Conn{Host: host, Port: r.port, Addrs: []netip.Addr{netip.MustParseAddr("127.0.0.1")}})
	if err != nil {
		r.Fatal(err)
	}
	return c
}

func (r *rig) dial(context.Context, string, string) (net.Conn, error) {
	if r.up.EnableHTTP2 {
		return r.tls("h2", "http/1.1")
	}
	return r.tls("http/1.1")
}

func (r *rig) tls(protocols ...string) (net.Conn, error) {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(r.ready.Authority))
	c := tls.Client(r.raw(), &tls.Config{RootCAs: pool, ServerName: host, NextProtos: protocols})
	return c, c.Handshake()
}

func (r *rig) placeholder() string { return r.ready.Placeholders["lab"] }

// service says what it got, in many ways.
func (r *rig) service(w http.ResponseWriter, q *http.Request) {
	_, password, _ := q.BasicAuth()
	all := fmt.Sprint(q.Header, q.URL.RawQuery, password)
	if strings.Contains(all, secret) || strings.Contains(all, url.QueryEscape(secret)) {
		r.took.Add(1)
	}
	w.Header().Set("X-Protocol", q.Proto)
	switch q.URL.Path {
	case "/echo":
		fmt.Fprint(w, secret, " ", base64.StdEncoding.EncodeToString([]byte("x:"+secret)))
	case "/part":
		http.ServeContent(w, q, "", time.Time{}, strings.NewReader(secret))
	case "/packed":
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		fmt.Fprint(z, secret)
		z.Close()
	case "/early":
		w.Header().Set("Link", secret)
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Link")
		w.Header().Set("X-"+secret, "1")
		w.Header().Set("Trailer", "Announced")
		fmt.Fprint(w, "body")
		w.Header().Set("Announced", secret)
		w.Header().Set(http.TrailerPrefix+"Unannounced", secret)
	case "/redirect":
		http.Redirect(w, q, "https://elsewhere.example/?"+q.URL.RawQuery, http.StatusFound)
	case "/events":
		for i := range 3 {
			fmt.Fprintf(w, "data: %d\n\n", i)
			w.(http.Flusher).Flush()
			<-q.Context().Done()
		}
	case "/full":
		_, _ = io.CopyN(io.Discard, q.Body, 1<<20)
		if q.ProtoMajor == 1 { // it reads no more, and the connection stays
			c, _, _ := w.(http.Hijacker).Hijack()
			fmt.Fprint(c, "HTTP/1.1 413 Too Large\r\nContent-Length: 4\r\n\r\nfull")
			return
		}
		w.Header().Set("Content-Length", "4")
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		fmt.Fprint(w, "full")
	case "/upload":
		s := sha256.New()
		n, _ := io.Copy(s, q.Body)
		fmt.Fprintf(w, "%d %x", n, s.Sum(nil))
	case "/body":
		data, _ := io.ReadAll(q.Body)
		if bytes.Contains(data, []byte(secret)) {
			r.took.Add(1)
		}
	case "/websocket":
		c, in, _ := w.(http.Hijacker).Hijack()
		defer c.Close()
		fmt.Fprint(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
		line, _ := in.ReadString('\n')
		fmt.Fprint(c, "got "+line)
	}
}

// ask makes a request that edit completes, and returns the status and the body.
func (r *rig) ask(method, path string, edit func(*http.Request)) (int, string, http.Header) {
	r.Helper()
	q, err := http.NewRequest(method, fmt.Sprintf("https://%s:%d%s", host, r.port, path), nil)
	if err != nil {
		r.Fatal(err)
	}
	if edit != nil {
		edit(q)
	}
	a, err := r.client.Do(q)
	if err != nil {
		r.Fatal(err)
	}
	defer a.Body.Close()
	text, _ := io.ReadAll(a.Body)
	return a.StatusCode, string(text), a.Header
}

func bearer(token string) func(*http.Request) {
	return func(q *http.Request) { q.Header.Set("Authorization", "Bearer "+token) }
}

// The value stands where the placeholder is the whole of a named place, over HTTP/1.1 and 2, and nowhere else.
func TestPlaces(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		for name, c := range map[string]struct {
			in   string
			edit func(q *http.Request, p string)
			took bool
		}{
			"bearer":            {"authorization", func(q *http.Request, p string) { bearer(p)(q) }, true},
			"no scheme":         {"authorization", func(q *http.Request, p string) { q.Header.Set("Authorization", p) }, true},
			"a part":            {"authorization", func(q *http.Request, p string) { bearer(p + "x")(q) }, false},
			"another header":    {"authorization", func(q *http.Request, p string) { q.Header.Set("X-Token", p) }, false},
			"header":            {"header:X-Token", func(q *http.Request, p string) { q.Header.Set("X-Token", p) }, true},
			"header twice":      {"header:X-Token", func(q *http.Request, p string) { q.Header["X-Token"] = []string{p, p} }, false},
			"header, part":      {"header:X-Token", func(q *http.Request, p string) { q.Header.Set("X-Token", p+",x") }, false},
			"basic":             {"basic:", func(q *http.Request, p string) { q.SetBasicAuth("me", p) }, true},
			"basic, user":       {"basic:me", func(q *http.Request, p string) { q.SetBasicAuth("me", p) }, true},
			"basic, other user": {"basic:me", func(q *http.Request, p string) { q.SetBasicAuth("you", p) }, false},
			"basic for bearer":  {"authorization", func(q *http.Request, p string) { q.SetBasicAuth("me", p) }, false},
			"query":             {"query:key", func(q *http.Request, p string) { q.URL.RawQuery = "a=1&key=" + p + "&b=%20" }, true},
			"another query":     {"query:key", func(q *http.Request, p string) { q.URL.RawQuery = "kex=" + p }, false},
			"query twice":       {"query:key", func(q *http.Request, p string) { q.URL.RawQuery = "key=" + p + "&key=" + p }, false},
			"path":              {"authorization", func(q *http.Request, p string) { q.URL.Path = "/" + p }, false},
		} {
			t.Run(fmt.Sprint(name, h2), func(t *testing.T) {
				r := start(t, h2, logins.Credential{In: []string{c.in}})
				_, _, h := r.ask("GET", "/", func(q *http.Request) { c.edit(q, r.placeholder()) })
				if took := r.took.Load() == 1; took != c.took || (h.Get("X-Protocol") == "HTTP/2.0") != h2 {
					t.Errorf("took %v, want %v; %s", took, c.took, h.Get("X-Protocol"))
				}
			})
		}
	}
}

// A credential that comes later is put in at its hosts. A placeholder at another host, and a request that is signed, are told.
func TestLater(t *testing.T) {
	r := start(t, true, logins.Credential{In: []string{"header:X-Token"}})
	add := func(name, host string) string {
		c := logins.Credential{Name: name, From: [][]string{{"env", "LATER"}}, Hosts: []string{host}, In: []string{"authorization"}}
		if err := r.proxy.Add(logins.Job{Credentials: []logins.Credential{c}, Values: map[string]string{"LATER": secret}}); err != nil {
			t.Fatal(err)
		}
		ready, err := r.proxy.Wait(time.Minute)
		if err != nil || ready.Authority != r.ready.Authority {
			t.Fatal(err)
		}
		return ready.Placeholders[name]
	}
	elsewhere, here := add("elsewhere", "elsewhere.example"), add("here", fmt.Sprintf("%s:%d", host, r.port))
	r.ask("GET", "/", bearer(elsewhere))
	r.ask("GET", "/", func(q *http.Request) { q.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=A/B") })
	if r.took.Load() != 0 {
		t.Error("another host has the value")
	}
	r.ask("GET", "/", bearer(here))
	if r.took.Load() != 1 {
		t.Error("it is not put in")
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		r.mu.Lock()
		told := fmt.Sprint(r.events)
		r.mu.Unlock()
		if strings.Contains(told, "elsewhere "+host+"  it is none of its hosts") && strings.Contains(told, host+"  the request is signed") && strings.Contains(told, "here "+host+" /") {
			return
		}
		if time.Now().After(end) {
			t.Fatal(told)
		}
	}
}

// Requests that could be read in two ways, or lead elsewhere, are not passed on.
func TestRefused(t *testing.T) {
	r := start(t, false, logins.Credential{In: []string{"header:X-Token"}, Allow: []string{"GET /ok/*", "POST /repos/*/pulls", "* " + host + "/gateway/*", "* other.example/x/*"}, Deny: []string{"GET /ok/keys"}})
	for name, q := range map[string]struct {
		head string
		code string
	}{
		"allowed":       {"GET /ok/a HTTP/1.1\r\nHost: %s\r\n", "200"},
		"a pattern":     {"POST /repos/x/pulls HTTP/1.1\r\nHost: %s\r\nContent-Length: 0\r\n", "200"},
		"more segments": {"POST /repos/x/y/pulls HTTP/1.1\r\nHost: %s\r\nContent-Length: 0\r\n", "403"},
		"not allowed":   {"GET /other HTTP/1.1\r\nHost: %s\r\n", "403"},
		"another way":   {"DELETE /ok/a HTTP/1.1\r\nHost: %s\r\n", "403"},
		"denied":        {"GET /ok/keys HTTP/1.1\r\nHost: %s\r\n", "403"},
		"denied, KEYS":  {"GET /ok/KEYS HTTP/1.1\r\nHost: %s\r\n", "403"},
		"below a path":  {"PUT /gateway/a/b HTTP/1.1\r\nHost: %s\r\nContent-Length: 0\r\n", "200"},
		"of another":    {"GET /x/a HTTP/1.1\r\nHost: %s\r\n", "403"},
		"denied, below": {"GET /gateway/ok/keys HTTP/1.1\r\nHost: %s\r\n", "403"},
		"no login":      {"GET /other HTTP/1.1\r\nHost: %s\r\nX-Token: none\r\n", "200"},
		"dots":          {"GET /ok/../other HTTP/1.1\r\nHost: %s\r\n", "403"},
		"escapes":       {"GET /ok/%%2e%%2e/other HTTP/1.1\r\nHost: %s\r\n", "403"},
		"slashes":       {"GET /ok//keys HTTP/1.1\r\nHost: %s\r\n", "403"},
		"TRACE":         {"TRACE /ok/a HTTP/1.1\r\nHost: %s\r\n", "405"},
		"trAce":         {"trAce /ok/a HTTP/1.1\r\nHost: %s\r\n", "405"},
		"override":      {"GET /ok/a HTTP/1.1\r\nHost: %s\r\nX-HTTP-Method-Override: DELETE\r\n", "403"},
		"another host":  {"GET /ok/a HTTP/1.1\r\nX: %s\r\nHost: elsewhere.example\r\n", "421"},
		"absolute":      {"GET https://elsewhere.example/ok/a HTTP/1.1\r\nHost: %s\r\n", "421"},
		"h2c":           {"GET /ok/a HTTP/1.1\r\nHost: %s\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n", "400"},
		"two hosts":     {"GET /ok/a HTTP/1.1\r\nHost: %s\r\nHost: elsewhere.example\r\n", "400"},
		"two logins":    {"GET /ok/a HTTP/1.1\r\nHost: %s\r\nAuthorization: a\r\nAuthorization: b\r\n", "400"},
		"two lengths":   {"POST /ok/a HTTP/1.1\r\nHost: %s\r\nContent-Length: 1\r\nContent-Length: 2\r\n", "400"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := r.dial(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			fmt.Fprintf(c, q.head+"X-Token: "+r.placeholder()+"\r\nConnection: close\r\n\r\n", fmt.Sprintf("%s:%d", host, r.port))
			line, err := bufio.NewReader(c).ReadString('\n')
			if err != nil || !strings.Contains(line, " "+q.code+" ") {
				t.Errorf("%q %v, want %s", line, err, q.code)
			}
		})
	}
}

// A head has its end, as a box may have many of them.
func TestLongHead(t *testing.T) {
	r := start(t, false, logins.Credential{})
	for size, want := range map[int]int{12 << 10: http.StatusOK, 40 << 10: http.StatusRequestHeaderFieldsTooLarge} {
		q, _ := http.NewRequest(http.MethodGet, fmt.Sprintf("https://%s:%d/ok", host, r.port), nil)
		q.Header.Set("X-Long", strings.Repeat("x", size))
		if a, err := r.client.Do(q); err != nil || a.StatusCode != want {
			t.Errorf("%d bytes: %v, %v", size, a, err)
		}
	}
}

// What a service says again does not come back in headers; in bodies it does not where filter says so.
func TestEchoes(t *testing.T) {
	r := start(t, true, logins.Credential{In: []string{"query:key"}})
	_, _, h := r.ask("GET", "/redirect?key="+r.placeholder(), nil)
	if at := h.Get("Location"); r.took.Load() != 1 || at != "https://elsewhere.example/?key="+r.placeholder() {
		t.Errorf("%d, %s", r.took.Load(), at)
	}
	for _, h2 := range []bool{false, true} {
		r := start(t, h2, logins.Credential{})
		var early string
		q, _ := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
			Got1xxResponse: func(_ int, h textproto.MIMEHeader) error { early = fmt.Sprint(h); return nil },
		}), "GET", fmt.Sprintf("https://%s:%d/early", host, r.port), nil)
		a, err := r.client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.ReadAll(a.Body)
		a.Body.Close()
		text := early + fmt.Sprint(a.Header, a.Trailer)
		if strings.Contains(strings.ToLower(text), strings.ToLower(secret)) || !strings.Contains(early, "Link") || a.Trailer.Get("Announced") != r.placeholder() || a.Trailer.Get("Unannounced") != r.placeholder() {
			t.Errorf("HTTP/2 %v: %s", h2, text)
		}
	}
	if _, text, _ := r.ask("GET", "/echo", nil); !strings.Contains(text, secret) {
		t.Errorf("a body was changed without filter: %s", text)
	}
	r = start(t, false, logins.Credential{Filter: true})
	inBase64 := base64.StdEncoding.EncodeToString([]byte("x:" + secret))
	_, text, _ := r.ask("GET", "/echo", nil)
	if strings.Contains(text, secret) || strings.Contains(text, inBase64) || !strings.HasPrefix(text, r.placeholder()+" ") {
		t.Errorf("filter: %s", text)
	}
	if _, text, _ := r.ask("GET", "/part", func(q *http.Request) { q.Header.Set("Range", "bytes=1-") }); text != r.placeholder() {
		t.Errorf("a part: %s", text)
	}
	if code, text, _ := r.ask("GET", "/packed", func(q *http.Request) { q.Header.Set("Accept-Encoding", "gzip") }); code != http.StatusBadGateway {
		t.Errorf("packed: %d %q", code, text)
	}
	l := &login{placeholder: "P"}
	l.hold("ab/cd-0123456789")
	if got := l.held.Load().echoes.Replace(`{"a":"ab\/cd-0123456789"}`); got != `{"a":"P"}` {
		t.Error(got)
	}
}

// A value that comes in pieces is taken out, and nothing else is held back.
func TestFilter(t *testing.T) {
	l, err := newLogin(t.Context(), logins.Credential{From: [][]string{{"env", "LAB_TOKEN"}}}, map[string]string{"LAB_TOKEN": "abcab-0123456789"})
	if err != nil {
		t.Fatal(err)
	}
	text := "abc abcab abcab-01234567 xabcab-0123456789abcab-0123456789 ab"
	for size := 1; size < 20; size++ {
		f := &filter{ReadCloser: io.NopCloser(pieces{strings.NewReader(text), size}), of: l.held.Load()}
		got, err := io.ReadAll(f)
		if want := strings.ReplaceAll(text, l.value(), l.placeholder); err != nil || string(got) != want {
			t.Errorf("in pieces of %d: %v, %q, want %q", size, err, got, want)
		}
	}
}

type pieces struct {
	io.Reader
	size int
}

func (p pieces) Read(b []byte) (int, error) { return p.Reader.Read(b[:min(p.size, len(b))]) }

// Bodies, streams and websockets pass as they are.
func TestPasses(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		r := start(t, h2, logins.Credential{})
		r.ask("POST", "/body", func(q *http.Request) { q.Body = io.NopCloser(strings.NewReader("token=" + r.placeholder())) })
		if r.took.Load() != 0 {
			t.Error("the value is in a body")
		}
		data := bytes.Repeat([]byte("0123456789abcdef"), 1<<18)
		_, text, _ := r.ask("POST", "/upload", func(q *http.Request) { q.Body = io.NopCloser(bytes.NewReader(data)) })
		if want := fmt.Sprintf("%d %x", len(data), sha256.Sum256(data)); text != want {
			t.Errorf("an upload: %s, want %s", text, want)
		}
		ctx, cancel := context.WithCancel(t.Context())
		q, _ := http.NewRequestWithContext(ctx, "GET", fmt.Sprintf("https://%s:%d/events", host, r.port), nil)
		a, err := r.client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(a.Body).ReadString('\n'); line != "data: 0\n" { // the service waits for us
			t.Errorf("%q %v", line, err)
		}
		cancel()
		a.Body.Close()
	}
	r := start(t, true, logins.Credential{}) // a service that speaks HTTP/2 takes websockets by HTTP/1.1
	c, err := r.tls("http/1.1")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "GET /websocket HTTP/1.1\r\nHost: %s:%d\r\nAuthorization: Bearer %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", host, r.port, r.placeholder())
	in := bufio.NewReader(c)
	first, _ := in.ReadString('\n') // what is said before the answer is lost, which no websocket does
	fmt.Fprint(c, "hello\n")
	text, _ := io.ReadAll(in)
	if !strings.HasPrefix(first, "HTTP/1.1 101 ") || !strings.HasSuffix(string(text), "got hello\n") || r.took.Load() != 1 {
		t.Errorf("%d, %q", r.took.Load(), text)
	}
}

// A program that asks for another name, or does not take the authority, gets nothing, and the second is told.
func TestHandshake(t *testing.T) {
	r := start(t, false, logins.Credential{})
	c, err := r.tls("http/1.1") // one that is opened ahead and not used is nothing to tell
	if err != nil {
		t.Fatal(err)
	}
	_ = c.(*tls.Conn).CloseWrite()
	_, _ = io.ReadAll(c)
	r.proxy.Close()
	if len(r.events) > 0 {
		t.Errorf("%+v", r.events)
	}
	r = start(t, false, logins.Credential{})
	c = tls.Client(r.raw(), &tls.Config{ServerName: "elsewhere.example", InsecureSkipVerify: true})
	if c.(*tls.Conn).Handshake() == nil {
		t.Error("a handshake for another name")
	}
	c.Close()
	c = tls.Client(r.raw(), &tls.Config{ServerName: host})
	if c.(*tls.Conn).Handshake() == nil {
		t.Error("the system trusts the run's authority")
	}
	c.Close()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		r.mu.Lock()
		n := len(r.events)
		r.mu.Unlock()
		if n > 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("nothing is told")
		}
	}
	if e := r.events[0]; e.Host != host || e.Refused != distrusted {
		t.Errorf("%+v", e)
	}
}

// A service that wants a certificate of the client gets none, and one line says so.
func TestServiceWantsCertificate(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		r := start(t, false, logins.Credential{})
		r.up.TLS.ClientAuth, r.up.TLS.MaxVersion = tls.RequireAnyClientCert, version
		code, text, _ := r.ask("GET", "/", bearer(r.placeholder()))
		if code != 502 || text != "inner: "+host+" wants a certificate of the client, which is not broken open\n" || r.took.Load() != 0 {
			t.Errorf("TLS %x: %d %s", version, code, text)
		}
	}
}

// A service whose certificate is not valid gets no request, and the error says no more than that.
func TestServiceNotValid(t *testing.T) {
	r := start(t, true, logins.Credential{In: []string{"query:key"}}, "SSL_CERT_FILE=/dev/null")
	code, text, _ := r.ask("GET", "/?key="+r.placeholder(), nil)
	if code != 502 || text != "inner: example.com has a certificate that is not valid for it\n" || r.took.Load() != 0 {
		t.Errorf("%d %s", code, text)
	}
}

// Another process of the user reads nothing of it, and it ends with the launcher.
func TestProcess(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads every process")
	}
	r := start(t, false, logins.Credential{})
	found, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	n := 0
	for _, p := range found {
		line, _ := os.ReadFile(p)
		if !bytes.Equal(line, []byte(os.Args[0]+"\x00--build=test\x00")) {
			continue
		}
		n++
		for _, name := range []string{"environ", "mem", "maps"} {
			f, err := os.Open(filepath.Join(filepath.Dir(p), name))
			if err == nil {
				_, err = f.Read(make([]byte, 1))
				f.Close()
			}
			if err == nil || err == io.EOF {
				t.Errorf("%s of inner-proxy can be read", name)
			}
		}
	}
	if n == 0 {
		t.Error("inner-proxy is not found")
	}
	r.proxy.Close()
	if _, err := r.proxy.Dial(logins.Conn{}); err == nil {
		t.Error("it takes connections after its end")
	}
}

func TestSources(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	vars := map[string]string{"LAB_TOKEN": "one"}
	for name, c := range map[string]struct {
		from []string
		want string
	}{
		"env":     {[]string{"env", "LAB_TOKEN"}, "one"},
		"file":    {[]string{"file", file("plain", "two\n"), ""}, "two"},
		"json":    {[]string{"file", file("a.json", `{"a":{"b":"three"}}`), "a.b"}, "three"},
		"toml":    {[]string{"file", file("a.toml", "[a]\nb = \"four\"\n"), "a.b"}, "four"},
		"pypirc":  {[]string{"file", file("pypirc", "[pypi]\nusername = __token__\npassword = five\n"), "pypi.password"}, "five"},
		"npmrc":   {[]string{"file", file("npmrc", "//registry.npmjs.org/:_authToken=six\n"), "//registry.npmjs.org/:_authToken"}, "six"},
		"endless": {[]string{"cmd", "/usr/bin/yes", "eight"}, "eight"},
		"command": {[]string{"cmd", "/bin/sh", "-c", "echo seven; echo more"}, "seven"},
	} {
		if got, err := value(t.Context(), [][]string{{"env", "NOT_SET"}, c.from}, vars); err != nil || got != c.want {
			t.Errorf("%s: %q %v, want %q", name, got, err, c.want)
		}
	}
	for name, from := range map[string][]string{
		"empty": {"env", "NOT_SET"}, "no file": {"file", dir + "/x", ""}, "no key": {"file", dir + "/a.json", "a.c"},
		"variable": {"file", file("npmrc2", "//registry.npmjs.org/:_authToken=${NPM_TOKEN}\n"), "//registry.npmjs.org/:_authToken"},
		"fails":    {"cmd", "/bin/false"}, "lines": {"file", file("lines", "a\nb"), ""},
	} {
		if got, err := value(t.Context(), [][]string{from}, vars); err == nil {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// An upload that is answered before its end is over with the answer, though the program sends no more and waits.
func TestAnsweredEarly(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		r := start(t, h2, logins.Credential{})
		c := http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{ForceAttemptHTTP2: true, DialTLSContext: func(context.Context, string, string) (net.Conn, error) {
			return r.tls("h2")
		}}}
		more, end := io.Pipe()
		q, _ := http.NewRequest("POST", fmt.Sprintf("https://%s:%d/full", host, r.port), io.MultiReader(bytes.NewReader(make([]byte, 1<<20)), more))
		a, err := c.Do(q)
		if err != nil {
			t.Fatalf("HTTP/2 %v: %v", h2, err)
		}
		if text, err := io.ReadAll(a.Body); err != nil || string(text) != "full" || a.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("HTTP/2 %v: %d %q %v", h2, a.StatusCode, text, err)
		}
		end.Close()
		a.Body.Close()
	}
}
