package netproxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
)

const (
	maxHead   = 16 << 10 // of a request
	maxAnswer = 64 << 10 // the head of an answer: some policies fill pages
)

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
	head, err := readHead(in, maxHead)
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
	p.forward(w, in, s, req)
	return false
}

// forward sends one request on and its answer back. Nothing else that is on the
// program's connection is sent anywhere.
func (p *Proxy) forward(w *wire, in *input, s net.Conn, req *request) {
	if !p.keep(s) {
		return
	}
	defer p.drop(s)
	sw := newWire(s, w.act)
	w.relax()
	sw.relax()
	t := req.to.target()
	rec := p.hosts.of(t)
	rec.allowed.Add(1)

	list := append([]field{{"Host", req.host}}, req.fields...)
	head := headText(fmt.Sprintf("%s %s HTTP/1.%d", req.method, req.path, req.minor), list, req.body)
	n, err := sw.Write(head)
	rec.up.Add(int64(n))
	if err != nil {
		f := &fault{status: "502 Bad Gateway", reason: t.String() + " closed the connection"}
		p.told(t, f)
		say(w, f)
		return
	}
	up := make(chan struct{})
	p.wg.Go(func() {
		defer close(up)
		if in.copyBody(sw, req.body, false, &rec.up) != nil {
			s.Close() // it has less of a request than it was told of
			return
		}
		for { // what follows the request goes nowhere
			in.b = nil
			if err := in.more(); err != nil {
				if err != io.EOF {
					s.Close()
				}
				return
			}
		}
	})
	if why, whole := p.answerBack(w, &input{w: sw}, req.method, rec); why != "" {
		f := &fault{status: "502 Bad Gateway", reason: t.String() + " " + why}
		p.told(t, f)
		say(w, f)
	} else if !whole {
		w.abort()
	}
	s.Close()
	w.closeWrite()
	w.until(p.times.linger) // ends the reading above
	<-up
}

// answerHead is the head of an answer.
type answerHead struct {
	line   string // the first
	status int
	fields []field
	body   body
}

func readAnswer(in *input) (a answerHead, err error) {
	head, err := readHead(in, maxAnswer)
	if err != nil {
		return a, err
	}
	if a.status, err = parseStatus(head); err != nil {
		return a, err
	}
	a.line = head[0]
	if a.fields, err = parseFields(head[1:]); err != nil {
		return a, err
	}
	if a.body, err = bodyOf(a.fields); err != nil {
		return a, err
	}
	a.fields, err = endToEnd(a.fields)
	return a, err
}

// answerBack passes an answer on. A why says that none was begun, so that the program can still be
// told; whole reports whether the answer came to its end.
func (p *Proxy) answerBack(w *wire, in *input, method string, rec *record) (why string, whole bool) {
	for range 16 { // 100 Continue and its kind
		a, err := readAnswer(in)
		var bad badHead
		switch {
		case errors.As(err, &bad):
			return "gave an answer that " + bad.Error(), false
		case err != nil:
			return "closed the connection without an answer", false
		case a.status == 101:
			return "switched to another protocol", false
		}
		provisional := a.status < 200
		if provisional {
			a.body = body{length: -1}
		}
		text := headText(a.line, a.fields, a.body)
		if provisional {
			text = bytes.Replace(text, []byte("Connection: close\r\n"), nil, 1)
		}
		n, err := w.Write(text)
		rec.down.Add(int64(n))
		if err != nil {
			return "", false
		}
		if provisional {
			continue
		}
		if method == "HEAD" || a.status == 204 || a.status == 304 {
			return "", true
		}
		return "", in.copyBody(w, a.body, true, &rec.down) == nil
	}
	return "gave no end of provisional answers", false
}
