// Package proxy is what inner-proxy does: it ends the TLS of a box's connections to the hosts of credentials, with an
// authority that was made for the run, and puts the value of a login where its placeholder stands, and nowhere else.
//
// What it promises:
//
//   - A value goes to the hosts of its credential alone, over TLS that the host's own certificate holds, and only where the
//     placeholder is the whole of a place that the credential names (login.put). The host of a connection is what the
//     launcher says, and nothing that is said in it changes that.
//   - No value comes back: headers of answers are searched for it, errors are fixed texts, and what it tells the launcher
//     are names. A body that says the value again is passed on, unless the credential says filter.
//   - It is not dumpable before it reads a value, so no process that comes to it later reads its memory. Who runs as the
//     user outside and waits for its start can.
//
// Who may use a login may misuse it at its service; allow narrows that.
package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/logins"
)

const (
	helloTime = 30 * time.Second // of a TLS handshake with the box
	dialTime  = 15 * time.Second // to a host, and for the handshake with it
)

// proxy is the running program.
type proxy struct {
	authority *authority
	conns     chan net.Conn
	way       *httputil.ReverseProxy
	roots     func() *x509.CertPool

	busy   sync.RWMutex // see oauth
	mu     sync.Mutex
	logins []*login
	told   map[logins.Event]bool // each is told once, without its path
	socket *os.File
}

// conn is a connection of the box.
type conn struct {
	net.Conn
	to logins.Conn
}

// Close takes what still comes for a moment. An answer that came before the end of an upload would be lost
// with what is unread; net/http sees to that, but not of requests that expect to be told to go on.
func (c *conn) Close() error {
	if s, ok := c.Conn.(*net.UnixConn); ok {
		_ = s.CloseWrite()
	}
	go func() {
		_ = c.SetReadDeadline(time.Now().Add(time.Second))
		_, _ = io.Copy(io.Discard, c.Conn)
		c.Conn.Close()
	}()
	return nil
}

// maxMemory is more than ten thousand connections take. A box that has this program hold more ends it, and the computer
// has its memory.
const maxMemory = 1 << 30

type connKey struct{}

type uploadKey struct{} // what the box sends

// Main is the program, which a launcher of the same build starts. It ends with that.
func Main(args []string, version string) int {
	if len(args) != 2 || args[1] != "--build="+version {
		return 2
	}
	unix.CloseOnExec(logins.FD)
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	_ = unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: maxMemory, Max: maxMemory})
	debug.SetMemoryLimit(maxMemory / 2)
	if unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) != nil {
		return 1
	}
	debug.SetTraceback("none")
	log.SetOutput(io.Discard)
	p := &proxy{socket: os.NewFile(logins.FD, ""), conns: make(chan net.Conn), told: map[logins.Event]bool{}}
	var err error
	if p.authority, err = newAuthority(); err != nil {
		return 1
	}
	p.serve()
	p.receive()
	p.busy.Lock() // no renewal begins any more
	return 0
}

// receive takes credentials and connections of the box until the launcher is gone, and with it the programs
// that are asked for values.
func (p *proxy) receive() {
	ctx, cancel := context.WithCancel(context.Background())
	var asked sync.WaitGroup
	defer asked.Wait()
	defer cancel()
	for {
		var order logins.Order
		came, err := logins.Receive(p.socket, &order)
		if err != nil {
			time.AfterFunc(lockWait+2*askTime, func() { os.Exit(1) }) // more than what is under way can take
			return
		}
		if order.Job != nil {
			asked.Go(func() { p.learn(ctx, *order.Job) })
		}
		for _, f := range came {
			c, err := net.FileConn(f)
			f.Close()
			if err == nil && order.Conn != nil {
				go p.accept(&conn{Conn: c, to: *order.Conn})
			}
		}
	}
}

// learn reads the values of credentials, and says so.
func (p *proxy) learn(ctx context.Context, job logins.Job) {
	ready := logins.Ready{
		Authority: p.authority.pem(), Placeholders: map[string]string{}, Missing: map[string]string{},
		Ended: map[string]string{}, Stores: map[string][]byte{},
	}
	for _, c := range job.Credentials {
		if c.From != nil && c.From[0][0] == "agent" {
			if _, err := p.learnSSH(c, &ready); err != nil {
				ready.Missing[c.Name] = err.Error()
			}
			continue
		}
		var l *login
		var err error
		if c.OAuth != nil {
			l, err = p.renewable(ctx, c, &ready)
		} else {
			l, err = newLogin(ctx, c, job.Values)
		}
		if err != nil {
			ready.Missing[c.Name] = err.Error()
			continue
		}
		p.mu.Lock()
		p.logins = append(p.logins, l)
		p.mu.Unlock()
		ready.Placeholders[c.Name] = l.placeholder
	}
	p.send(logins.Event{Ready: &ready})
}

// tell tells the launcher something once.
func (p *proxy) tell(e logins.Event) {
	key := e
	key.Path = ""
	e.Path = e.Path[:min(len(e.Path), 200)] // a packet has its end, and a record
	p.mu.Lock()
	known := p.told[key]
	p.told[key] = true
	p.mu.Unlock()
	if !known {
		p.send(e)
	}
}

func (p *proxy) send(e logins.Event) { _ = logins.Send(p.socket, e, nil) } // who is gone is not told

// accept ends the TLS of a connection.
func (p *proxy) accept(c *conn) {
	host := c.to.Host
	t := tls.Server(c, &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			if hello.ServerName != "" && !strings.EqualFold(strings.TrimSuffix(hello.ServerName, "."), host) {
				return nil, errors.New("another name")
			}
			return p.authority.leaf(host)
		},
	})
	_ = c.SetDeadline(time.Now().Add(helloTime))
	if err := t.Handshake(); err != nil {
		// Claude Code opens connections ahead and drops them: an end is nothing to tell, here or behind the handshake,
		// though GnuTLS says no more where it does not take the certificate.
		if distrusts(err) {
			p.tell(logins.Event{Host: host, Refused: distrusted})
		}
		c.Close()
		return
	}
	_ = c.SetDeadline(time.Time{})
	p.conns <- t
}

const distrusted = "the program does not take the certificate of this run"

// distrusts reports whether a handshake ended because the program does not take the authority. In TLS 1.3 OpenSSL says
// so before its keys are there, which crypto/tls calls a bad record.
func distrusts(err error) bool {
	return slices.ContainsFunc([]string{"unknown certificate authority", "bad certificate", "unknown certificate", "bad record MAC"}, func(s string) bool {
		return strings.Contains(err.Error(), s)
	})
}

// serve makes the two sides of HTTP: towards the box, and towards the hosts.
func (p *proxy) serve() {
	p.roots = sync.OnceValue(func() *x509.CertPool { // 10 ms, so not before the first request
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if own, err := os.ReadFile(os.Getenv("NODE_EXTRA_CA_CERTS")); err == nil { // SSL_CERT_FILE is in the pool
			pool.AppendCertsFromPEM(own)
		}
		return pool
	})
	p.way = &httputil.ReverseProxy{
		Transport:     transports{p.transport("h2", "http/1.1"), p.transport("http/1.1")},
		FlushInterval: time.Millisecond, // events pass at once, as all that has no length
		BufferPool:    &buffers{sync.Pool{New: func() any { return new(buffer) }}},
		ErrorLog:      log.Default(),
		Rewrite:       p.rewrite, ModifyResponse: p.answer, ErrorHandler: p.failed,
	}
	server := &http.Server{
		Handler: http.HandlerFunc(p.request), ReadHeaderTimeout: helloTime, ErrorLog: log.Default(),
		MaxHeaderBytes: 16 << 10, // a box may have many connections with a head that does not end
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c.(*tls.Conn).NetConn().(*conn))
		},
	}
	go func() { _ = server.Serve(listener{p.conns}) }()
}

// buffers are for bodies of answers: one of its own for each was most of the work on a request.
type buffers struct{ sync.Pool }

type buffer [32 << 10]byte

func (b *buffers) Get() []byte  { return b.Pool.Get().(*buffer)[:] }
func (b *buffers) Put(p []byte) { b.Pool.Put((*buffer)(p)) }

// transports are for any request, and for one that is to become a websocket, which needs HTTP/1.1.
type transports struct{ any, one *http.Transport }

func (t transports) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Upgrade") != "" {
		return t.one.RoundTrip(r)
	}
	return t.any.RoundTrip(r)
}

func (p *proxy) transport(protocols ...string) *http.Transport {
	return &http.Transport{
		DialTLSContext:    func(ctx context.Context, _, _ string) (net.Conn, error) { return p.dial(ctx, protocols) },
		ForceAttemptHTTP2: true, DisableCompression: true,
		MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute, ExpectContinueTimeout: 3 * time.Second, MaxResponseHeaderBytes: 1 << 20,
	}
}

// dial connects to a host, at an address that the policy allows, and holds its certificate against the host's name.
func (p *proxy) dial(ctx context.Context, protocols []string) (net.Conn, error) {
	to := ctx.Value(connKey{}).(*conn).to
	return dialAny(ctx, to.Addrs, to.Port, &tls.Config{RootCAs: p.roots(), ServerName: to.Host, MinVersion: tls.VersionTLS12, NextProtos: protocols})
}

func dialAny(ctx context.Context, at []netip.Addr, port uint16, conf *tls.Config) (net.Conn, error) {
	d := tls.Dialer{NetDialer: &net.Dialer{Timeout: dialTime}, Config: conf}
	err := errors.New("no address")
	for _, a := range at {
		var c net.Conn
		if c, err = d.DialContext(ctx, "tcp", netip.AddrPortFrom(a, port).String()); err == nil {
			return c, nil
		}
	}
	return nil, err
}

func refuse(w http.ResponseWriter, code int, why string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, "inner: "+why+"\n")
}

// request looks at a request of the box.
func (p *proxy) request(w http.ResponseWriter, r *http.Request) {
	to := r.Context().Value(connKey{}).(*conn).to
	is := func(authority string) bool {
		host, port, err := net.SplitHostPort(authority)
		if err != nil {
			host, port = authority, "443"
		}
		return strings.EqualFold(strings.TrimSuffix(host, "."), to.Host) && port == strconv.Itoa(int(to.Port))
	}
	upgrade := r.Header.Values("Upgrade")
	switch {
	case !is(r.Host), r.URL.Host != "" && !is(r.URL.Host):
		refuse(w, http.StatusMisdirectedRequest, "the request is for another host than the connection")
		return
	case slices.Contains([]string{http.MethodTrace, http.MethodConnect, "TRACK"}, r.Method), r.Method != strings.ToUpper(r.Method):
		refuse(w, http.StatusMethodNotAllowed, "the method is not passed on where a login is put in")
		return
	case len(upgrade) > 1 || len(upgrade) == 1 && !strings.EqualFold(upgrade[0], "websocket"):
		// Behind another, as h2c, whole requests would pass unread.
		refuse(w, http.StatusBadRequest, "of upgrades only websocket is passed on where a login is put in")
		return
	case len(r.Header.Values("Authorization")) > 1:
		refuse(w, http.StatusBadRequest, "there is more than one Authorization")
		return
	}
	if scheme, _, _ := strings.Cut(r.Header.Get("Authorization"), "-HMAC-"); scheme == "AWS4" {
		p.tell(logins.Event{Host: to.Host, Refused: "the request is signed with a key (AWS), for which no placeholder can stand: for Bedrock use AWS_BEARER_TOKEN_BEDROCK"})
	}
	answer := cleaned{w, p.of(to)}
	var none *http.Request // one that is not passed on, for all that have no value here
	for _, l := range p.all() {
		if l.Takes(to.Host, to.Port) {
			continue
		}
		if none == nil {
			none = r.Clone(r.Context())
		}
		if l.put(none) {
			p.tell(logins.Event{Credential: l.Name, Host: to.Host, Refused: "it is none of its hosts, and gets the placeholder"})
		}
	}
	for _, l := range answer.of {
		if l.oauth != nil && p.token(w, r, l, to) {
			return
		}
		if l.oauth != nil {
			l.oauth.current()
		}
		if !l.Takes(to.Host, to.Port) {
			continue
		}
		if why := l.permits(r, to.Host); why != "" {
			p.tell(logins.Event{Credential: l.Name, Host: to.Host, Path: r.URL.Path, Refused: why})
			refuse(w, http.StatusForbidden, "credential "+l.Name+": "+r.Method+" "+r.URL.Path+" is refused: "+why)
			return
		}
	}
	p.way.ServeHTTP(answer, r.WithContext(context.WithValue(r.Context(), uploadKey{}, r.Body)))
	answer.clean()
}

// of are the logins for a host.
func (p *proxy) of(to logins.Conn) []*login {
	return slices.DeleteFunc(p.all(), func(l *login) bool { return !l.Takes(to.Host, to.Port) && !l.Renews(to.Host, to.Port) })
}

func (p *proxy) all() []*login {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.logins)
}

// rewrite makes the request that the host gets.
func (p *proxy) rewrite(pr *httputil.ProxyRequest) {
	to := pr.In.Context().Value(connKey{}).(*conn).to
	out := pr.Out
	out.URL.Scheme, out.URL.Host = "https", net.JoinHostPort(to.Host, strconv.Itoa(int(to.Port)))
	out.Host, out.URL.RawQuery = pr.In.Host, pr.In.URL.RawQuery
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if v, ok := pr.In.Header[name]; ok { // which ReverseProxy takes out
			out.Header[name] = v
		}
	}
	if _, ok := pr.In.Header["User-Agent"]; !ok {
		out.Header["User-Agent"] = nil
	}
	for _, l := range p.of(to) {
		if l.Takes(to.Host, to.Port) && l.value() != "" && l.put(out) {
			p.tell(logins.Event{Credential: l.Name, Host: to.Host, Path: out.URL.Path})
		}
		if l.Filter {
			out.Header.Del("Accept-Encoding")
			out.Header.Del("Range") // a part of a value would not be found
		}
	}
}

// answer takes the values out of what a host says.
func (p *proxy) answer(r *http.Response) error {
	to := r.Request.Context().Value(connKey{}).(*conn).to
	if r.StatusCode != http.StatusSwitchingProtocols {
		r.Body = answered{r.Body, r.Request.Context().Value(uploadKey{}).(io.Closer)}
	}
	if r.Request.ContentLength != 0 {
		// Flushed at each write: curl loses an answer over HTTP/2 that comes with the end of its upload, in one piece.
		r.ContentLength = -1
	}
	for _, l := range p.of(to) {
		if l.oauth != nil && r.StatusCode == http.StatusUnauthorized {
			l.oauth.saw(r.Request)
		}
		if r.StatusCode == http.StatusSwitchingProtocols { // which is written past cleaned
			l.clean(r.Header)
		}
		if l.Filter && r.StatusCode != http.StatusSwitchingProtocols {
			if coding := r.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
				return errPacked
			}
			r.Header.Del("Content-Length")
			r.ContentLength = -1
			r.Body = &filter{ReadCloser: r.Body, of: l.held.Load()}
		}
	}
	return nil
}

var errPacked = errors.New("a body that cannot be searched")

// answered is the body of an answer. When it is through, nobody needs more of an upload, on which net/http would
// wait over HTTP/2, as the program in the box does on the end of the answer.
type answered struct {
	io.ReadCloser
	upload io.Closer
}

func (a answered) Close() error {
	a.upload.Close()
	return a.ReadCloser.Close()
}

// failed answers in fixed words: an error may say the address, and a value in its query.
func (p *proxy) failed(w http.ResponseWriter, r *http.Request, err error) {
	host := r.Context().Value(connKey{}).(*conn).to.Host
	why := "cannot be reached, or broke off"
	var cert *tls.CertificateVerificationError
	switch {
	case r.Context().Err() != nil:
		return // the program went
	case errors.As(err, &cert):
		why = "has a certificate that is not valid for it"
	case errors.Is(err, errPacked):
		why = "sends a packed answer, in which filter finds no value"
	case strings.Contains(err.Error(), "certificate required"), strings.Contains(err.Error(), "handshake failure"):
		why = "wants a certificate of the client, which is not broken open"
	}
	p.tell(logins.Event{Host: host, Refused: why})
	refuse(w, http.StatusBadGateway, host+" "+why)
}

// listener gives a server connections that came otherwise.
type listener struct{ conns chan net.Conn }

func (l listener) Accept() (net.Conn, error) { return <-l.conns, nil }
func (l listener) Close() error              { return nil }
func (l listener) Addr() net.Addr            { return &net.UnixAddr{Net: "unix"} }
