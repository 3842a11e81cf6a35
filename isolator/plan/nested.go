package plan

// A box whose profile allows nested-user-ns can make containers: rootless
// podman and its kind work in it. It has a user namespace with a range of ids
// (package userns), the two capabilities that hand ids on, and the places such
// tools expect. The recipe was measured with podman 4.3 and crun 1.8.

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/userns"
	"github.com/enr/inner/profile"
)

// nestedKey is the key of [sandbox] allow.
const nestedKey = "nested-user-ns"

// Where crun finds the unified hierarchy of a host that mounts both kinds.
const (
	cgroupMount   = "/sys/fs/cgroup"
	cgroupUnified = "/sys/fs/cgroup/unified"
)

// nestedDevices are the devices containers use: a network of their own, and
// file systems made by programs.
func nestedDevices() []string { return []string{"/dev/net/tun", "/dev/fuse"} }

// nestedFolders are where container tools keep images, below the home.
func nestedFolders() []string { return []string{".local/share/containers", ".cache/containers"} }

// nestedNamespace asks for a user namespace with a map, for the launcher to make.
func (b *builder) nestedNamespace() error {
	if !b.allowed[nestedKey] {
		return nil
	}
	n := b.f.Nested
	if n == nil || n.Why != "" {
		r := &fault.Refusal{Code: 125, Msg: fmt.Sprintf("profile %q allows %s, which this host cannot give", b.rc.Name, nestedKey), Hint: "inner doctor"}
		if n != nil {
			r.Msg, r.Hint = r.Msg+": "+n.Why, n.Fix
		}
		return r
	}
	if mode := ProcMode(b.rc.Proc, b.f.Proc); mode != "fresh" {
		return fault.Refuse(125, `set proc = "fresh" under [sandbox]`,
			"profile %q: containers need a /proc of their own, and this box has %q", b.rc.Name, mode)
	}
	b.switches("a user namespace with a range of ids ("+nestedKey+")", User(b.f.UID, b.f.GID)...)
	b.switches("ids can be handed on to containers", AddCaps("cap_setuid", "cap_setgid")...)
	b.plan.Map = &userns.Map{
		NewUIDMap: n.NewUIDMap, NewGIDMap: n.NewGIDMap,
		UIDs: n.UIDs.Extents(b.f.UID), GIDs: n.GIDs.Extents(b.f.GID),
	}
	return nil
}

// nestedPlaces are what container tools expect outside the home.
func (b *builder) nestedPlaces() error {
	if !b.allowed[nestedKey] {
		return nil
	}
	n := b.f.Nested
	for _, f := range []struct {
		path string
		ids  userns.Range
	}{{"/etc/subuid", n.UIDs}, {"/etc/subgid", n.GIDs}} {
		b.dataFile("the ids left for containers", f.ids.File(n.Name), b.canon(f.path))
	}
	runtime := fmt.Sprintf("/run/user/%d", b.f.UID)
	b.tmpfs("a runtime folder for containers", 0o700, runtime)
	for _, dev := range nestedDevices() {
		if b.kind(dev) != host.Missing {
			b.op(Op{Kind: OpDevice, Source: dev, Dest: dev, Reason: "a device containers use"})
		}
	}
	if b.kind(cgroupUnified) == host.Dir {
		// crun refuses a host that mounts both kinds of control groups.
		b.bind("control groups as containers know them", cgroupUnified, cgroupMount, false)
	}
	b.setenv("XDG_RUNTIME_DIR", runtime)
	// There is no systemd in the box to ask. Read by podman 4.4 and later; older
	// ones see it for themselves.
	b.dataFile("how containers are put into control groups",
		[]byte("[engine]\ncgroup_manager = \"cgroupfs\"\n"), paths.BoxConf)
	b.setenv("CONTAINERS_CONF_OVERRIDE", paths.BoxConf)
	b.setenv("container", "bwrap") // podman says nothing of "/" not being shared then
	return nil
}

// nestedStorage gives images a place that lasts as long as the run, where the
// profile's mounts give none that lasts longer.
func (b *builder) nestedStorage() error {
	if !b.allowed[nestedKey] {
		return nil
	}
	for _, name := range nestedFolders() {
		p := b.canon(filepath.Join(b.home, name))
		if l, _ := b.at(p); !l.Writable() && (!l.bound() || b.kind(filepath.Join(b.f.Home, name)) == host.Dir) { // also where it is hidden
			b.tmpfs("images last as long as the run", 0o700, p)
		}
	}
	return nil
}

// nestedInner refuses a box that could move inner's own folder. What lies under a mount cannot be
// moved in its mount namespace, but from one without that mount, which containers make.
func (b *builder) nestedInner() error {
	if !b.allowed[nestedKey] {
		return nil
	}
	for _, home := range b.f.InnerHomes() {
		for _, dir := range b.where(filepath.Dir(b.canon(home))) {
			if l, _ := b.at(dir); l.Writable() && b.kind(home) != host.Missing {
				return fault.Refuse(125, `home = "own" under [sandbox], or mount a folder further in`,
					"profile %q: the box can write %s, and one that makes containers (%s) could put another folder in the place of %s", b.rc.Name, dir, nestedKey, home)
			}
		}
	}
	return nil
}

// setenv sets a variable for the program, unless [env] set does.
func (b *builder) setenv(key, value string) {
	b.s.Env = append(slices.Clip(b.s.Env), profile.KV{Key: key, Value: value})
}
