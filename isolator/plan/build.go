package plan

// The order of the operations is the security of the box: bwrap applies them
// left to right, and a later mount covers an earlier one.
//
//  1. namespaces, capabilities, death with the parent
//  2. base: the host read-only, a fresh /dev and /proc
//  3. empty places: /tmp, /var/tmp, /run (with what programs need of it)
//  4. the home: an empty one, the box's own, or the host's without what begins with a dot and is not
//     listed, and what is bound back into it
//  5. the working folder and the profile's mounts, parents before children
//     then the box's own caches, where the home is the host's
//     then git directories that are served, over those of the host
//  6. what inner puts in: capability clones, history, noop shims, the marker,
//     and the resources the profile allows
//  7. write protection: .inner, git, shell start-up files
//  8. hiding: sensitive resources, what the git settings were made from, programs
//     and start-up files that [noop] covers, listening sockets, inner's own state
//
// Hiding comes last, so nothing re-exposes what it covers. When all are there, folders on the way to what is mounted
// in something writable are bound onto themselves, each right after the mount that it is in: see pins.go. What of all
// that lies where somebody may write is not bwrap's, but the launcher's, when bwrap has made the rest: see outside.go.

import (
	"cmp"
	"fmt"

	shell "github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/sensitive"
	"github.com/enr/inner/profile"
)

// builder carries one Build; it is dropped at the end.
type builder struct {
	rc      profile.RunConfig
	f       host.Facts
	s       Staged
	plan    Plan
	root    Op // what is under all operations: nothing, or an empty root
	allowed map[string]bool
	home    string            // canonical
	kept    []held            // see once
	entries []sensitive.Place // see once
	begins  []string          // see once
	empties []hid             // see once
	found   *sensitive.Site   // see site
	hids    []hid             // see once
	granted []hid             // see once
	secret  []hid             // see once
	ofUser  []string          // see once
	homeAt  int               // see ownHome
	disk    uint64            // how large each tmpfs may be; 0 without a limit
	key     string            // see because

	unplaced error // why an operation so far has no place to mount on, see mountPoint
}

// once is what was made the first time that it was asked for.
func once[T any](kept *[]T, make func() []T) []T {
	if *kept == nil {
		*kept = append([]T{}, make()...)
	}
	return *kept
}

func newBuilder(rc profile.RunConfig, f host.Facts, s Staged) *builder {
	b := &builder{rc: rc, f: f, s: s, allowed: map[string]bool{}}
	for _, k := range rc.Allow {
		b.allowed[k] = true
	}
	return b
}

// Build turns intent into a plan. It touches nothing: no environment, no
// clock, no map order, and of the disk it has what the facts look at. An error that is a *fault.Refusal carries
// the exit code and what to type.
func Build(rc profile.RunConfig, f host.Facts, s Staged) (Plan, error) {
	b := newBuilder(rc, f, s)
	if err := b.possible(); err != nil {
		return Plan{}, err
	}
	b.plan.Bwrap, b.plan.Empty = f.Bwrap, s.Empty
	b.home = b.canon(f.Home)
	for _, step := range b.order() {
		b.key = ""
		err := step()
		if err = cmp.Or(b.unplaced, err); err != nil {
			return Plan{}, err
		}
	}
	b.shown()
	b.ports()
	if err := b.started(); err != nil {
		return Plan{}, err
	}
	b.plan.Env, b.plan.Set = Environment(b.rc, f, b.s), b.s.Env
	b.plan.StartIn(b.rc, b.s)
	return b.plan, nil
}

// possible refuses what this host or this version cannot do at all.
func (b *builder) possible() error {
	f := b.f
	if f.Bwrap == "" && f.Engine == nil {
		return fault.Refuse(125, cmp.Or(f.BwrapFix, "inner doctor"), "the sandbox cannot start: %s", f.BwrapWhy)
	}
	if f.SocketsUnknown != "" {
		return fault.Refuse(125, "inner doctor",
			"the sandbox cannot start: which sockets programs of the host listen on is unknown, so they cannot be hidden: %s", f.SocketsUnknown)
	}
	return nil
}

// order are the steps of a plan, by the numbers at the top of this file.
func (b *builder) order() []func() error {
	return []func() error{
		b.hideKnown, b.workdirHidden, b.limits, b.logFolder, // what refuses, first
		b.namespaces, b.kernel, // 1
		b.base,                        // 2
		b.emptyPlaces, b.nestedPlaces, // 3
		b.homeFolder, b.programsOnPath, // 4
		b.mounts, b.caches, b.temp, b.boxGit, b.nestedStorage, // 5
		b.staged, b.parts, b.reexposeAllowed, b.nestedInner, b.entered, // 6
		b.protect,                                                          // 7
		b.hide, b.seal, b.outside, b.pins, b.check, b.followed, b.landlock, // 8
		b.program, b.pathNames, // what depends on all of that
	}
}

func (b *builder) op(o Op) {
	o.Key = b.key
	if b.unplaced == nil {
		b.unplaced = b.mountPoint(o)
	}
	b.plan.Ops = append(b.plan.Ops, o)
	if o.bound() {
		b.placesIn(o)
	}
}

// because names what decides about the operations that follow, see Op.Key, until the next
// step or what it returns is called.
func (b *builder) because(key string) (before func()) {
	old := b.key
	b.key = key
	return func() { b.key = old }
}

func (b *builder) note(reason string) { b.op(Op{Kind: OpNote, Reason: reason}) }

func (b *builder) switches(reason string, flags ...Flag) {
	b.op(Op{Kind: OpSwitch, Flags: flags, Reason: reason})
}

func (b *builder) symlink(reason, text, dest string) {
	b.op(Op{Kind: OpSymlink, Source: text, Dest: dest, Reason: reason})
}

// canon returns p with links resolved, as far as it exists.
func (b *builder) canon(p string) string { return cmp.Or(b.f.Look(p).Real, p) }

func (b *builder) kind(p string) host.Kind { return b.f.Look(p).Kind }

func (b *builder) bind(reason, source, dest string, write bool) {
	b.op(Op{Kind: bindKind(write), Source: source, Dest: dest, Reason: reason})
}

func bindKind(write bool) OpKind {
	if write {
		return OpBind
	}
	return OpReadOnly
}

// tmpfs is an empty folder in memory, no larger than the profile says. One that nobody
// may write covers what was there.
func (b *builder) tmpfs(reason string, perms uint32, dest string) {
	b.op(Op{Kind: OpTmpfs, Perms: perms, Size: b.disk, Dest: dest, Reason: reason})
}

// tmpfsMask puts a tmpfs in the place of something, for what is bound back into it.
func (b *builder) tmpfsMask(reason, dest string) {
	b.op(Op{Kind: OpTmpfs, Perms: 0o755, Size: b.disk, Dest: dest, Reason: reason, empty: true})
}

func (b *builder) namespaces() error {
	// Only the pair of a PID namespace and --die-with-parent leaves no process
	// behind (measured with bwrap 0.8.0).
	b.switches("processes of the host are out of sight, and all of the run die together", UnsharePID, DieWithParent)
	b.switches("no SysV memory or message queues of the host", UnshareIPC)
	b.switches("its own host name and cgroup view", UnshareUTS, UnshareCgroup)
	switch {
	case b.rc.Network == profile.NetFull:
		b.note("network: the host's (sandbox.network)")
	case b.rc.Network.ByName():
		// A network with nothing in it but a loopback, which bwrap brings up.
		b.switches("no network but the proxy of the run, which decides by name (sandbox.network_mode)", UnshareNet)
	default:
		b.switches("no network", UnshareNet)
	}
	// As root bwrap keeps every capability otherwise.
	b.switches("no capabilities, also when run by root", DropCaps()...)
	return b.nestedNamespace()
}

func (b *builder) base() error {
	b.because("sandbox.base")
	if b.f.Engine != nil {
		if err := b.image(); err != nil {
			return err
		}
	} else if b.rc.Base == "minimal" {
		b.systemOnly()
	} else {
		b.bind("the host, read-only", "/", "/", false)
	}
	b.because("")
	b.op(Op{Kind: OpDev, Dest: "/dev", Reason: "a minimal /dev with its own terminals"})
	if b.disk > 0 { // --dev knows no size; what else is in /dev is closed by seal
		b.tmpfs("shared memory, limited (sandbox.limits.disk)", 0o1777, "/dev/shm")
	}
	return b.proc()
}

// runKeep is what programs need of /run: the running system of NixOS.
func runKeep() []string {
	return []string{"/run/current-system", "/run/booted-system", "/run/wrappers", "/run/opengl-driver"}
}

func (b *builder) emptyPlaces() error {
	// A read-only bind does not stop connect(2): sockets are hidden with the
	// folders they live in.
	if b.s.Tmp != "" {
		b.bind("the session's own /tmp", b.s.Tmp, "/tmp", true)
	} else {
		b.tmpfs("an empty /tmp", 0o1777, "/tmp")
	}
	if b.kind("/var/tmp") == host.Dir && b.canon("/var/tmp") == "/var/tmp" {
		b.tmpfs("an empty /var/tmp", 0o1777, "/var/tmp")
	}
	// As large as inner's own files there need: it is sealed before the program starts.
	b.op(Op{Kind: OpTmpfs, Perms: 0o755, Dest: "/run", Reason: "no sockets and no state of running services", empty: true})
	b.backPlaces()
	for _, p := range runKeep() {
		if b.kind(p) == host.Dir {
			b.bind("the running system", p, p, false)
		}
	}
	if b.rc.Network == profile.NetFull {
		for _, p := range b.f.Resolver {
			b.bind("name resolution", p, p, false)
		}
	}
	return nil
}

func quote(s string) string { return fmt.Sprintf("%q", s) }

// typed is a path to type in a shell: a box may have chosen its name.
func typed(path string) string { return shell.POSIX(path) }
