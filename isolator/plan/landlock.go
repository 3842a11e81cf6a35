package plan

// Landlock is the second layer under the mounts and namespaces: the supervisor
// puts it on the program before that starts. It holds where a mount does not: a
// FIFO or a device on a read-only mount can be opened for writing, abstract
// sockets belong to the network, and bwrap's first process is the program's own
// user's.

import (
	"fmt"
	"slices"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// The versions of Landlock that bring what is used of it.
const (
	LandlockWrites = 2 // writing confined to folders; renames between them still possible
	LandlockScopes = 6 // signals and abstract sockets confined to the box
)

// landlock asks for as much of it as this kernel has and the box can bear, or
// refuses when the profile wants more.
func (b *builder) landlock() error {
	abi := b.f.Landlock
	if b.rc.Landlock == "required" && abi < LandlockScopes {
		have := "has none"
		if abi > 0 {
			have = fmt.Sprintf("has version %d", abi)
		}
		return fault.Refuse(125, "inner doctor",
			"profile %q requires Landlock, version %d or later, and this kernel %s (sandbox.landlock)", b.rc.Name, LandlockScopes, have)
	}
	if b.rc.Landlock == "off" || abi == 0 {
		return nil
	}
	var l Landlock
	if abi >= LandlockScopes {
		l.Signals, l.Abstract = true, AbstractOpen(b.rc, b.f) == ""
	}
	// Who confines writing forbids every mount, also those of containers.
	if abi >= LandlockWrites && !b.allowed[nestedKey] {
		l.Writes, l.Writable = true, b.writableFolders()
		l.Root = !slices.ContainsFunc(b.plan.Ops, func(o Op) bool { return o.Dest == "/" && o.Bind() })
	}
	if l.Signals || l.Writes {
		b.plan.Landlock = &l
	}
	return nil
}

// AbstractOpen says why a box reaches abstract sockets of the host, or nothing.
func AbstractOpen(rc profile.RunConfig, f host.Facts) string {
	switch {
	case rc.Network != profile.NetFull:
		return ""
	case rc.Clipboard && f.Display != nil && f.Display.Kind == "x11":
		// libxcb tries the server's abstract socket first, and the other only when
		// that is not there (xcb_util.c, _xcb_open).
		return "network = true and clipboard = true: the X11 server's own is one"
	case rc.Landlock == "off":
		return `network = true and allow = ["no-landlock"]: they belong to the network`
	case f.Landlock < LandlockScopes:
		return "network = true, and this kernel has no Landlock to confine them"
	}
	return ""
}

// writableFolders are the places of the box that are meant to be written,
// without those that lie in another.
func (b *builder) writableFolders() []string {
	list := []string{"/dev", "/proc"}
	for _, o := range b.visible() {
		if o.Writable() && !o.empty {
			list = append(list, o.Dest)
		}
	}
	for _, r := range b.s.Repos { // what is served is mounted later
		if !b.hides(r.Dir) {
			list = append(list, r.Dir)
		}
	}
	for _, s := range b.s.Binds {
		if s.Box == paths.BoxBlocked {
			list = append(list, s.Box)
		}
	}
	slices.Sort(list)
	var out []string
	for _, p := range list {
		if !slices.ContainsFunc(out, func(o string) bool { return paths.Below(o, p) }) {
			out = append(out, p)
		}
	}
	return out
}
