package launch

import (
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/nsenter"
	"github.com/enr/inner/isolator/launch/wire"
)

// Refusals are the connections to 127.0.0.1 of the box for which nothing listened there. A raw socket
// (raw(7)) of the box's network sees the kernel's answer to each: RST and ACK, with the sequence
// number 0, from the port that was meant (RFC 9293, 3.10.7.1). A packet socket would do, but waits
// some ten milliseconds when it is closed (packet_release calls synchronize_net).
type Refusals struct {
	packets *os.File
	mu      sync.Mutex
	counts  map[uint16]int
}

// answers passes these packets alone. The kernel's own have no options: the header of TCP is at 20.
var answers = []unix.SockFilter{
	{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 24},
	{Code: unix.BPF_JMP | unix.BPF_JEQ, K: 0, Jf: 3},
	{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: 33},
	{Code: unix.BPF_JMP | unix.BPF_JEQ, K: 0x14, Jf: 1},
	{Code: unix.BPF_RET, K: 40},
	{Code: unix.BPF_RET, K: 0},
}

// watchRefusals opens the socket in the network of a process.
func watchRefusals(pid int) (*Refusals, error) {
	var owned descriptors
	defer owned.close()
	network, err := owned.add(unix.Open(fmt.Sprintf("/proc/%d/ns/net", pid), unix.O_RDONLY|unix.O_CLOEXEC, 0))
	if err != nil {
		return nil, err
	}
	user, err := owned.add(unix.IoctlRetInt(network, unix.NS_GET_USERNS))
	if err != nil {
		return nil, err
	}
	fd, err := wire.OpenNull() // the socket takes its number
	if err != nil {
		return nil, err
	}
	err = nsenter.Do(nsenter.Owner(user), nsenter.Setns(network, unix.CLONE_NEWNET),
		nsenter.Opens(fd, unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_RAW|unix.SOCK_NONBLOCK, unix.IPPROTO_TCP))
	filter := unix.SockFprog{Len: uint16(len(answers)), Filter: unsafe.SliceData(answers)}
	if err == nil {
		err = unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &filter)
	}
	r := &Refusals{packets: os.NewFile(uintptr(fd), "refused connections"), counts: map[uint16]int{}}
	if err != nil {
		r.packets.Close()
		return nil, err
	}
	raw, err := r.packets.SyscallConn()
	if err == nil {
		go func() { _ = raw.Read(r.read) }() // it ends with the file
	}
	return r, err
}

// read reads what has come. It reports that there is nothing more to wait for: never.
func (r *Refusals) read(fd uintptr) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	var packet [40]byte
	for {
		n, err := unix.Read(int(fd), packet[:])
		switch {
		case err == unix.EINTR:
		case err != nil:
			return false
		case n == len(packet):
			r.counts[binary.BigEndian.Uint16(packet[20:])]++
		}
	}
}

// Close ends the watch, and returns how often each port was refused at which something listens on
// the host. It may be called twice, and on nil.
func (r *Refusals) Close() map[uint16]int {
	if r == nil {
		return nil
	}
	if raw, err := r.packets.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { r.read(fd) })
	}
	r.packets.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.counts, func(port uint16, _ int) bool { return !listening(port) })
	return r.counts
}

// listening reports whether something listens on a TCP port of the network that we are in.
// proc_pid_net(5), tcp: the second field is the address, the fourth the state (0A listens).
func listening(port uint16) bool {
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		data, _ := os.ReadFile(table) // a kernel without IPv6 has one of them
		for line := range strings.Lines(string(data)) {
			f := strings.Fields(line)
			if len(f) > 3 && f[3] == "0A" && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", port)) {
				return true
			}
		}
	}
	return false
}
