package netproxy

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/profile/hosts"
)

// Reading the head of an HTTP message, strictly: two readings of one message are how requests are smuggled.

// badHead is an error in what was read.
type badHead string

func (e badHead) Error() string { return string(e) }

func badf(format string, args ...any) error { return badHead(fmt.Sprintf(format, args...)) }

// readHead reads up to the empty line that ends a head of at most maxHead bytes, and returns the
// lines before it without their ends. An end is CR LF and nothing else.
func readHead(in *input) (lines []string, err error) {
	for left := maxHead; ; {
		end := bytes.IndexByte(in.b, '\n') + 1
		for ; end == 0 && len(in.b) <= left; end = bytes.IndexByte(in.b, '\n') + 1 {
			if err := in.more(); err != nil {
				return nil, err
			}
		}
		if left -= end; end == 0 || left < 0 {
			return nil, badf("has a head of more than %d bytes", maxHead)
		}
		line, ok := strings.CutSuffix(string(in.take(end)), "\r\n")
		switch {
		case !ok:
			return nil, badf("has a line that does not end in CR LF")
		case strings.ContainsAny(line, "\r\x00"):
			return nil, badf("has a control character")
		case line == "":
			return lines, nil
		}
		lines = append(lines, line)
	}
}

// field is a line of a head. The name is as it was written.
type field struct{ name, value string }

// request is a request that was understood.
type request struct {
	method  string
	to      place
	connect bool
	host    string // what Host will say
	path    string
	minor   byte // of HTTP/1.
	fields  []field
}

// parseRequest reads the lines of a request's head.
func parseRequest(lines []string) (*request, error) {
	if len(lines) == 0 {
		return nil, badf("is empty")
	}
	req, target, err := requestLine(lines[0])
	if err != nil {
		return nil, err
	}
	all, err := parseFields(lines[1:])
	if err != nil {
		return nil, err
	}
	if len(named(all, "Host")) > 1 {
		return nil, badf("has two Host lines")
	}
	if req.connect = req.method == "CONNECT"; req.connect {
		req.to, err = parseAuthority(target, 0)
	} else {
		err = req.isPlain(target, all)
	}
	return req, err
}

// named are the values of the fields of a name.
func named(fields []field, name string) (values []string) {
	for _, f := range fields {
		if strings.EqualFold(f.name, name) {
			values = append(values, f.value)
		}
	}
	return values
}

// isPlain completes a request for something of http.
func (req *request) isPlain(target string, all []field) (err error) {
	if err = req.isFor(target); err != nil {
		return err
	}
	req.host = hostField(req.to)
	if req.fields, err = endToEnd(all); err != nil {
		return err
	}
	for _, v := range named(req.fields, "Expect") {
		if !strings.EqualFold(v, "100-continue") {
			return badf("expects %q", visible.Short(v))
		}
	}
	return nil
}

// requestLine reads the first line of a request.
func requestLine(line string) (req *request, target string, err error) {
	parts := strings.Split(line, " ")
	if len(parts) != 3 || !isToken(parts[0]) {
		return nil, "", badf("is not HTTP: %q", visible.Short(line))
	}
	req, target = &request{method: parts[0]}, parts[1]
	switch parts[2] {
	case "HTTP/1.1":
		req.minor = 1
	case "HTTP/1.0":
	default:
		return nil, "", badf("is of %q, not HTTP/1.1", visible.Short(parts[2]))
	}
	if i := strings.IndexFunc(target, func(c rune) bool { return c <= ' ' || c >= 0x7f }); i >= 0 {
		return nil, "", badf("has %q in its first line", target[i])
	}
	return req, target, nil
}

// isFor reads the target of a request to a proxy: a URL of http.
func (req *request) isFor(target string) (err error) {
	scheme, rest, ok := strings.Cut(target, "://")
	switch {
	case !ok:
		return badf("is for %q, and this is a proxy", visible.Short(target))
	case strings.EqualFold(scheme, "https"):
		return badf("is for https without CONNECT")
	case !strings.EqualFold(scheme, "http"):
		return badf("is for %q, not http", visible.Short(scheme))
	case strings.Contains(rest, "#"):
		return badf("has a fragment")
	}
	authority := rest
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		authority, req.path = rest[:i], rest[i:]
	}
	if req.to, err = parseAuthority(authority, 80); err != nil {
		return err
	}
	req.to.open = true
	switch {
	case req.path == "" && req.method == "OPTIONS":
		req.path = "*" // RFC 9112 section 3.2.4
	case !strings.HasPrefix(req.path, "/"):
		req.path = "/" + req.path
	}
	return nil
}

// hostField returns the value of Host for a place: the port is left out when it is 80.
func hostField(to place) string {
	host := to.name
	if host == "" {
		host = to.addr.String()
		if to.addr.Is6() {
			host = "[" + host + "]"
		}
	}
	if to.port != 80 {
		host += ":" + strconv.Itoa(int(to.port))
	}
	return host
}

// parseAuthority reads host:port. Without a port it is std, or an error when that
// is 0.
func parseAuthority(s string, std uint16) (place, error) {
	to := place{port: std}
	bad := func(err error) (place, error) { return place{}, badf("for %q: it %v", visible.Short(s), err) }
	host, port, err := hosts.Split(s)
	if err != nil {
		return bad(err)
	}
	if port != "" {
		if to.port, err = hosts.Port(port); err != nil {
			return bad(err)
		}
	} else if std == 0 {
		return bad(errors.New("has no port"))
	}
	if to.name, to.addr, err = hosts.Host(host); err != nil {
		return bad(err)
	}
	return to, nil
}

func parseFields(lines []string) ([]field, error) {
	list := make([]field, 0, len(lines))
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		if !ok || !isToken(name) { // a line folded onto the next begins with a space
			return nil, badf("has the line %q, which is not NAME: VALUE", visible.Short(line))
		}
		value = strings.Trim(value, " \t")
		if strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
			return nil, badf("has a control character in %s", visible.Short(name))
		}
		list = append(list, field{name, value})
	}
	return list, nil
}

// isToken is token of RFC 9110 section 5.6.2.
func isToken(s string) bool {
	const token = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~"
	return s != "" && strings.Trim(s, token) == ""
}

// endToEnd returns the fields that are passed on, and that the proxy does not write anew.
func endToEnd(list []field) ([]field, error) {
	drop := []string{"connection", "keep-alive", "te", "upgrade", "host", "http2-settings"}
	for _, f := range list {
		if !strings.EqualFold(f.name, "Connection") {
			continue
		}
		for word := range strings.SplitSeq(f.value, ",") {
			if word = strings.Trim(word, " \t"); word != "" {
				drop = append(drop, strings.ToLower(word))
			}
		}
	}
	if len(drop) > 100 {
		return nil, badf("has %d words in Connection", len(drop))
	}
	var kept []field
	for _, f := range list {
		low := strings.ToLower(f.name)
		if !strings.HasPrefix(low, "proxy-") && !slices.Contains(drop, low) {
			kept = append(kept, f)
		}
	}
	return kept, nil
}

// headText writes a head: its fields, and that the connection ends.
func headText(first string, list []field) []byte {
	var t bytes.Buffer
	t.WriteString(first)
	t.WriteString("\r\n")
	line := func(name, value string) {
		t.WriteString(name)
		t.WriteString(": ")
		t.WriteString(value)
		t.WriteString("\r\n")
	}
	for _, f := range list {
		line(f.name, f.value)
	}
	line("Connection", "close")
	t.WriteString("\r\n")
	return t.Bytes()
}
