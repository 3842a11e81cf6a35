package wire

// ContainerMount is a mount that a container must have.
type ContainerMount struct {
	Path  string
	Write bool // the program can write there
	Tmpfs bool
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
