package verify

import (
	"net"
	"strings"
	"time"
)

// networkPolicy wants a network namespace with nothing in it but its own
// loopback, and no route. Connecting a datagram socket asks the kernel for the
// route and sends nothing. The addresses are those of documentation (RFC 5737,
// RFC 3849).
func (i *inside) networkPolicy() (Result, string) {
	if r, detail := i.namespace("net"); r != Pass {
		return r, detail
	}
	list, err := net.Interfaces()
	if err != nil {
		return Unknown, err.Error()
	}
	var names []string
	for _, n := range list {
		if n.Flags&net.FlagLoopback == 0 {
			names = append(names, n.Name)
		}
	}
	if len(names) > 0 {
		return Fail, "interfaces: " + strings.Join(names, ", ")
	}
	for _, addr := range []string{"192.0.2.1:53", "8.8.8.8:53", "[2001:db8::1]:53", "[2001:4860:4860::8888]:53"} {
		if c, err := net.Dial("udp", addr); err == nil {
			c.Close()
			return Fail, "there is a route to " + addr
		}
	}
	return Pass, "no interface, no route"
}

// hostLoopback connects to servers that listen on the host for this very
// purpose.
func (i *inside) hostLoopback() (Result, string) {
	if len(i.Host.TCP) == 0 {
		return Skip, "the host has no loopback"
	}
	for _, addr := range i.Host.TCP {
		if c, err := net.DialTimeout("tcp", addr, time.Second); err == nil {
			c.Close()
			return Fail, addr + " answers"
		}
	}
	return Pass, strings.Join(i.Host.TCP, ", ") + " out of reach"
}

func (i *inside) abstractSocket() (Result, string) {
	if c, err := net.DialTimeout("unix", i.Host.Abstract, time.Second); err == nil {
		c.Close()
		return Fail, "one answers"
	}
	return Pass, "out of reach"
}
