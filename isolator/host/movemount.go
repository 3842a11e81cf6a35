package host

import "golang.org/x/sys/unix"

// moveMount reports whether the kernel has the calls that mount a clone on an open file,
// and nothing around inner refuses them: open_tree(2) and move_mount(2), Linux 5.2, and
// openat2(2), Linux 5.6. Each is called with a descriptor that is not open.
func moveMount() bool {
	_, tree := unix.OpenTree(-1, "x", 0)
	move := unix.MoveMount(-1, "x", -1, "x", 0)
	_, open := unix.Openat2(-1, "x", &unix.OpenHow{})
	return tree == unix.EBADF && (move == unix.EBADF || move == unix.EPERM) && open == unix.EBADF
}
