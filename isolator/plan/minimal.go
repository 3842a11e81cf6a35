package plan

import (
	"path/filepath"
	"slices"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// base = "minimal" turns the base around: nothing of the host is there but what
// programs need to run, what was installed for one user (profile.Toolchains) and what
// the profile mounts. What is sensitive in that is hidden as always.

// systemOnly shows the folders of programs, read-only, in the empty root that bwrap
// begins with.
func (b *builder) systemOnly() {
	b.root = Op{Kind: OpTmpfs, Perms: 0o755, Dest: "/", empty: true}
	for _, p := range profile.SystemFolders() {
		switch real := b.canon(p); {
		case b.kind(p) != host.Dir:
		case p == "/etc" && b.rc.Etc == "minimal":
			b.minimalEtc()
		case real != p: // merged into /usr, or elsewhere as on OSTree
			b.symlink("programs and their settings", real, p)
			b.showAt("programs and their settings", real, real)
		default:
			b.showAt("programs and their settings", p, p)
		}
	}
	defer b.because(b.key)()
	b.because(systemKey)
	for _, p := range b.rc.System {
		if b.kind(p) == host.Dir {
			b.showAt("what programs need of the system (@system)", b.canon(p), b.canon(p))
		}
	}
	if b.rc.System != nil && b.kind(cgroupMount) == host.Dir &&
		b.kind(cgroupMount+"/cgroup.controllers") == host.Missing {
		// Of control groups of version 1 a box would see paths out of its own (/../..), which the JDK
		// takes for a fault.
		b.tmpfs("no control groups of version 1", 0o755, cgroupMount)
	}
}

// systemKey is the key of profile.System.
const systemKey = "mounts.\"@system\""

// programsOnPath shows what the caller's PATH has of programs.
func (b *builder) programsOnPath() error {
	if b.rc.System == nil || b.f.Engine != nil {
		return nil
	}
	b.because(systemKey)
	for _, p := range b.rc.Programs {
		if _, at := b.at(p); at == p || b.canon(p) != p || !b.kind(p).FileOrDir() || b.notSecret(p, "", "") != nil {
			continue
		}
		b.op(Op{Kind: OpReadOnly, Source: p, Dest: p, Probed: b.f.Look(p).ID, Reason: "programs of your PATH (@system)"})
	}
	return nil
}

// namesPath reports whether a run is to have the programs of the caller's PATH, or be told which it has not.
func namesPath(rc profile.RunConfig) bool {
	passes, _ := inherits(rc.Env.Inherit, "PATH")
	return passes && (rc.System != nil || rc.Home == "own")
}

// pathNames are the real paths of folders of PATH whose name the box does not have.
func (b *builder) pathNames() error {
	if b.f.Engine != nil || !namesPath(b.rc) {
		return nil
	}
	// Where programs of PATH look for the rest of themselves, and all for what the terminal can do.
	for _, name := range []string{"DOTNET_ROOT", "GEM_HOME", "COMPOSER_HOME", "TERMINFO", "TERMINFO_DIRS"} {
		value := b.f.Env[name]
		missing := func(dir string) bool { _, at := b.at(dir); return dir != "" && at != dir }
		if value != "" && !b.profileSets(name) && !b.rc.Env.Kept(name) &&
			!slices.ContainsFunc(filepath.SplitList(value), missing) {
			if name == "GEM_HOME" && Installs(b.rc, b.f) { // that is where the box installs
				name, value = "GEM_PATH", value+":"
			}
			b.setenv(name, value)
		}
	}
	b.s.Path = map[string]string{}
	for _, dir := range filepath.SplitList(b.f.Env["PATH"]) {
		real := b.canon(dir)
		named := !slices.ContainsFunc(b.f.Look(dir).Hops, func(h host.Hop) bool {
			_, at := b.at(h.Path)
			return at != h.Path && !paths.Below(h.Path, b.home) && !slices.Contains(profile.SystemFolders(), h.Path)
		})
		switch _, at := b.at(real); {
		case b.kind(dir) != host.Dir || slices.ContainsFunc(b.f.InnerHomes(), func(own string) bool { return paths.Below(own, dir) }):
		case at != real:
			b.plan.Unseen = append(b.plan.Unseen, dir)
		case !named:
			b.s.Path[dir] = real
		}
	}
	return nil
}

// etcShown is what a minimal /etc has of the host's: how names are resolved, which
// certificates are trusted, what alternatives and the loader choose, and the time zone.
func etcShown() []string {
	return []string{
		"/etc/resolv.conf", "/etc/ssl/certs", "/etc/ca-certificates",
		"/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted",
		"/etc/alternatives", "/etc/ld.so.cache", "/etc/localtime",
	}
}

// minimalEtc makes an /etc that has that. This user is put into passwd and group by system.
func (b *builder) minimalEtc() {
	defer b.because(b.key)()
	b.because("sandbox.etc")
	b.tmpfsMask("an /etc with little in it (sandbox.etc = \"minimal\")", "/etc")
	for _, p := range etcShown() {
		if p == "/etc/resolv.conf" && b.rc.Network.ByName() {
			continue // it has its own
		}
		if k := b.kind(p); k == host.File || k == host.Dir {
			b.bind("programs need it", b.canon(p), p, false)
		}
	}
}
