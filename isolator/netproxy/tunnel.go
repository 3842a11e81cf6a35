package netproxy

import (
	"io"
	"net"
	"sync/atomic"
)

// tunnel is a connection through which bytes are passed as they are.
type tunnel struct {
	p              *Proxy
	client, server *wire
	to             place
	rec            *record
	left           atomic.Int32 // directions that are not at their end
}

// tunnel joins a program and a server; rest is what the program has sent already. It returns at
// once: two goroutines do the work, and release the slot of the connection.
func (p *Proxy) tunnel(w *wire, rest []byte, s net.Conn, to place, g grant) (handed bool) {
	if !p.keep(s) {
		return false
	}
	t := &tunnel{p: p, client: w, server: newWire(s, w.act), to: to, rec: p.hosts.of(to.target())}
	t.rec.allowed.Add(1)
	t.left.Store(2)
	t.client.relax()
	t.server.relax()
	up := &input{w: t.client, b: rest}
	if len(rest) == 0 {
		up.b = nil // what the head was read into
	}
	p.wg.Go(func() {
		if to.name != "" && !to.open && !t.watched(up, g) {
			t.done(false)
			return
		}
		t.done(t.pass(up, t.server, &t.rec.up))
	})
	p.wg.Go(func() { t.done(t.pass(&input{w: t.server}, t.client, &t.rec.down)) })
	return true
}

// pass copies one direction to its end, and reports whether it ended well.
func (t *tunnel) pass(src *input, dst *wire, count *atomic.Int64) bool {
	if src.copyTo(dst, count) != nil {
		return false
	}
	dst.closeWrite()
	return true
}

// done ends one direction. One that ended badly ends the other, too: what a side has got must not
// look complete. The last of the two releases everything.
func (t *tunnel) done(well bool) {
	if !well {
		t.client.abort()
		t.server.abort()
	}
	if t.left.Add(-1) == 0 {
		t.p.drop(t.client.Conn)
		t.p.drop(t.server.Conn)
		<-t.p.slots
	}
}

// alert is a fatal alert of TLS, access_denied (RFC 8446 section 6.2): what a
// program can be told when it has its tunnel.
var alert = [...]byte{21, 3, 1, 0, 2, 2, 49}

// refuse ends a tunnel in which something is not as it must be: plain says that it is not TLS.
func (t *tunnel) refuse(plain bool, err error) {
	reason := " " + err.Error()
	if plain {
		reason = notTLS
	}
	t.p.told(t.to.target(), refusal(TLS, t.to.target().String()+reason))
	if !plain {
		t.client.Write(alert[:])
	}
	t.client.part(t.p.times.linger)
}

// hurry sets the time limit of a hello that has begun, or lifts that of one that is whole, and reports
// whether a limit is set.
func (t *tunnel) hurry(runs, whole, some bool) bool {
	switch {
	case !whole && !runs && some:
		t.client.until(t.p.times.hello)
		return true
	case whole && runs:
		t.client.relax()
		return false
	}
	return runs
}

// watched passes on what the program sends until it is certain that the tunnel
// may go on unwatched. What the server sends is not held up meanwhile.
func (t *tunnel) watched(in *input, g grant) bool {
	l := watch{name: t.to.name, must: t.p.mustTLS(t.to, g)}
	begun := false
	for {
		n, done, err := l.look(in.b)
		if err == nil && len(in.b)-n > maxHello {
			err = errHello
		}
		if err != nil {
			t.refuse(l.plain, err)
			return false // which ends the server's side, too
		}
		if l.plain && t.to.port == 443 {
			t.rec.setPlain()
		}
		if n > 0 {
			wrote, err := t.server.Write(in.take(n))
			t.rec.up.Add(int64(wrote))
			if err != nil {
				return false
			}
		}
		if done {
			t.client.relax()
			return true
		}
		begun = t.hurry(begun, l.hello, len(in.b) > 0)
		if err := in.more(); err == io.EOF {
			return len(in.b) == 0 || l.hello // otherwise not all of a hello came
		} else if err != nil {
			return false
		}
	}
}
