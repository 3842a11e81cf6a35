package netproxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/profile/hosts"
)

const (
	maxHead   = 16 << 10 // of a request
	maxFields = 200
	token     = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz" // what a name in it has (RFC 9110 section 5.6.2)
)

// request is what a program asked for.
type request struct {
	to     place
	http   bool   // in words of HTTP, in which it is answered
	folder string // asked for by inner ask, and no target
	begin  []byte // what the target gets first, of a request for something of http
	length string // the line of that which says how long its body is
	size   int64  // of its body, -1 where it comes in chunks
	socket bool   // it asks for a websocket
}

// handle answers one connection: one to the proxy, or one that was made to a place itself, by its name or
// its address in the box. Of the latter nothing is read before the place is reached, which may be the first to
// speak; but port 80 of a name is for HTTP, where each request says a name of its own.
func (p *Proxy) handle(c net.Conn, at place, n *names) {
	limit := &io.LimitedReader{R: c, N: maxHead}
	in := bufio.NewReader(limit)
	r, err := request{to: at}, error(nil)
	if direct := at.port != 0; !direct || at.name != "" && at.port == 80 {
		_ = c.SetReadDeadline(time.Now().Add(p.times.head))
		first, silent := in.Peek(1)
		if silent != nil {
			return
		}
		if r.http = !direct || first[0] != recordHandshake; r.http {
			r, err = readHTTP(in, at)
		}
	}
	var to Target
	var s net.Conn
	var g grant
	var f *Refusal
	if err == nil && r.folder != "" {
		ctx, cancel := context.WithCancel(p.ctx)
		_ = c.SetReadDeadline(time.Time{})
		go func() { // whoever asked may be gone before there is an answer
			_, _ = io.Copy(io.Discard, in)
			cancel()
		}()
		words, err := p.o.Folder(ctx, r.folder)
		if f = refusal("", "%v", err); err == nil {
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\n\r\n%s", words)
			return
		}
	} else if err == nil {
		to = r.to.target()
		s, g, f = p.connect(r.to, n)
	} else if !errors.As(err, &f) && limit.N <= 0 {
		f = badf("a request has a head of more than %d bytes", maxHead)
	}
	if f != nil {
		if err != nil && at.port != 0 {
			to = at.target()
		}
		if f.Target = to; r.folder == "" {
			p.told(to, f)
		}
		if !r.http { // all that it can be told: it has no connection
			reset(c)
			return
		}
		cure := ""
		if p.o.Cure != nil && r.folder == "" {
			cure = p.o.Cure(*f)
		}
		r.answer(c, f, cure)
		part(c)
	}
	if f != nil || err != nil || !p.keep(s) {
		return // an error: it has gone, or said nothing for too long
	}
	defer p.drop(s)
	if r.begin != nil && p.o.Clear != nil {
		p.o.Clear(to, r.begin)
	}
	limit.N = 1 << 62 // what follows is for the target
	_ = c.SetReadDeadline(time.Time{})
	r.answer(c, nil, "")
	p.tunnel(c, s, in, r, g)
}

// answer tells a program that it is connected, or why not, and what would change that.
func (r request) answer(c net.Conn, f *Refusal, cure string) {
	switch {
	case f != nil:
		const head = "HTTP/1.1 %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s"
		text := "inner: " + f.Reason + "\n"
		if cure != "" {
			text += "inner: " + cure + "\n"
		}
		fmt.Fprintf(c, head, f.status, len(text), text)
	case r.http && r.begin == nil:
		_, _ = io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n")
	}
}

// badf is a request that could not be read.
func badf(format string, args ...any) *Refusal {
	f := refusal(Malformed, format, args...)
	f.status = "400 Bad Request"
	return f
}

// readHTTP reads the head of a request, in lines that end in CR LF and nothing else. It is one to a proxy, or with a
// place one to what is there.
func readHTTP(in *bufio.Reader, at place) (r request, err error) {
	r.http = true
	var lines []string
	for line := "x"; line != ""; lines = append(lines, line) {
		if line, err = cutEnd(in.ReadString('\n')); err == nil && len(lines) > maxFields {
			err = badf("a request has more than %d lines", maxFields)
		}
		if err != nil {
			return r, err
		}
		if strings.ContainsFunc(line, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
			return r, badf("a request has a control character: %q", visible.Short(line))
		}
	}
	parts := strings.Split(lines[0], " ")
	if len(parts) != 3 || parts[2] != "HTTP/1.1" && parts[2] != "HTTP/1.0" {
		return r, badf("a request is not HTTP/1.1: %q", visible.Short(lines[0]))
	}
	if parts[0] == "ASK" && at.port == 0 {
		r.folder, err = url.PathUnescape(parts[1])
		return r, err
	}
	if parts[0] == "CONNECT" && at.port == 0 {
		r.to, err = parseAuthority(parts[1], 0)
		return r, err
	}
	return r, r.plainHTTP(parts[0], parts[1], parts[2], lines[1:len(lines)-1], at)
}

// plainHTTP makes of a request to a proxy, or to a place, one to a server. Its connection ends with the answer, so the
// next one is decided about anew: what the program sends behind its body goes nowhere.
func (r *request) plainHTTP(method, target, version string, fields []string, at place) (err error) {
	scheme, rest, absolute := strings.Cut(target, "://")
	path := target
	switch r.to = at; {
	case absolute && strings.EqualFold(scheme, "http"):
		authority := rest
		path = ""
		if i := strings.IndexAny(rest, "/?"); i >= 0 {
			authority, path = rest[:i], rest[i:]
		}
		if r.to, err = parseAuthority(authority, 80); err != nil {
			return err
		}
	case at.port == 0 || target != "*" && !strings.HasPrefix(target, "/"):
		return badf("a request is for %q, and this is a proxy for http:// and CONNECT", visible.Short(target))
	}
	// Host is of the place that was decided about, Connection ours, and Proxy-Authorization for nobody else.
	if path != "*" {
		path = "/" + strings.TrimPrefix(path, "/")
	}
	b := fmt.Appendf(nil, "%s %s %s\r\nHost: %s\r\n", method, path, version, strings.TrimSuffix(r.to.target().String(), ":80"))
	named, after := r.to, "close"
	for _, line := range fields {
		name, value, ok := strings.Cut(strings.ToLower(line), ":")
		switch value = strings.TrimSpace(value); {
		case !ok || name == "" || strings.Trim(name, token) != "": // a line folded onto the next begins with a blank
			return badf("a request has the line %q, which is not NAME: VALUE", visible.Short(line))
		case name == "content-length" || name == "transfer-encoding":
			if !r.framed(name, value, version) {
				return badf("a request has a body whose length is unclear: %q", visible.Short(line))
			}
		case name == "host" && at.port != 0 && err == nil && named == at:
			named, err = parseAuthority(value, 80)
		case name == "upgrade" && value == "websocket": // to any other protocol requests would go unread
			r.socket, after = true, "close, upgrade"
			b = append(b, line+"\r\n"...)
		case name != "host" && name != "connection" && name != "upgrade" && !strings.HasPrefix(name, "proxy-"):
			b = append(b, line+"\r\n"...)
		}
	}
	if at.port != 0 && err == nil && named != at {
		err = refusal(TLS, "%s has a request for %s", at.target(), named.target())
	}
	r.to.open = true
	r.begin = append(b, r.length+"Connection: "+after+"\r\n\r\n"...)
	return err
}

// framed reads a line that says how long the body is. There is one at most, and it is written anew, so that
// whoever reads it next reads the same.
func (r *request) framed(name, value, version string) bool {
	n, err := strconv.ParseUint(value, 10, 63)
	switch {
	case r.length != "":
		return false
	case name == "content-length" && err == nil:
		r.size, r.length = int64(n), fmt.Sprintf("Content-Length: %d\r\n", n)
		return true
	}
	r.size, r.length = -1, "Transfer-Encoding: chunked\r\n"
	return name == "transfer-encoding" && value == "chunked" && version == "HTTP/1.1"
}

// send passes the body of a request, and not a byte more. Chunks are written anew, without the fields behind the last.
func (r request) send(up io.Writer, in *bufio.Reader) error {
	if r.size >= 0 {
		return copyN(up, in, r.size)
	}
	next := func() (string, error) {
		b, err := in.ReadSlice('\n') // no longer than its buffer
		return cutEnd(string(b), err)
	}
	for {
		line, err := next()
		if err != nil {
			return err
		}
		size, _, _ := strings.Cut(line, ";")
		n, err := strconv.ParseUint(strings.TrimRight(size, " \t"), 16, 63)
		if err == nil {
			_, err = fmt.Fprintf(up, "%x\r\n", n)
		}
		if err == nil {
			err = copyN(up, in, int64(n))
		}
		for line = "fields"; err == nil && line != ""; {
			if line, err = next(); n > 0 && line != "" {
				err = errors.New("a chunk is longer than it says")
			}
		}
		if err == nil {
			_, err = io.WriteString(up, "\r\n")
		}
		if err != nil || n == 0 {
			return err
		}
	}
}

// cutEnd takes the end off a line, which is CR LF and nothing else.
func cutEnd(line string, err error) (string, error) {
	line, ok := strings.CutSuffix(line, "\r\n")
	if err == nil && !ok {
		err = badf("a request has a line that does not end in CR LF")
	}
	return line, err
}

// parseAuthority reads host:port. Without a port it is std, or an error when that is 0.
func parseAuthority(s string, std uint16) (place, error) {
	to := place{port: std}
	host, port, err := hosts.Split(s)
	if err == nil && port != "" {
		to.port, err = hosts.Port(port)
	}
	if err == nil && to.port == 0 {
		err = errors.New("has no port")
	}
	if err == nil {
		to.name, to.addr, err = hosts.Host(host)
	}
	if err != nil {
		return place{}, badf("a request for %q: it %v", visible.Short(s), err)
	}
	return to, nil
}
