package launch

import (
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/nsenter"
	"github.com/enr/inner/isolator/launch/wire"
)

// refusals are the connections to 127.0.0.1 of the box for which nothing listened there. A raw socket
// (raw(7)) of the box's network sees the kernel's answer to each: RST and ACK, with the sequence
// number 0, from the port that was meant (RFC 9293, 3.10.7.1). A packet socket would do, but waits
// some ten milliseconds when it is closed (packet_release calls synchronize_net).
type refusals struct {
	packets int // the socket; -1 where the kernel does not let us see them
	counts  map[uint16]int
}

// answers passes these packets alone. The kernel's own have no options: the header of TCP is at 20.
var answers = []unix.SockFilter{
	{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 12}, // from 127.0.0.1
	{Code: unix.BPF_JMP | unix.BPF_JEQ, K: 0x7f000001, Jf: 5},
	{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 24},
	{Code: unix.BPF_JMP | unix.BPF_JEQ, K: 0, Jf: 3},
	{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: 33},
	{Code: unix.BPF_JMP | unix.BPF_JEQ, K: 0x14, Jf: 1},
	{Code: unix.BPF_RET, K: 40},
	{Code: unix.BPF_RET, K: 0},
}

// watch opens the socket in the network of a process.
func (r *refusals) watch(pid int) (err error) {
	if r.packets, err = socketIn(pid, unix.AF_INET, unix.SOCK_RAW|unix.SOCK_NONBLOCK, unix.IPPROTO_TCP); err != nil {
		return err
	}
	filter := unix.SockFprog{Len: uint16(len(answers)), Filter: unsafe.SliceData(answers)}
	if err = unix.SetsockoptSockFprog(r.packets, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &filter); err != nil {
		closeFds(&r.packets)
	}
	return err
}

// socketIn makes a socket that the network of a process has not for its own programs.
func socketIn(pid, domain, kind, proto int) (fd int, err error) {
	var owned descriptors
	defer owned.close()
	network, err := owned.add(unix.Open(fmt.Sprintf("/proc/%d/ns/net", pid), unix.O_RDONLY|unix.O_CLOEXEC, 0))
	if err != nil {
		return -1, err
	}
	user, err := owned.add(unix.IoctlRetInt(network, unix.NS_GET_USERNS))
	if err != nil {
		return -1, err
	}
	if fd, err = wire.OpenNull(); err != nil { // the socket takes its number
		return -1, err
	}
	err = nsenter.Do(nsenter.Owner(user), nsenter.Setns(network, unix.CLONE_NEWNET),
		nsenter.Opens(fd, unix.SYS_SOCKET, domain, kind, proto))
	if err != nil {
		closeFds(&fd)
	}
	return fd, err
}

// read reads what has come, and no more at a time than the socket holds: a box can go on and on.
func (r *refusals) read() {
	var packet [40]byte
	for range 1000 {
		n, err := wire.Read(r.packets, packet[:])
		if err != nil {
			return
		}
		if r.counts == nil {
			r.counts = map[uint16]int{}
		}
		if n == len(packet) {
			r.counts[binary.BigEndian.Uint16(packet[20:])]++
		}
	}
}

// told returns how often each port was refused at which something listens on the host.
func (r *refusals) told() map[uint16]int {
	r.read()
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
