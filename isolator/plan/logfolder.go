package plan

import (
	"fmt"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/profile"
)

// logFolder refuses a folder for records that the box could write or read, or
// that would take away more than itself when it is hidden.
func (b *builder) logFolder() error {
	folder := b.rc.Output.Folder
	if folder == "" {
		return nil
	}
	real := b.canon(folder)
	for _, home := range b.f.InnerHomes() {
		if paths.Below(b.canon(home), real) {
			return nil // hidden and protected with it
		}
	}
	what := fmt.Sprintf("profile %q: the log folder %q (log of config.toml)", b.rc.Name, folder)
	if b.rc.Output.LogAll {
		what = fmt.Sprintf("profile %q: the log folder %q (output.log)", b.rc.Name, folder)
	}
	const hint = "name another folder, such as \"~/.inner/logs/mine\""
	for _, m := range append([]profile.Mount{{Source: b.rc.Workdir, Mode: b.rc.WorkdirMode}}, b.rc.Mounts...) {
		if m.Mode == profile.Tmpfs || m.Mode == profile.None || m.Source == "" {
			continue
		}
		source := b.canon(m.Source)
		if paths.Below(source, real) && m.Mode == profile.RW {
			return fault.Refuse(125, hint, "%s lies in %q, which the box can write", what, m.Source)
		}
		if paths.Below(real, source) {
			return fault.Refuse(125, hint, "%s covers %q, which is for the box", what, m.Source)
		}
	}
	for _, p := range append(b.f.Homes(), b.s.Program, "/usr", "/etc", "/tmp", "/run") {
		if paths.Below(real, b.canon(p)) {
			return fault.Refuse(125, hint, "%s covers %q", what, p)
		}
	}
	return nil
}
