package wire

import (
	"github.com/enr/inner/isolator/limits"
	"golang.org/x/sys/unix"
)

// Box is what the first process of a box does before the first job, and to each.
type Box struct {
	Shown    []Shown // to be looked at
	Landlock *Landlock
	Rlimits  limits.Values // of which it sets its own
	Observe  bool          // tell the launcher of every call of the jobs that names a file

	Terminals Terminals  // of the first job
	Container *Container // nil in a box of bwrap's
}

// Job is a program that runs in a box.
type Job struct {
	Program, Dir string
	DirElse      string // where there is no Dir; "" for nowhere
	Argv, Env    []string
	Ignored      uint64   // signals, bit n-1 for signal n, that stay ignored
	Stdio        [3]uint8 // where its standard streams are from
	Waits        bool     // it starts in the background of its terminal, see want in package launch
	Alone        bool     // the box is this job's, and ends with it
	Trial        bool     // end it before its first instruction
}

// Where a standard stream of a job comes from.
const (
	FromLauncher = 0 // what came with it
	FromPty      = 1 // the first terminal of the box; 2 is the second
)

// Terminals are those that a box has for its first job: one for each terminal among the person's standard streams.
type Terminals struct {
	Sizes   []unix.Winsize
	Control bool         // the first is its controlling one, with job control; what is none cannot be read
	Modes   unix.Termios // of that one; zero leaves the kernel's
}

// Landlock is what the program may not do, on top of everything else.
type Landlock struct {
	Signals  bool     `json:"signals"`  // signal what is outside of the box
	Abstract bool     `json:"abstract"` // connect to abstract sockets outside of the box
	Writes   bool     `json:"writes"`   // open anything for writing but below Writable
	Writable []string `json:"writable"` // box paths
	Root     bool     `json:"root"`     // no other box, and nothing of the host, has the folder that is its root
}

// Shown is a mount that must be there at a box path.
type Shown struct {
	Path   string `json:"path"`
	Source string `json:"source"` // its place on the host; "" for what is made for the box; the supervisor does not get it
	Dev    uint64 `json:"dev"`    // with Ino what was probed there; 0 for what is made for the box
	Ino    uint64 `json:"ino"`
}

// Pin is a link that is bound onto itself in the box.
type Pin struct {
	Path   string `json:"path"`   // box path, with no link but itself
	Target string `json:"target"` // what it must say
}
