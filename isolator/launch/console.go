package launch

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// console is the person's side of the box's terminals.
type console struct {
	stdio [3]int // the person's descriptors
	given [3]int // what the program gets itself in their place; -1 for nothing
	full  bool   // the box's own terminal is the program's controlling one
	ptys  []int  // for each terminal of the box, the descriptor its output goes to
	real  tty    // the person's terminal, when full
	keys  keys   // typed, and not taken by the box yet

	at place // where the program has its terminal
}

// place is where the program has its terminal.
type place uint8

const (
	own    place = iota // it has that in which the box was started
	kept                // it has not got that yet, see want
	wanted              // and has asked for it
	guests              // it has that of whoever has joined
	none                // nowhere
	hungUp              // it had one that was
)

// waits reports whether the program has not got its terminal yet.
func (c *console) waits() bool { return c.at == kept || c.at == wanted }

// elsewhere reports whether the terminal that the box was started in is no longer the box's.
func (c *console) elsewhere() bool { return c.at == guests || c.at == none }

// open gives the box a terminal for each one among the person's descriptors. The program never gets such
// a descriptor itself, for reading or for writing: whoever has one of a terminal can open it
// again for both (/proc/self/fd), change its modes, and read what is typed at
// whatever is in its foreground.
func (c *console) open(o Options, box *wire.Box, job *wire.Job) {
	var terminal [3]bool
	var device [3]uint32
	for i, fd := range c.stdio {
		c.given[i] = fd
		if terminal[i] = isTerminal(fd); terminal[i] {
			c.given[i], device[i] = -1, terminalDevice(fd)
		}
	}
	var devices []uint32 // of c.ptys
	c.full = o.Interactive && !o.Trial && terminal[0] && (o.Made || (&tty{fd: c.stdio[0]}).controls())
	if box.Terminals.Control = c.full; c.full {
		// Standard input may be open for reading alone.
		if !o.Made {
			c.real.fd = openControlling()
		}
		if c.real.fd < 0 {
			c.real.fd, _ = unix.FcntlInt(uintptr(c.stdio[0]), unix.F_DUPFD_CLOEXEC, 3)
		}
		// In the background its modes are somebody else's for the moment.
		foreground := c.real.foreground()
		if t, err := unix.IoctlGetTermios(c.real.fd, unix.TCGETS); err == nil && foreground {
			box.Terminals.Modes = *t
			if o.Raw {
				box.Terminals.Modes.Lflag &^= unix.ECHO | unix.ICANON
				box.Terminals.Modes.Cc[unix.VMIN], box.Terminals.Modes.Cc[unix.VTIME] = 1, 0
			}
		}
		if !terminal[1] || !foreground {
			c.at, job.Waits = kept, true
		}
		c.real.shared = !terminal[1]
		job.Stdio[0] = wire.FromPty
		c.ptys, devices = []int{c.real.fd}, []uint32{device[0]}
	}
	for i := 1; i <= 2; i++ {
		if !terminal[i] {
			continue
		}
		at := slices.Index(devices, device[i])
		if at < 0 {
			at = len(devices)
			c.ptys, devices = append(c.ptys, c.stdio[i]), append(devices, device[i])
		}
		job.Stdio[i] = wire.FromPty + uint8(at)
	}
	for _, fd := range c.ptys {
		box.Terminals.Sizes = append(box.Terminals.Sizes, winsize(fd))
	}
}

// openControlling opens our controlling terminal, or returns -1.
func openControlling() int {
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return fd
}

// everywhere are the numbers under which the box's terminal is ours.
func (c *console) everywhere() []int {
	return append(append([]int{c.real.fd}, c.ptys...), c.stdio[:]...)
}

// put puts a terminal, or /dev/null for -1, under these numbers.
func put(terminal int, numbers ...int) {
	if terminal < 0 {
		null, err := wire.OpenNull()
		if err != nil {
			return
		}
		defer unix.Close(null)
		terminal = null
	}
	slices.Sort(numbers)
	for _, fd := range slices.Compact(numbers) {
		if fd < 0 {
			continue
		}
		flags := unix.O_CLOEXEC
		if fd <= 2 {
			flags = 0
		}
		_ = unix.Dup3(terminal, fd, flags)
	}
}
