package netproxy

import (
	"errors"
	"fmt"
	"net"
)

const maxHead = 16 << 10 // of a request

// handle answers one connection.
func (p *Proxy) handle(c net.Conn) {
	w := newWire(c, &activity{idle: p.times.idle})
	w.until(p.times.head)
	handed := false
	in := &input{w: w}
	if in.need(1) == nil {
		switch in.b[0] {
		case 5:
			handed = p.socks(w, in)
		case 4:
			p.told(Target{}, refusal(Malformed, "a SOCKS request is of version 4, without names"))
			w.Write([]byte{0, 91, 0, 0, 0, 0, 0, 0}) // request rejected
		default:
			handed = p.http(w, in)
		}
	}
	if !handed {
		w.part(p.times.linger)
		p.drop(c)
		<-p.slots
	}
}

// tooMany tells a program that there are too many connections.
func (p *Proxy) tooMany(c net.Conn) {
	w := newWire(c, &activity{idle: p.times.linger})
	f := refusal(Busy, fmt.Sprintf("more than %d connections at once", cap(p.slots)))
	f.status = "503 Service Unavailable"
	p.told(Target{}, f)
	say(w, f)
	w.part(p.times.linger)
}

// say tells a program in HTTP why not.
func say(w *wire, f *fault) {
	text := "inner: " + f.reason + "\n"
	fmt.Fprintf(w, "HTTP/1.1 %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		f.status, len(text), text)
}

// http reads a request and answers it.
func (p *Proxy) http(w *wire, in *input) (handed bool) {
	head, err := readHead(in)
	var req *request
	if err == nil {
		req, err = parseRequest(head)
	}
	if err != nil {
		var bad badHead
		if errors.As(err, &bad) {
			f := refusal(Malformed, "a request "+bad.Error())
			f.status = "400 Bad Request"
			p.told(Target{}, f)
			say(w, f)
		}
		return false // otherwise it has gone, or said nothing for too long
	}
	s, g, f := p.connect(req.to)
	if f != nil {
		p.told(req.to.target(), f)
		say(w, f)
		return false
	}
	if req.connect {
		w.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n"))
		return p.tunnel(w, in.b, s, req.to, g)
	}
	// The connection ends with the answer. Whatever else the program sends on it reaches the host that it
	// may talk to, and no other.
	list := append([]field{{"Host", req.host}}, req.fields...)
	begin := headText(fmt.Sprintf("%s %s HTTP/1.%d", req.method, req.path, req.minor), list)
	return p.tunnel(w, append(begin, in.b...), s, req.to, g)
}
