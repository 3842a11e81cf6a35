package netproxy

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/profile/hosts"
)

// What RFC 8446 calls the types of records and the first message.
const (
	recordCipher    = 20 // change_cipher_spec
	recordAlert     = 21
	recordHandshake = 22
	recordData      = 23
	clientHello     = 1
	extName         = 0
	extEarlyData    = 42

	maxRecord = 1<<14 + 256 // of TLS 1.3; a hello is plain, so 1<<14 would do
	maxHello  = 64 << 10
	maxEarly  = 128 << 10
)

var errMore = errors.New("more bytes are needed")

// watch looks at what a program sends into a tunnel, until it is certain whom the
// tunnel speaks to.
//
// A server of TLS 1.3 may answer the hello with a request for another one, and
// that, too, has a server name. So the records that follow are walked until the
// first that is no change of ciphers, no alert and, where the hello announced it,
// no early data: it is another hello, to be looked at the same way, or there will be
// none in the clear.
type watch struct {
	name  string // what the server name must be
	must  bool   // the tunnel must be TLS
	hello bool   // one was seen
	now   hello  // the one that is read
	early bool   // it announced early data
	skip  int    // bytes of a record that are passed on unseen
	walk  int    // bytes of early data so far
	plain bool   // it is not TLS
}

// look is given what has not been passed on yet. It returns how much of that may
// be, and whether all that follows may be, too.
func (l *watch) look(b []byte) (ok int, done bool, err error) {
	for {
		n := min(l.skip, len(b)-ok)
		l.skip -= n
		ok += n
		rest := b[ok:]
		if len(rest) == 0 {
			return ok, false, nil
		}
		switch l.next(rest) {
		case more:
			return ok, false, nil
		case unseen:
			l.walk += l.skip
			continue
		case noHello:
			if l.hello {
				return len(b), true, nil
			}
			if l.plain = true; l.must {
				return 0, false, errors.New("is not TLS")
			}
			return len(b), true, nil
		}
		n, err := l.check(rest)
		switch {
		case err == errMore:
			return ok, false, nil
		case err != nil:
			return ok, false, err
		case n == 0: // the second hello, and there is no third
			return len(b), true, nil
		}
		ok += n
	}
}

// verdict is what the watch does with the next record.
type verdict int

const (
	aHello  verdict = iota // looks at the name in it
	noHello                // passes it on with all that follows
	unseen                 // passes it on, as many bytes as watch.skip
	more                   // waits for more of it
)

// next judges a record by its first bytes.
func (l *watch) next(b []byte) verdict {
	if !l.hello {
		if b[0] != recordHandshake || len(b) > 1 && b[1] != 3 {
			return noHello
		}
		return aHello
	}
	if len(b) < 6 && b[0] != recordData {
		return more
	}
	switch kind := b[0]; {
	case kind == recordHandshake && (b[5] == clientHello || b[3] == 0 && b[4] == 0):
		return aHello
	case kind == recordCipher, kind == recordAlert, kind == recordData && l.early && l.walk < maxEarly:
		if len(b) < 5 {
			return more
		}
		l.skip = 5 + int(binary.BigEndian.Uint16(b[3:]))
		return unseen
	}
	return noHello
}

// check reads the hello that b begins with, and returns how long it is: 0 for the second.
func (l *watch) check(b []byte) (int, error) {
	name, early, err := l.now.read(b)
	switch {
	case err != nil:
		return 0, err
	case name == "":
		return 0, errors.New("has a TLS hello without a server name")
	case name != l.name:
		return 0, fmt.Errorf("has a TLS hello for %s", name)
	}
	n := l.now.n
	l.now = hello{}
	if l.hello {
		return 0, nil
	}
	l.hello, l.early = true, early
	return n, nil
}

// hello is a ClientHello of which perhaps not everything has come. It remembers
// what it has read: a hello can come byte by byte, in records of a byte.
type hello struct {
	n   int    // length of the records that were read
	msg []byte // what was in them
}

// read is given the bytes from the first of the hello on. It returns the server
// name as hosts.Name does, or "", and whether early data is announced. errMore asks
// for more bytes.
func (h *hello) read(b []byte) (name string, early bool, err error) {
	for {
		rest := b[h.n:]
		if len(rest) < 5 {
			return "", false, errMore
		}
		size := int(binary.BigEndian.Uint16(rest[3:]))
		if rest[0] != recordHandshake || rest[1] != 3 || size == 0 || size > maxRecord {
			return "", false, errors.New("has a TLS hello in broken records")
		}
		if len(rest) < 5+size {
			return "", false, errMore
		}
		h.msg = append(h.msg, rest[5:5+size]...)
		h.n += 5 + size
		if len(h.msg) < 4 {
			continue
		}
		want := 4 + (int(h.msg[1])<<16 | int(h.msg[2])<<8 | int(h.msg[3]))
		switch {
		case h.msg[0] != clientHello:
			return "", false, errors.New("has TLS that does not begin with a hello")
		case want > maxHello:
			return "", false, errors.New("has a TLS hello that is too long")
		case len(h.msg) > want:
			return "", false, errors.New("has more than a hello in its first TLS record")
		case len(h.msg) == want:
			return readHelloBody(h.msg[4:])
		}
	}
}

var errHello = errors.New("has a TLS hello that cannot be read")

// readHelloBody reads the struct ClientHello of RFC 8446 section 4.1.2, which is
// that of TLS 1.2 as well.
func readHelloBody(b []byte) (name string, early bool, err error) {
	r := fields{b: b}
	r.bytes(2 + 32)     // version, random
	r.bytes(r.uint8())  // session
	r.bytes(r.uint16()) // ciphers
	r.bytes(r.uint8())  // compression
	if !r.bad && len(r.b) == 0 {
		return "", false, nil // no extensions, before TLS 1.3
	}
	exts := fields{b: r.bytes(r.uint16())}
	if r.bad || len(r.b) != 0 {
		return "", false, errHello
	}
	seen := map[int]bool{}
	for len(exts.b) > 0 {
		kind := exts.uint16()
		body := fields{b: exts.bytes(exts.uint16())}
		if exts.bad || seen[kind] {
			return "", false, errHello
		}
		seen[kind] = true
		switch kind {
		case extEarlyData:
			early = true
		case extName: // RFC 6066 section 3: a list, of one name of one kind
			list := fields{b: body.bytes(body.uint16())}
			typ := list.uint8()
			host := list.bytes(list.uint16())
			if body.bad || list.bad || len(body.b)+len(list.b) != 0 || typ != 0 {
				return "", false, errHello
			}
			if name, err = hosts.Name(string(host)); err != nil {
				return "", false, fmt.Errorf("has a TLS hello for %q, which %w", visible.Short(string(host)), err)
			}
		}
	}
	return name, early, nil
}

// fields takes fields off the front of a message. After the first that is not all
// there, bad is set and every other is empty.
type fields struct {
	b   []byte
	bad bool
}

func (f *fields) bytes(n int) []byte {
	if f.bad || n > len(f.b) {
		f.bad = true
		f.b = nil
		return nil
	}
	b := f.b[:n]
	f.b = f.b[n:]
	return b
}

func (f *fields) uint8() int {
	if b := f.bytes(1); b != nil {
		return int(b[0])
	}
	return 0
}

func (f *fields) uint16() int {
	if b := f.bytes(2); b != nil {
		return int(binary.BigEndian.Uint16(b))
	}
	return 0
}
