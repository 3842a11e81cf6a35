package plan

import (
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

// zoneCovered reports whether a zone of the working folder is, or lies in, what is hidden
// or protected: that wins.
func (b *builder) zoneCovered(real string) bool {
	if rest, ok := paths.Rest(b.canon(b.rc.Workdir), real); ok && ObeyedName(b.rc, rest, b.kind(real) == host.Dir) {
		return true
	}
	in := func(p string) bool { return b.kind(p) != host.Missing && paths.Below(b.canon(p), real) }
	return slices.ContainsFunc(b.f.InnerHomes(), in) || slices.ContainsFunc(b.held(),
		func(h held) bool { return in(h.path) }) ||
		slices.ContainsFunc(b.hidden(), func(h hid) bool { return in(h.path) })
}

// Fitting is a run without the zones of the working folder that are hidden or protected.
func Fitting(rc profile.RunConfig, f host.Facts) profile.RunConfig {
	if !slices.ContainsFunc(rc.Mounts, func(m profile.Mount) bool { return m.Zone }) {
		return rc
	}
	b := newBuilder(rc, f, Staged{})
	var mounts []profile.Mount
	dropped := slices.Clone(rc.Dropped)
	for _, m := range rc.Mounts {
		if m.Zone && b.zoneCovered(b.canon(m.Source)) {
			dropped = append(dropped, fmt.Sprintf("%s (%s:%d): %q is hidden or protected, and stays so", m.Key, filepath.Base(m.File), m.Line, strings.TrimPrefix(m.Written, "${workdir}/")))
			continue
		}
		mounts = append(mounts, m)
	}
	rc.Mounts, rc.Dropped = mounts, dropped
	return rc
}

// ObeyedName reports whether tools outside obey what has this path in the working folder,
// and the profile does not allow that.
func ObeyedName(rc profile.RunConfig, rest string, folder bool) bool {
	kind := sensitive.File
	if folder {
		kind = sensitive.Folder
	}
	hit, ok := sensitive.Below(rc.Workdir, rest, kind, func(string) bool { return true })
	return ok && !hit.Row.Told && hit.Row.Where != sensitive.Home && !slices.Contains(rc.Allow, configKey)
}

// keepFolder shows the working folder of a run that leaves nothing behind but what
// [sandbox] keep names. New entries go into a folder of the run; each entry that is there
// is bound over it, read-only, and so cannot be removed or renamed either. Of the files
// that are kept there are copies, which programs can replace by renaming.
func (b *builder) keepFolder(m mount) error {
	if b.s.Kept == "" {
		return fault.Refuse(125, "",
			"profile %q: %s: nothing was made for workdir_mode = \"keep\"", b.rc.Name, m.reason)
	}
	b.op(Op{Kind: OpBind, Source: b.s.Kept, original: m.real, Dest: m.dest, Reason: m.reason + ", kept as it is but for sandbox.keep"})
	for _, c := range b.f.Entries {
		if c.Kind != host.Dir && c.Kind != host.File || slices.Contains(b.s.KeptFiles, c.Name) {
			continue
		}
		b.bind("it is there already, and stays as it is", filepath.Join(m.real, c.Name),
			filepath.Join(m.dest, c.Name), false)
	}
	return nil
}
