package plan

// The order of the operations is the security of the box: bwrap applies them
// left to right, and a later mount covers an earlier one.
//
//  1. namespaces, capabilities, death with the parent
//  2. base: the host read-only, a fresh /dev and /proc
//  3. empty places: /tmp, /var/tmp, /run (with what programs need of it)
//  4. the home, when isolated, and what is bound back into it
//  5. the working folder and the profile's mounts, parents before children
//     then the box's own git directories, over those of the host
//  6. what inner puts in: capability clones, history, noop shims, the marker,
//     and the resources the profile allows
//  7. write protection: .inner, git, shell start-up files
//  8. hiding: sensitive resources, what the git settings were made from, programs
//     and start-up files that [noop] covers, listening sockets, inner's own state
//
// Hiding comes last, so nothing re-exposes what it covers.

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/sensitive"
	"github.com/enr/inner/profile"
)

// Bind is something staged on the host that appears in the box.
type Bind struct {
	Host   string
	Box    string
	Write  bool
	Reason string

	// Room, when it is not 0, makes it a copy of the folder Host in the memory of the
	// box, which holds so many bytes: see [Fill]. What the box can write of
	// Staged.Binds is that, or it is read-only.
	Room uint64
}

// SpareRoom is what the box can write to such a copy beside what is in it, when the
// profile does not say how much (limits.disk).
const SpareRoom = 256 << 20

// Staged is what was prepared on disk for one run.
type Staged struct {
	RunID   string
	Empty   string // host path of an empty read-only file, for masks
	Self    string // host path of the inner binary; only a box without /proc needs it
	Noop    string // host folder of the noop shims, "" when there are none
	Startup string // host folder of NoopStartup, "" without noop shims
	Binds   []Bind
	Copies  []Copy       // of the safe-rw mounts
	Env     []profile.KV // of capabilities and history; [env] set wins over it
	Program string       // path of the program, the same on the host and in the box
	Argv    []string     // argv[0] and the arguments

	Group string // the control group made for the run, "" without one

	// BoxGit is what the box's own git directories are made of, see package git, in the
	// order of their mounting. Places outside of paths.BoxDir are those of the host.
	BoxGit []Bind
	// GitStays are the paths of repositories that have no git directory of the box's own, which
	// git outside obeys, and GitLinks the links on the way to any repository.
	GitStays []string
	GitLinks []host.Hop

	GitConfig []byte   // the cleaned git configuration; nil without [git]
	GitFiles  []string // what it was made from: covered wherever the box would see it
}

// builder carries one Build; it is dropped at the end.
type builder struct {
	rc      profile.RunConfig
	f       host.Facts
	s       Staged
	plan    Plan
	view    view
	allowed map[string]bool
	home    string            // canonical
	targets []string          // see protected
	entries []sensitive.Place // see table
	begins  []string          // see startup
	emptied []string          // see places
	disk    uint64            // how large each tmpfs may be; 0 without a limit
}

// Build turns intent into a plan. It touches nothing: no environment, no
// disk, no clock, no map order. An error that is a *fault.Refusal carries the exit
// code and what to type.
func Build(rc profile.RunConfig, f host.Facts, s Staged) (Plan, error) {
	b := &builder{rc: rc, f: f, s: s, allowed: map[string]bool{}}
	for _, k := range rc.Allow {
		b.allowed[k] = true
	}
	if f.Bwrap == "" {
		return Plan{}, fault.Refuse(125, cmp.Or(f.BwrapFix, "inner doctor"), "the sandbox cannot start: %s", f.BwrapWhy)
	}
	if missing := rc.NotEnforced(); len(missing) > 0 {
		return Plan{}, fault.Refuse(125, "inner profile validate "+rc.Name, "profile %q asks for what this version cannot enforce: %s", rc.Name, strings.Join(missing, "; "))
	}
	if f.MountsUnknown {
		return Plan{}, fault.Refuse(125, "mount /proc", "the sandbox cannot start: /proc/self/mountinfo cannot be read, so what must be hidden may be seen under another name")
	}
	if f.SocketsUnknown != "" {
		return Plan{}, fault.Refuse(125, "inner doctor", "the sandbox cannot start: which sockets programs of the host listen on is unknown, so they cannot be hidden: %s", f.SocketsUnknown)
	}
	b.plan.Bwrap = f.Bwrap
	b.home = b.canon(f.Home)
	b.view.twins, b.view.mounted = f.Twins, f.Mounted
	steps := []func() error{
		b.hideKnown, b.workdirHidden, b.limits, b.logFolder, b.namespaces, b.kernel, b.base, b.devices, b.emptyPlaces, b.nestedPlaces, b.homeFolder, b.crowds, b.mounts, b.boxGit, b.nestedStorage, b.staged, b.bus, b.clipboard, b.reexposeAllowed, b.protect, b.hide, b.seal, b.landlock,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return Plan{}, err
		}
	}
	if err := b.program(); err != nil {
		return Plan{}, err
	}
	b.shown()
	b.ports()
	if err := b.started(); err != nil {
		return Plan{}, err
	}
	b.plan.Env = environment(rc, f, b.s)
	b.plan.Dir = rc.Cwd
	return b.plan, nil
}

func (b *builder) op(o Op) { b.plan.Ops = append(b.plan.Ops, o) }

// mount is an operation that decides what is seen at a box path.
func (b *builder) mount(o Op) {
	b.op(o)
	b.view.add(o.layer())
}

func (b *builder) note(reason string) { b.op(Op{Kind: OpNote, Reason: reason}) }

func (b *builder) switches(reason string, flags ...Flag) {
	b.op(Op{Kind: OpSwitch, Flags: flags, Reason: reason})
}

func (b *builder) symlink(reason, text, dest string) {
	b.op(Op{Kind: OpSymlink, Source: text, Dest: dest, Reason: reason})
}

// canon returns p with links resolved, as far as the facts know it.
func (b *builder) canon(p string) string {
	if info, ok := b.f.Paths[p]; ok && info.Real != "" {
		return info.Real
	}
	return p
}

func (b *builder) kind(p string) host.Kind {
	if info, ok := b.f.Paths[p]; ok {
		return info.Kind
	}
	return host.Missing
}

func (b *builder) bind(reason, source, dest string, write bool) {
	b.bindLayer(reason, layer{source: source, dest: dest, write: write})
}

func (b *builder) bindLayer(reason string, l layer) {
	kind := OpReadOnly
	if l.write {
		kind = OpBind
	}
	b.op(Op{Kind: kind, Source: l.source, Dest: l.dest, Reason: reason})
	b.view.add(l)
}

// tmpfs is an empty folder in memory, no larger than the profile says. One that nobody
// may write covers what was there.
func (b *builder) tmpfs(reason string, perms uint32, dest string) {
	b.mount(Op{Kind: OpTmpfs, Perms: perms, Size: b.disk, Dest: dest, Reason: reason})
}

// filler is a tmpfs in the place of something, for what is bound back into it.
func (b *builder) filler(reason, dest string) {
	b.op(Op{Kind: OpTmpfs, Perms: 0o755, Size: b.disk, Dest: dest, Reason: reason})
	b.view.add(layer{dest: dest, write: true, filler: true})
}

func (b *builder) namespaces() error {
	// Only the pair of a PID namespace and --die-with-parent leaves no process
	// behind (measured with bwrap 0.8.0).
	b.switches("processes of the host are out of sight, and all of the run die together", UnsharePID, DieWithParent)
	b.switches("no SysV memory or message queues of the host", UnshareIPC)
	b.switches("its own host name and cgroup view", UnshareUTS, UnshareCgroup)
	if b.rc.Network == profile.NetFull {
		b.note("network: the host's (sandbox.network)")
	} else if b.rc.Network.ByName() {
		// A network with nothing in it but a loopback, which bwrap brings up.
		b.switches("no network but the proxy of the run, which decides by name (sandbox.network_mode)", UnshareNet)
	} else {
		b.switches("no network", UnshareNet)
	}
	// As root bwrap keeps every capability otherwise.
	b.switches("no capabilities, also when run by root", DropCaps()...)
	return b.nestedNamespace()
}

func (b *builder) base() error {
	if b.rc.Base == "minimal" {
		b.systemOnly()
	} else {
		b.bind("the host, read-only", "/", "/", false)
	}
	b.mount(Op{Kind: OpDev, Dest: "/dev", Reason: "a minimal /dev with its own terminals"})
	b.sharedMemory()
	return b.proc()
}

// runKeep is what programs need of /run: the running system of NixOS.
func runKeep() []string {
	return []string{"/run/current-system", "/run/booted-system", "/run/wrappers", "/run/opengl-driver"}
}

func (b *builder) emptyPlaces() error {
	// A read-only bind does not stop connect(2): sockets are hidden with the
	// folders they live in.
	b.tmpfs("an empty /tmp", 0o1777, "/tmp")
	if b.kind("/var/tmp") == host.Dir && b.canon("/var/tmp") == "/var/tmp" {
		b.tmpfs("an empty /var/tmp", 0o1777, "/var/tmp")
	}
	b.filler("no sockets and no state of running services", "/run")
	b.places()
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

func (b *builder) homeFolder() error {
	if b.rc.Home != "isolated" {
		return nil
	}
	for _, other := range b.homes() {
		if l, _ := b.view.at(other); other != b.home && l.bind() && b.kind(other) == host.Dir {
			b.tmpfs("the home of the password file is empty, too", 0o700, other)
		}
	}
	for _, home := range b.f.Homes() {
		if b.kind(home) != host.Dir {
			continue // the password file may name one that is not there
		}
		for _, at := range b.view.where(b.canon(home)) {
			if at != b.home {
				b.filler("another name of the home, which is empty (sandbox.home = \"isolated\")", at)
			}
		}
	}
	b.tmpfs("an empty home (sandbox.home = \"isolated\")", 0o700, b.home)
	if l, _ := b.view.at(b.f.Home); b.f.Home != b.home && !l.bind() {
		b.symlink("the name of the home, which is a link", b.home, b.f.Home)
	}
	expose := func(p, reason string) error {
		real := b.canon(p)
		if b.kind(p) == host.Missing || b.kind(p) == host.Denied {
			return nil
		}
		if paths.Below(real, b.home) {
			return fault.Refuse(125, "name the folders below it instead", "profile %q: home_allow %q covers the whole home", b.rc.Name, p)
		}
		if err := b.notSecret(real, "home_allow "+quote(p)); err != nil {
			return err
		}
		// The entry may be a link: show it under the name programs use, too.
		if _, hostPath := b.view.at(real); hostPath != real {
			b.bind(reason, real, real, false)
		}
		// In a folder that is shown already the link itself is there, and leads to what
		// was bound above; bwrap cannot mount on a link with an absolute target.
		dest := b.linkFree(p)
		if _, hostPath := b.view.at(dest); dest != real && hostPath != dest {
			b.bind(reason, real, dest, false)
		}
		return nil
	}
	for _, p := range b.rc.HomeAllow {
		if err := expose(p, "readable in the home (home_allow)"); err != nil {
			return err
		}
	}
	for _, p := range b.programFolders() {
		if err := expose(p, "the program itself"); err != nil {
			return err
		}
	}
	return nil
}

// linkFree returns p with the links of its parent resolved, not its own.
func (b *builder) linkFree(p string) string {
	return filepath.Join(b.canon(filepath.Dir(p)), filepath.Base(p))
}

// notSecret refuses to show something that the table hides, or a part of it,
// unless the profile allows the key.
func (b *builder) notSecret(real, what string) error {
	for _, r := range b.table() {
		if b.allowed[r.Key] || r.Part {
			continue
		}
		for _, p := range r.At {
			if b.kind(p) == host.Missing {
				continue
			}
			if b.holdsHome(p) {
				return b.covers(r.Resource, p)
			}
			if b.liesIn(b.canon(p), real) {
				return fault.Refuse(125, fmt.Sprintf("allow = [%q] under [sandbox] grants it on purpose", r.Key),
					"profile %q: %s is hidden as %s (%s)", b.rc.Name, what, r.Key, r.What)
			}
		}
	}
	for _, own := range append(b.f.InnerHomes(), b.f.StageBase) {
		if own != "" && b.liesIn(b.canon(own), real) {
			return fault.Refuse(125, "", "profile %q: %s lies in inner's own folder", b.rc.Name, what)
		}
	}
	return nil
}

// liesIn reports whether real, under any of its names, is dir or lies below it.
func (b *builder) liesIn(dir, real string) bool {
	return slices.ContainsFunc(b.view.names(real), func(name string) bool {
		return paths.Below(dir, name)
	})
}

func (b *builder) mounts() error {
	type mount struct {
		profile.Mount
		real, dest, reason string
	}
	var ms []mount
	if b.rc.WorkdirMode != profile.None {
		ms = append(ms, mount{
			Mount: profile.Mount{Source: b.rc.Workdir, Dest: b.rc.Workdir, Mode: b.rc.WorkdirMode}, reason: "the working folder",
		})
	}
	for _, m := range b.rc.Mounts {
		ms = append(ms, mount{Mount: m, reason: fmt.Sprintf("mounts.%q (%s:%d)", m.Source, filepath.Base(m.File), m.Line)})
	}
	for i := range ms {
		ms[i].real = b.canon(ms[i].Source)
		ms[i].dest = b.canon(ms[i].Dest)
	}
	// The later of two mounts for one place wins; parents go before children,
	// else file order.
	slices.Reverse(ms)
	taken := map[string]bool{}
	ms = slices.DeleteFunc(ms, func(m mount) bool {
		dup := taken[m.dest]
		taken[m.dest] = true
		return dup
	})
	slices.Reverse(ms)
	slices.SortStableFunc(ms, func(x, y mount) int {
		return strings.Count(x.dest, "/") - strings.Count(y.dest, "/")
	})
	for i, m := range ms {
		// What inner puts into /run later would be made in the source.
		if paths.Below(m.dest, paths.BoxDir) {
			return fault.Refuse(125, "", "profile %q: %s: dest %q covers what inner puts into the box", b.rc.Name, m.reason, m.dest)
		}
		b.ownState(m.dest)
		if m.Mode == profile.Tmpfs {
			if err := b.mountPoint(m.dest, m.reason); err != nil {
				return err
			}
			b.tmpfs(m.reason, 0o755, m.dest)
			continue
		}
		if err := b.notSecret(m.real, m.reason); err != nil {
			return err
		}
		if err := b.notPlanted(m.Mount, m.real, m.reason); err != nil {
			return err
		}
		if !m.Workspace || !b.workspaceMade(m.dest) {
			if err := b.mountPoint(m.dest, m.reason); err != nil {
				return err
			}
		}
		shown := layer{source: m.real, dest: m.dest, write: m.Mode == profile.RW}
		if m.Mode == profile.SafeRW {
			var err error
			if shown, err = b.copied(m.Mount, m.real, m.dest, m.reason); err != nil {
				return err
			}
			m.reason += ", a copy"
		}
		b.bindLayer(m.reason, shown)
		b.placesIn(shown)
		if id := b.f.Paths[m.Source].ID; id.Ino != 0 && m.Mode != profile.SafeRW {
			b.plan.Shown = append(b.plan.Shown, Shown{Path: m.dest, Source: m.real, Dev: id.Dev, Ino: id.Ino})
		}
		if shown.write {
			var later []string
			for _, l := range ms[i+1:] {
				later = append(later, l.dest)
			}
			b.pinBelow(shown, later)
			b.originals(shown)
		}
	}
	return nil
}

// notPlanted refuses a mount whose source the box could have chosen, or that
// would give it what the protection keeps from it.
func (b *builder) notPlanted(m profile.Mount, real, reason string) error {
	roots := append(slices.Clone(b.rc.Mounts), profile.Mount{Source: b.rc.Workdir, Mode: b.rc.WorkdirMode})
	for _, root := range roots {
		if root.Mode != profile.RW {
			continue
		}
		for _, base := range []string{root.Source, b.canon(root.Source)} {
			if rest, ok := paths.Rest(base, m.Source); ok && rest != "" && real != filepath.Join(b.canon(root.Source), rest) {
				return fault.Refuse(125, "name the real path, if that is what you want: "+real,
					"profile %q: %s: the source leads through a link in a folder that the box can write", b.rc.Name, reason)
			}
		}
	}
	if paths.Below("/proc", real) {
		return fault.Refuse(125, "", "profile %q: %s: the host's /proc is not shown", b.rc.Name, reason)
	}
	for part := range strings.SplitSeq(real, "/") {
		switch {
		case m.Mode != profile.RW:
		case part == ".inner":
			return fault.Refuse(125, "mount it read-only", "profile %q: %s: profiles cannot be changed from inside", b.rc.Name, reason)
		case part == ".git" && b.rc.GitDir != "rw":
			top, _, _ := strings.Cut(real+"/", "/.git/") // with git_dir = "own", too: the box gets its own there
			return fault.Refuse(125, fmt.Sprintf("mount %q, where git works and its hooks and settings stay as they are, or set git_dir = \"rw\" under [sandbox]", top),
				"profile %q: %s: a repository's own files are protected", b.rc.Name, reason)
		}
	}
	return nil
}

// mountPoint makes sure that bwrap need not create dest anywhere but on a
// tmpfs of the box. bwrap before 0.12 follows planted links when it creates
// mount points (CVE-2026-87766).
func (b *builder) mountPoint(dest, reason string) error {
	l, hostPath := b.view.at(dest)
	if !l.bind() {
		return nil
	}
	if l.original != "" {
		hostPath = l.hostPlace(dest)
	}
	info, known := b.f.Paths[hostPath]
	switch {
	case known && info.Kind != host.Missing && info.Real == hostPath:
		return nil
	case known && info.Kind != host.Missing:
		return fault.Refuse(125, "use "+quote(info.Real), "profile %q: %s: dest %q goes through a link", b.rc.Name, reason, dest)
	case l.write:
		return fault.Refuse(125, "create it first", "profile %q: %s: dest %q does not exist, and nothing is created in a writable folder", b.rc.Name, reason, dest)
	default:
		return fault.Refuse(125, "create it first", "profile %q: %s: dest %q does not exist on the host", b.rc.Name, reason, dest)
	}
}

func (b *builder) staged() error {
	for _, bind := range b.s.Binds {
		dest := bind.Box
		if !paths.Below(paths.BoxDir, dest) {
			dest = b.stagedPlace(dest)
			if err := b.mountPoint(dest, bind.Reason); err != nil {
				return err
			}
		}
		if bind.Room > 0 {
			b.fill(bind, dest)
			continue
		}
		b.bind(bind.Reason, bind.Host, dest, false) // nothing that is staged is written to on the host
	}
	if b.s.Noop != "" {
		b.bind("blocked and rewritten commands", b.s.Noop, paths.BoxNoop, false)
	}
	if b.s.GitConfig != nil {
		b.dataFile("your git settings, cleaned ([git])", b.s.GitConfig, paths.BoxGitConfig)
	}
	b.self()
	data := fmt.Sprintf("profile=%s\nrun=%s\n", b.rc.Name, b.s.RunID)
	b.dataFile("the marker of a box", []byte(data), paths.BoxMarker)
	return nil
}

// stagedPlace is where a staged thing goes: where the path leads on the host, but
// in an empty home by its own name, since the links on the way are not there.
func (b *builder) stagedPlace(p string) string {
	if rest, ok := paths.Rest(b.f.Home, p); ok && b.rc.Home == "isolated" {
		at := filepath.Join(b.home, rest)
		if l, _ := b.view.at(at); !l.bind() {
			return at
		}
	}
	return b.canon(p)
}

func (b *builder) dataFile(reason string, data []byte, dest string) {
	b.mount(Op{Kind: OpData, Perms: 0o444, Data: b.data(data), Dest: dest, Reason: reason})
}

func (b *builder) sealed(reason, dest string) {
	b.op(Op{Kind: OpSeal, Dest: dest, Reason: reason})
}

// seal makes /run read-only after the last mount point was made in it.
func (b *builder) seal() error {
	b.sealed("nothing is added to /run", "/run")
	b.sealDev()
	b.sealRoot()
	return nil
}

// program checks that what is to run can be seen.
func (b *builder) program() error {
	p := b.s.Program
	for _, at := range []string{b.linkFree(p), b.canon(p)} {
		l, hostPath := b.view.at(at)
		if !l.bind() || hostPath == "" {
			return fault.Refuse(127, fmt.Sprintf("home_allow = [%q] under [sandbox] shows it", filepath.Dir(at)),
				"profile %q: the program %q cannot be seen in the box", b.rc.Name, at)
		}
	}
	b.plan.Program = p
	b.plan.Argv = b.s.Argv
	return nil
}

// programFolders are what the program needs of an isolated home: the folder it
// is found in, and the package it belongs to.
func (b *builder) programFolders() []string {
	var out []string
	add := func(p string) {
		if paths.Below(b.home, p) && p != b.home && b.rc.Home == "isolated" && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	for _, p := range b.packageFolders(b.s.Program) {
		add(p)
	}
	return out
}

// packageOf is the node_modules folder a program lies in, or the program.
func packageOf(real string) string {
	if i := strings.Index(real, "/node_modules/"); i >= 0 {
		return real[:i] + "/node_modules"
	}
	return real
}

func quote(s string) string { return fmt.Sprintf("%q", s) }
