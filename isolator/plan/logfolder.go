package plan

import (
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
	by := "log of config.toml"
	if b.rc.Output.LogAll {
		by = "output.log"
	}
	refuse := func(why, p string) error {
		return fault.Refuse(125, "name another folder, such as \"~/.inner/logs/mine\"", "profile %q: the log folder %q (%s) "+why, b.rc.Name, folder, by, p)
	}
	for _, root := range b.rc.WritableRoots() {
		if paths.Below(b.canon(root), real) {
			return refuse("lies in %q, which the box can write", root)
		}
	}
	for _, m := range append([]profile.Mount{{Source: b.rc.Workdir, Mode: b.rc.WorkdirMode}}, b.rc.Mounts...) {
		if m.Mode == profile.Tmpfs || m.Mode == profile.None || m.Source == "" {
			continue
		}
		if paths.Below(real, b.canon(m.Source)) {
			return refuse("covers %q, which is for the box", m.Source)
		}
	}
	for _, p := range append(b.f.Homes(), b.s.Program, "/usr", "/etc", "/tmp", "/run") {
		if paths.Below(real, b.canon(p)) {
			return refuse("covers %q", p)
		}
	}
	return nil
}
