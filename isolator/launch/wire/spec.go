package wire

import (
	"errors"

	"github.com/enr/inner/isolator/limits"
	"golang.org/x/sys/unix"
)

// Spec is what the supervisor has to do.
type Spec struct {
	Full    bool  // the first terminal is the controlling one, with job control
	Waits   bool  // the program is to ask for that terminal, see want in package launch
	Ptys    uint8 // how many terminals to open
	Stdio   [3]uint8
	Ignored uint64 // signals, bit n-1 for signal n, that stay ignored
	Winsize [MaxPtys]unix.Winsize
	Termios unix.Termios // for the first terminal, when Full; zero leaves the kernel's

	Program, Dir string
	DirElse      string // where there is no Dir; "" for nowhere
	Argv, Env    []string
	Listen       []uint16 // ports of the loopback to listen on
	Dispense     bool     // start a dispenser
	Shown        []Shown  // to be looked at before the program starts
	Fills        []Fill   // to be filled before that, each from descriptor FillFD and up
	FillFD       int
	Landlock     *Landlock
	Rlimits      limits.Values // of which it sets its own
	Observe      bool          // tell the launcher of every call that names a file
	Trial        bool          // end the program before its first instruction
	Calls        bool          // there is no program: stay, and run calls

	Container *Container // nil in a box of bwrap's
}

// Encode returns what DecodeSpec reads.
func (s *Spec) Encode() []byte {
	size := 1024
	for _, list := range [][]string{s.Argv, s.Env} {
		for _, w := range list {
			size += 8 + len(w)
		}
	}
	return Encode(size, s.fields)
}

// DecodeSpec reads what Encode returned.
func DecodeSpec(b []byte) (*Spec, error) {
	s := new(Spec)
	if err := Decode(b, s.fields); err != nil || s.Ptys > MaxPtys {
		return nil, errors.New("malformed box spec")
	}
	return s, nil
}

func (s *Spec) fields(c *Codec) {
	c.Bools(&s.Full, &s.Waits, &s.Dispense, &s.Observe, &s.Trial, &s.Calls)
	Number(c, &s.Ptys)
	for i := range s.Stdio {
		Number(c, &s.Stdio[i])
	}
	Number(c, &s.Ignored)
	for i := range s.Winsize {
		w := &s.Winsize[i]
		for _, v := range []*uint16{&w.Row, &w.Col, &w.Xpixel, &w.Ypixel} {
			Number(c, v)
		}
	}
	t := &s.Termios
	for _, v := range []*uint32{&t.Iflag, &t.Oflag, &t.Cflag, &t.Lflag, &t.Ispeed, &t.Ospeed} {
		Number(c, v)
	}
	Number(c, &t.Line)
	for i := range t.Cc {
		Number(c, &t.Cc[i])
	}
	c.Texts(&s.Program, &s.Dir, &s.DirElse)
	c.Strings(&s.Argv)
	c.Strings(&s.Env)
	List(c, &s.Listen, Number[uint16])
	List(c, &s.Shown, func(c *Codec, sh *Shown) {
		c.Texts(&sh.Path)
		Number(c, &sh.Dev)
		Number(c, &sh.Ino)
	})
	Number(c, &s.FillFD)
	List(c, &s.Fills, func(c *Codec, f *Fill) {
		c.Texts(&f.Dest)
		Number(c, &f.Room)
	})
	for _, v := range []*uint64{&s.Rlimits.Files, &s.Rlimits.FileSize, &s.Rlimits.Pids} {
		Number(c, v)
	}
	Optional(c, &s.Landlock, (*Landlock).fields)
	Optional(c, &s.Container, (*Container).fields)
}

// Landlock is what the program may not do, on top of everything else.
type Landlock struct {
	Signals  bool     // signal what is outside of the box
	Abstract bool     // connect to abstract sockets outside of the box
	Writes   bool     // open anything for writing but below Writable
	Writable []string // box paths

	// Files confines every use of files to Writable and Readable: where nothing is mounted for
	// the box, nothing else keeps it from them.
	Files    bool
	Readable []string // box paths
}

func (l *Landlock) fields(c *Codec) {
	c.Bools(&l.Signals, &l.Abstract, &l.Writes, &l.Files)
	c.Strings(&l.Writable)
	c.Strings(&l.Readable)
}

// Fill is a folder of the box in memory. The supervisor copies a folder of the host
// into it before the program starts; of that folder the box sees nothing else.
type Fill struct {
	Source string // on the host: folders and regular files are copied
	Dest   string // in the box, where it is mounted
	Room   uint64 // its size in bytes
}

// Shown is a mount that must be there at a box path.
type Shown struct {
	Path     string
	Source   string // its place on the host; "" for what is made for the box; the supervisor does not get it
	Dev, Ino uint64 // what was probed there; 0 for what is made for the box
}

// Pin is a link that is bound onto itself in the box.
type Pin struct {
	Path   string // box path, with no link but itself
	Target string // what it must say
}

// Mask is a file of the box that is covered by an empty one.
type Mask struct {
	Path     string // box path, with no link in it
	Dev, Ino uint64 // what is there before; 0 when that is not known
}
