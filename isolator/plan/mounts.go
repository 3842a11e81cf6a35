package plan

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// mount is a mount of the profile, or that of the working folder.
type mount struct {
	profile.Mount
	real, dest, reason string
}

// orderedMounts are the mounts of the run in the order they are made: parents go before
// children, else file order. The later of two for one place wins.
func (b *builder) orderedMounts() []mount {
	var ms []mount
	if b.rc.WorkdirMode != profile.None {
		ms = append(ms, mount{
			Mount: profile.Mount{Source: b.rc.Workdir, Dest: b.rc.Workdir, Mode: b.rc.WorkdirMode, Key: "sandbox.workdir_mode"}, reason: "the working folder",
		})
	}
	for _, m := range b.rc.Mounts {
		reason := m.Key // of a flag, which is in no file
		if m.Line > 0 {
			what := fmt.Sprintf("mounts.%q", m.Source)
			if m.Zone {
				what = "a zone of the working folder"
			}
			reason = fmt.Sprintf("%s (%s:%d)", what, filepath.Base(m.File), m.Line)
		}
		ms = append(ms, mount{Mount: m, reason: reason})
	}
	for i := range ms {
		ms[i].real = b.canon(ms[i].Source)
		ms[i].dest = b.canon(ms[i].Dest)
	}
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
	return ms
}

func (b *builder) mounts() error {
	for _, m := range b.orderedMounts() {
		// What inner puts into /run later would be made in the source.
		if paths.Below(m.dest, paths.BoxDir) {
			return fault.Refuse(125, "",
				"profile %q: %s: dest %q covers what inner puts into the box", b.rc.Name, m.reason, m.dest)
		}
		b.because("")
		b.ownState(m.dest)
		b.because(m.Key)
		if m.Zone && b.zoneCovered(m.real) { // see Fitting
			return fault.Refuse(125, "", "profile %q: %s: it is hidden or protected", b.rc.Name, m.reason)
		}
		if m.Mode == profile.Tmpfs {
			b.tmpfs(m.reason, 0o755, m.dest)
			continue
		}
		if err := b.oneMount(m); err != nil {
			return err
		}
	}
	return nil
}

// oneMount shows a folder or a file of the host.
func (b *builder) oneMount(m mount) error {
	if err := b.notSecret(m.real, m.Allow, m.reason); err != nil {
		return err
	}
	for _, h := range b.hidden() {
		if h.key == hideKey && m.dest == m.real && paths.Inside(h.real, m.real) {
			return b.partShown(m.real, h)
		}
	}
	if err := b.notPlanted(m.Mount, m.real, m.reason); err != nil {
		return err
	}
	if m.Mode == profile.Keep {
		return b.keepFolder(m)
	}
	if _, at := b.at(m.dest); at != "" {
		if there := b.f.Look(at).Kind; there != host.Missing && there != host.Denied &&
			(there == host.Dir) != (b.f.Look(m.Source).Kind == host.Dir) {
			return fault.Refuse(125, "",
				"profile %q: %s: of dest %q and the source one is a folder and one is not", b.rc.Name, m.reason, m.Dest)
		}
	}
	shown := Op{Kind: bindKind(m.Mode == profile.RW), Source: m.real, Dest: m.dest, Probed: b.f.Look(m.Source).ID, alone: m.Allow}
	if m.Mode == profile.SafeRW {
		var err error
		if shown, err = b.copied(m.Mount, m.real, m.dest, m.reason); err != nil {
			return err
		}
		m.reason += ", a copy"
	}
	shown.Reason = m.reason
	b.op(shown)
	if shown.Writable() {
		b.originals(shown)
	}
	return nil
}

// notPlanted refuses a mount whose source the box could have chosen, or that
// would give it what the protection keeps from it.
func (b *builder) notPlanted(m profile.Mount, real, reason string) error {
	if b.ledByBox(m.Source, real) {
		return fault.Refuse(125, "name the real path, if that is what you want: "+real,
			"profile %q: %s: the source leads through a link in a folder that the box can write", b.rc.Name, reason)
	}
	if paths.Below("/proc", real) {
		return fault.Refuse(125, "", "profile %q: %s: the host's /proc is not shown", b.rc.Name, reason)
	}
	if m.Mode != profile.RW {
		return nil
	}
	for part := range strings.SplitSeq(real, "/") {
		switch {
		case part == ".inner":
			return fault.Refuse(125, "mount it read-only",
				"profile %q: %s: profiles cannot be changed from inside", b.rc.Name, reason)
		case part == ".git" && b.rc.GitDir != "rw":
			top, _, _ := strings.Cut(real+"/", "/.git/") // with git_dir = "checked", too: it is served there
			return fault.Refuse(125, fmt.Sprintf("mount %q, where git works and its hooks and settings stay as they are, or set git_dir = \"rw\" under [sandbox]", top),
				"profile %q: %s: a repository's own files are protected", b.rc.Name, reason)
		}
	}
	return nil
}

// ledByBox reports whether a link in a folder that the box can write leads from source to real.
func (b *builder) ledByBox(source, real string) bool {
	for _, root := range b.rc.WritableRoots() {
		for _, base := range []string{root, b.canon(root)} {
			if rest, _ := paths.Rest(base, source); rest != "" && real != filepath.Join(b.canon(root), rest) {
				return true
			}
		}
	}
	return false
}
