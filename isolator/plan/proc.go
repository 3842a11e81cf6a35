package plan

import (
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/host"
)

// ProcMode is how a run gets its /proc: what the profile says, or, for "auto",
// what was found to work here.
func ProcMode(asked, found string) string {
	switch {
	case asked != "auto":
		return asked
	case found != "":
		return found
	}
	return "fresh"
}

// proc mounts /proc.
//
//	fresh  the box's own processes and nothing else
//	bind   the host's, read-only: other processes are listed, with their command
//	       lines, and a probe has shown that the kernel keeps their environment,
//	       memory and files from another user namespace
//	empty  nothing, where neither can be had
func (b *builder) proc() error {
	switch mode := ProcMode(b.rc.Proc, b.f.Proc); mode {
	case "fresh":
		b.op(Op{Kind: OpProc, Dest: "/proc", Reason: "a /proc of the box's own processes"})
	case "bind":
		b.itself("the host's /proc, read-only; what is private in it was shown to be out of reach", "/proc")
		b.keys()
		return nil
	case "empty":
		if b.s.Self == "" {
			return fault.Refuse(125, "",
				"profile %q: no /proc, and the inner binary cannot be shown in the box", b.rc.Name)
		}
		b.tmpfs("no /proc", 0o555, "/proc")
		return nil
	default:
		return fault.Refuse(125, "", "profile %q: proc %q is unknown", b.rc.Name, mode)
	}
	// bwrap 0.8.0 run by root leaves these writable even without capabilities.
	// A container can mount its own /proc only where nothing covers the box's,
	// and its settings are those of its own namespaces.
	b.keys()
	if !b.allowed[nestedKey] {
		b.itself("kernel settings cannot be changed", "/proc/sys")
	}
	if b.f.UID == 0 {
		for _, p := range []string{"/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs"} {
			if b.kind(p) != host.Missing {
				b.itself("kernel controls cannot be written by root either", p)
			}
		}
	}
	return nil
}

// procKeys lists the keys of the kernel that the reader may view, and those are the
// user's, in whatever namespaces: names, owners, sizes (proc_keys(5)).
const procKeys = "/proc/keys"

// keys hides the user's keys. A container can mount its own /proc only where nothing
// covers the box's.
func (b *builder) keys() {
	if b.kind(procKeys) != host.Missing && !b.allowed[nestedKey] {
		b.coverFile("your keys in the kernel are not listed", b.s.Empty, procKeys)
	}
}

// itself shows a path of the kernel's read-only. It is no path of the host that a
// profile could hide or protect.
func (b *builder) itself(reason, p string) {
	b.op(Op{Kind: OpReadOnly, Source: p, Dest: p, Reason: reason, own: true})
}
