package plan

import (
	"fmt"
	"slices"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// otherFolder is what to type in the place of a working folder that cannot be used.
const otherFolder = "cd to another folder, or -w FOLDER"

// workdirHidden refuses a working folder that is hidden, or lies in something
// hidden, before anything else is said of it; and one that shows a home at another place
// where that is mounted.
func (b *builder) workdirHidden() error {
	if b.rc.WorkdirMode != profile.None && b.holdsHome(b.rc.Workdir) {
		return fault.Refuse(126, otherFolder, "the working folder %q holds your whole home folder, which is mounted there, too", b.rc.Workdir)
	}
	for _, dir := range []string{b.rc.Workdir, b.rc.Cwd} {
		real := b.canon(dir)
		if b.kind(dir) == host.Missing {
			continue // a path of the box
		}
		for _, h := range b.hidden() {
			switch {
			case !paths.Below(h.real, real):
			case h.key == hideKey:
				return fault.Refuse(126, otherFolder, "profile %q: the working folder %q is hidden (sandbox.hide)", b.rc.Name, dir)
			default:
				return fault.Refuse(126, fmt.Sprintf("allow = [%q] under [sandbox] grants it on purpose", h.key),
					"profile %q: the working folder %q is hidden as %s (%s)", b.rc.Name, dir, h.key, h.what)
			}
		}
	}
	return nil
}

// started refuses a run whose program would not start where it was said to: the
// box does not show that folder, or something covers it.
func (b *builder) started() error {
	cwd := b.canon(b.rc.Cwd)
	l, _ := b.at(cwd)
	covered := !l.bound() && !l.Writable() && !l.empty && l.Dest != ""
	made := slices.ContainsFunc(b.plan.Ops, func(o Op) bool { // for what is mounted there
		return o.Mounts() && paths.Below(cwd, o.Dest)
	})
	if l.bound() || made && !covered {
		return nil
	}
	return fault.Refuse(126, otherFolder+`, or mount it; entrypoint.workdir = "~" starts at home`,
		"profile %q: the working folder %q is not shown in the box", b.rc.Name, b.rc.Cwd)
}
