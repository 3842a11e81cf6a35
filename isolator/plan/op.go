package plan

import "github.com/enr/inner/isolator/host"

// OpKind says what an operation does.
type OpKind int

// The kinds of operations.
const (
	OpNote     OpKind = iota // nothing that bwrap does: the reason alone is shown
	OpSwitch                 // Flags, which concern the box as a whole
	OpReadOnly               // Source of the host at Dest, read-only
	OpBind                   // Source of the host at Dest, writable
	OpDevice                 // Source, a device of the host, at Dest
	OpMask                   // Source, an empty file or what a commit has, in the place of the file Dest
	OpData                   // Plan.Data[Data] as a read-only file Dest
	OpTmpfs                  // an empty folder in memory
	OpDir                    // a folder, where it lies
	OpSymlink                // a link at Dest that says Source
	OpProc                   // a fresh /proc
	OpDev                    // a fresh /dev with the nodes every program needs
	OpSeal                   // Dest becomes read-only
	OpFilter                 // Plan.Data[Data] is the filter of system calls
	OpFile                   // Plan.Data[Data] as a file Dest, in a folder in memory
)

// Op is one operation on the box, and why it is there. The reason is what --dry-run and
// explain print. Which fields count is said by the kind.
type Op struct {
	Kind   OpKind
	Source string
	Dest   string // a box path
	Perms  uint32 // of what is made for the box; 0 leaves them to bwrap
	Size   uint64 // of a tmpfs, in bytes; 0 for no limit
	Data   int
	Flags  []Flag
	Reason string

	// Key is what decides about it: a key of the profile language, or one of the table of
	// resources; "" for what every box has.
	Key string

	Probed  host.ID // of the source of a bind, or of what the launcher mounts on; zero when that is not known
	Outside bool    // made by the launcher, after all that bwrap makes, see outside.go

	// What only the plan looks at, see view.go.
	original string // what Source is a copy of, or ""
	own      bool   // a bind of something of the box's own, or of the kernel's: the host has no such path
	alone    string // the key that hides Source, a file, which a mount shows after all; or ""
	empty    bool   // a folder in memory that is there to hide, not to be written
	held     bool   // read-only where the box could write it
}

// Bind reports whether the operation shows a path of the host.
func (o Op) Bind() bool {
	return o.Kind == OpReadOnly || o.Kind == OpBind || o.Kind == OpDevice
}

// Mounts reports whether the operation mounts something at Dest, which covers what was
// there before.
func (o Op) Mounts() bool {
	switch o.Kind {
	case OpMask, OpData, OpTmpfs, OpProc, OpDev:
		return true
	}
	return o.Bind()
}

// Writable reports whether the box can write what the operation mounts.
func (o Op) Writable() bool {
	switch o.Kind {
	case OpTmpfs:
		return o.Perms&0o222 != 0
	case OpBind, OpDevice, OpProc, OpDev:
		return true
	}
	return false
}
