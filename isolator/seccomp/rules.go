package seccomp

import "golang.org/x/sys/unix"

// rule refuses a call with an errno when all of its tests hold; without tests,
// always.
type rule struct {
	call  string
	errno unix.Errno
	tests []test
}

// test looks at the low 32 bits of one argument: the kernel looks at no more of
// what is tested here, and a filter that compared all 64 was walked round with
// a bit set among the high ones (CVE-2019-10063, CVE-2019-7303).
type test struct {
	arg    int
	op     op
	values []uint32 // one for hasAny
}

type op int

const (
	isOneOf  op = iota // the argument is among the values
	isNoneOf           // it is not
	hasAny             // it has a bit of the value
)

// Arguments that rules name.
const (
	tiocsti    = 0x5412 // types into a terminal
	tioclinux  = 0x541C // pastes into a console
	newUser    = unix.CLONE_NEWUSER
	sysSocket  = 1          // socketcall(2): which call
	sysSockets = 8          // socketpair
	perQuery   = 0xffffffff // only asks
	// PER_LINUX32 and UNAME26: what uname says. Not ADDR_NO_RANDOMIZE, which has a
	// program laid out where an attacker expects it.
	perHarmless = 0x8 | 0x0020000
)

// families returns the kinds of sockets a box may make.
func families() []uint32 {
	return []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}
}

// netlinks returns the parts of the kernel that programs ask by AF_NETLINK: network
// interfaces (node, go, ip), sockets (ss), devices (libudev).
func netlinks() []uint32 {
	return []uint32{unix.NETLINK_ROUTE, unix.NETLINK_SOCK_DIAG, unix.NETLINK_KOBJECT_UEVENT}
}

// rules returns what a filter refuses. ENOSYS is for calls that programs try and do
// without on an older kernel, EPERM for those the kernel refuses to plain users
// anyway, or where a program should say so.
func rules(o Options) []rule {
	var out []rule
	deny := func(errno unix.Errno, calls ...string) {
		for _, c := range calls {
			out = append(out, rule{call: c, errno: errno})
		}
	}
	denyIf := func(errno unix.Errno, call string, tests ...test) {
		out = append(out, rule{call, errno, tests})
	}
	// Terminals: typing for somebody else.
	denyIf(unix.EPERM, "ioctl", test{1, isOneOf, []uint32{tiocsti, tioclinux}})
	// The user's keys are not the box's.
	deny(unix.ENOSYS, "add_key", "request_key", "keyctl")
	// Large parts of the kernel with a history, which agents do without.
	deny(unix.ENOSYS, "io_uring_setup", "io_uring_enter", "io_uring_register")
	deny(unix.EPERM, "bpf", "perf_event_open", "userfaultfd")
	// The machine.
	deny(unix.EPERM, "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot", "swapon", "swapoff",
		"acct", "quotactl", "quotactl_fd", "settimeofday", "clock_settime", "clock_settime64", "stime", "iopl", "ioperm", "syslog")
	// A file by its number, past every mount of the box.
	deny(unix.EPERM, "open_by_handle_at")
	// What is left of other times.
	deny(unix.ENOSYS, "lookup_dcookie", "nfsservctl", "uselib", "ustat", "sysfs", "vm86", "vm86old")
	deny(unix.EPERM, "modify_ldt")
	// Sockets of other kinds reach hypervisors, buses, the kernel's ciphers.
	for _, call := range []string{"socket", "socketpair"} {
		denyIf(unix.EAFNOSUPPORT, call, test{0, isNoneOf, families()})
	}
	// Through socketcall the kind cannot be seen. C libraries that know the
	// calls of their own (Linux 4.3) do not need it.
	denyIf(unix.ENOSYS, "socketcall", test{0, isOneOf, []uint32{sysSocket, sysSockets}})
	denyIf(unix.EPERM, "personality", test{0, hasAny, []uint32{^uint32(perHarmless)}},
		test{0, isNoneOf, []uint32{perQuery}})
	if o.Containers {
		return out
	}
	denyIf(unix.EPROTONOSUPPORT, "socket", test{0, isOneOf, []uint32{unix.AF_NETLINK}}, test{2, isNoneOf, netlinks()})
	// User namespaces give every program the parts of the kernel that were
	// written for root. The flags of clone3 cannot be seen; without it C
	// libraries use clone.
	denyIf(unix.EPERM, "clone", test{0, hasAny, []uint32{newUser}})
	denyIf(unix.EPERM, "unshare", test{0, hasAny, []uint32{newUser}})
	deny(unix.ENOSYS, "clone3")
	deny(unix.EPERM, "setns")
	// Whoever runs a file with this bit has the rights of its owner. Opening makes one with it
	// as well, and the kernel takes it away with the first byte.
	for i, call := range []string{"chmod", "fchmod", "fchmodat", "fchmodat2"} {
		denyIf(unix.EPERM, call, test{1 + i/2, hasAny, []uint32{unix.S_ISUID}})
	}
	// Mounts.
	deny(unix.EPERM, "mount", "umount", "umount2", "pivot_root")
	deny(unix.ENOSYS, "open_tree", "open_tree_attr", "move_mount", "fsopen", "fsconfig",
		"fsmount", "fspick", "mount_setattr")
	return out
}
