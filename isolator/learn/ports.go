package learn

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Ports returns the ports of the box's loopback that the program connected to while nothing listened on
// them there, and something did on the host's.
func (o *Observer) Ports() []uint16 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Sorted(maps.Keys(o.ports))
}

// connect notes the address that a socket is connected to.
func (o *Observer) connect(pid int, at uint64) {
	var b [28]byte // struct sockaddr_in6; the port is at the same place in sockaddr_in
	n := readMemory(pid, at, b[:])
	if n < 16 { // what is shorter may end with its page
		n = readMemory(pid, at, b[:16])
	}
	var addr netip.Addr
	switch family := binary.NativeEndian.Uint16(b[:]); {
	case family == unix.AF_INET && n >= 16:
		addr = netip.AddrFrom4([4]byte(b[4:]))
	case family == unix.AF_INET6 && n == len(b):
		addr = netip.AddrFrom16([16]byte(b[8:])).Unmap()
	}
	port := binary.BigEndian.Uint16(b[2:])
	if addr.IsLoopback() && !listens(pid, port) && listens(os.Getpid(), port) {
		o.mu.Lock()
		o.ports[port] = true
		o.mu.Unlock()
	}
}

// listens reports whether something listens on a TCP port of the network that a process is in.
// proc(5), /proc/net/tcp: the second field is the address, the fourth the state (0A listens).
func listens(pid int, port uint16) bool {
	for _, table := range []string{"tcp", "tcp6"} {
		data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		for line := range strings.Lines(string(data)) {
			f := strings.Fields(line)
			if len(f) > 3 && f[3] == "0A" && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", port)) {
				return true
			}
		}
	}
	return false
}
