package netproxy

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/profile/hosts"
)

const maxHead = 16 << 10 // of a request

// The replies of SOCKS5, RFC 1928 section 6.
const (
	socksFailure     = 1
	socksNotAllowed  = 2
	socksUnreachable = 4
	socksRefused     = 5
	socksExpired     = 6
	socksCommand     = 7
	socksAddress     = 8
)

// request is what a program asked for.
type request struct {
	to     place
	socks  bool   // by SOCKS5, not HTTP
	folder string // asked for by inner ask, and no target
	begin  []byte // what the target gets first, of a request for something of http
}

// handle answers one connection.
func (p *Proxy) handle(c net.Conn) {
	_ = c.SetReadDeadline(time.Now().Add(p.times.head))
	limit := &io.LimitedReader{R: c, N: maxHead}
	in := bufio.NewReaderSize(limit, 32<<10)
	first, err := in.Peek(1)
	if err != nil {
		return
	}
	read := readHTTP
	if first[0] == 4 || first[0] == 5 {
		read = readSocks
	}
	r, err := read(in, c)
	var to Target
	var s net.Conn
	var g grant
	var f *Refusal
	if err == nil && r.folder != "" {
		err = p.o.Folder(p.ctx, r.folder)
		if f = refusal("", "%v", err); err == nil {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
			return
		}
	} else if err == nil {
		to = r.to.target()
		s, g, f = p.connect(r.to)
	} else if !errors.As(err, &f) && limit.N <= 0 {
		f = badf(0, "a request has a head of more than %d bytes", maxHead)
	}
	if f != nil {
		if f.Target = to; r.folder == "" {
			p.told(to, f)
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
	limit.N = 1 << 62 // what follows is for the target
	_ = c.SetReadDeadline(time.Time{})
	r.answer(c, nil, "")
	p.tunnel(c, s, in, r, g)
}

// answer tells a program that it is connected, or why not, and what would change that.
func (r request) answer(c net.Conn, f *Refusal, cure string) {
	switch {
	case r.socks:
		code := byte(0)
		if f != nil {
			code = f.socks
		}
		// The address that was bound is nobody's business: 0.0.0.0:0.
		_, _ = c.Write([]byte{5, code, 0, 1, 0, 0, 0, 0, 0, 0})
	case f != nil:
		const head = "HTTP/1.1 %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s"
		text := "inner: " + f.Reason + "\n"
		if cure != "" {
			text += "inner: " + cure + "\n"
		}
		fmt.Fprintf(c, head, f.status, len(text), text)
	case r.begin == nil:
		_, _ = io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n")
	}
}

// badf is a request that could not be read.
func badf(socks byte, format string, args ...any) *Refusal {
	f := refusal(Malformed, format, args...)
	f.status, f.socks = "400 Bad Request", socks
	return f
}

// readHTTP reads the head of a request, in lines that end in CR LF and nothing else.
func readHTTP(in *bufio.Reader, _ io.Writer) (r request, err error) {
	var lines []string
	for line := "x"; line != ""; lines = append(lines, line) {
		if line, err = in.ReadString('\n'); err != nil {
			return r, err
		}
		ok := false
		if line, ok = strings.CutSuffix(line, "\r\n"); !ok {
			return r, badf(0, "a request has a line that does not end in CR LF")
		}
		if strings.ContainsFunc(line, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
			return r, badf(0, "a request has a control character: %q", visible.Short(line))
		}
	}
	parts := strings.Split(lines[0], " ")
	if len(parts) != 3 || parts[2] != "HTTP/1.1" && parts[2] != "HTTP/1.0" {
		return r, badf(0, "a request is not HTTP/1.1: %q", visible.Short(lines[0]))
	}
	if parts[0] == "ASK" {
		r.folder, err = url.PathUnescape(parts[1])
		return r, err
	}
	if parts[0] == "CONNECT" {
		r.to, err = parseAuthority(parts[1], 0)
		return r, err
	}
	return plainHTTP(parts[0], parts[1], parts[2], lines[1:len(lines)-1])
}

// plainHTTP makes of a request to a proxy one to a server. Its connection ends with the answer, so the
// next one is decided about anew. Whatever else the program sends on it reaches the host that it may
// talk to, and no other.
func plainHTTP(method, target, version string, fields []string) (r request, err error) {
	scheme, rest, _ := strings.Cut(target, "://")
	if !strings.EqualFold(scheme, "http") {
		return r, badf(0, "a request is for %q, and this is a proxy for http:// and CONNECT", visible.Short(target))
	}
	authority, path := rest, ""
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	if r.to, err = parseAuthority(authority, 80); err != nil {
		return r, err
	}
	r.to.open = true
	// Host is of the place that was decided about, Connection ours, and Proxy-Authorization for nobody else.
	b := fmt.Appendf(nil, "%s /%s %s\r\nHost: %s\r\n", method, strings.TrimPrefix(path, "/"), version, strings.TrimSuffix(r.to.target().String(), ":80"))
	for _, line := range fields {
		name, _, ok := strings.Cut(strings.ToLower(line), ":")
		switch {
		case !ok || name == "" || strings.ContainsAny(name, " \t"): // a line folded onto the next begins with a blank
			return r, badf(0, "a request has the line %q, which is not NAME: VALUE", visible.Short(line))
		case name != "host" && name != "connection" && !strings.HasPrefix(name, "proxy-"):
			b = append(b, line+"\r\n"...)
		}
	}
	r.begin = append(b, "Connection: close\r\n\r\n"...)
	return r, nil
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
		return place{}, badf(0, "a request for %q: it %v", visible.Short(s), err)
	}
	return to, nil
}

// readSocks reads a request of SOCKS5, without a password.
func readSocks(in *bufio.Reader, w io.Writer) (r request, err error) {
	take := func(n int) []byte { // zeroes after the first error
		b := make([]byte, n)
		if err == nil {
			_, err = io.ReadFull(in, b)
		}
		return b
	}
	greeting := take(2)
	if r.socks = true; greeting[0] != 5 {
		return r, badf(socksFailure, "a SOCKS request is not of version 5")
	}
	if methods := take(int(greeting[1])); err != nil || bytes.IndexByte(methods, 0) < 0 {
		_, _ = w.Write([]byte{5, 0xff})
		return r, errors.Join(err, io.EOF)
	}
	_, _ = w.Write([]byte{5, 0})
	head := take(4)
	size := map[byte]int{1: 4, 4: 16}[head[3]]
	switch {
	case err != nil:
		return r, err
	case head[0] != 5 || head[2] != 0:
		return r, badf(socksFailure, "a SOCKS request is not of version 5")
	case head[1] != 1:
		return r, badf(socksCommand, "a SOCKS request asks for more than a connection")
	case head[3] == 3:
		size = int(take(1)[0])
	case size == 0:
		return r, badf(socksAddress, "a SOCKS request has an address of an unknown kind")
	}
	host := take(size)
	r.to.port = binary.BigEndian.Uint16(take(2))
	switch {
	case err != nil:
		return r, err
	case r.to.port == 0:
		return r, badf(socksFailure, "a SOCKS request asks for port 0")
	case head[3] == 3:
		var wrong error
		if r.to.name, r.to.addr, wrong = hosts.Host(string(host)); wrong != nil {
			return r, badf(socksNotAllowed, "a SOCKS request for %q: the host %v", visible.Short(string(host)), wrong)
		}
	default:
		r.to.addr, _ = netip.AddrFromSlice(host)
		r.to.addr = r.to.addr.Unmap()
	}
	return r, nil
}
