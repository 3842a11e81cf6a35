package netproxy

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/profile/hosts"
)

const (
	recordHandshake = 22 // RFC 8446, appendix B
	clientHello     = 1
	maxHello        = 16 << 10 // with its records, as for what goes by server names elsewhere (nginx, HAProxy)
)

const unreadable = " has a TLS hello that cannot be read"

// readHello reads a TLS hello, in as many records as it comes in, and says why the tunnel is not one
// to the host of that name, or "".
func readHello(in io.Reader, name string) (records []byte, why string, err error) {
	var message []byte
	for need := 4; len(message) < need; {
		var head [5]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return nil, "", err
		}
		size := int(binary.BigEndian.Uint16(head[3:]))
		if head[0] != recordHandshake || head[1] != 3 || size == 0 || len(records)+size > maxHello {
			return nil, unreadable, nil
		}
		records = append(append(records, head[:]...), make([]byte, size)...)
		body := records[len(records)-size:]
		if _, err := io.ReadFull(in, body); err != nil {
			return nil, "", err
		}
		if message = append(message, body...); len(message) >= 4 {
			need = 4 + int(message[1])<<16 + int(message[2])<<8 + int(message[3])
		}
		if message[0] != clientHello || need > maxHello || len(message) > need {
			return nil, unreadable, nil
		}
	}
	text, ok := serverName(message[4:])
	found, err := hosts.Name(text)
	switch {
	case !ok:
		why = unreadable
	case text == "":
		why = " has a TLS hello without a server name"
	case err != nil:
		why = fmt.Sprintf(" has a TLS hello for %q, which %v", visible.Short(text), err)
	case found != name:
		why = " has a TLS hello for " + found
	}
	return records, why, nil
}

// serverName reads the struct ClientHello of RFC 8446 section 4.1.2, which is that of TLS 1.2 as well.
// It has one server name, or none.
func serverName(b []byte) (name string, ok bool) {
	ok = true
	take := func(n int) (front []byte) {
		if n > len(b) {
			ok, n = false, 0
		}
		front, b = b[:n], b[n:]
		return front
	}
	number := func(size int) (n int) {
		for _, c := range take(size) {
			n = n<<8 | int(c)
		}
		return n
	}
	take(2 + 32)    // version, random
	take(number(1)) // session
	take(number(2)) // ciphers
	take(number(1)) // compression
	if !ok || len(b) == 0 {
		return "", ok // before TLS 1.3 there may be no extensions
	}
	if n := number(2); n != len(b) {
		return "", false
	}
	for ok && len(b) > 0 {
		kind, body := number(2), take(number(2))
		if kind != 0 {
			continue
		}
		// RFC 6066 section 3: a list, of one name of one kind, which is 0.
		rest := b
		b = body
		ok = ok && name == "" && number(2) == len(b) && number(1) == 0 && number(2) == len(b)
		name, b = string(b), rest
		ok = ok && name != ""
	}
	return name, ok
}
