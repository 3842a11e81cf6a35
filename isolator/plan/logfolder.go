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
		return fault.Refuse(125, "name another folder, such as \"~/.inner/logs/mine\"",
			"profile %q: the log folder %q (%s) "+why, b.rc.Name, folder, by, p)
	}
	used := append(b.f.Homes(), b.s.Program, "/usr", "/etc", "/tmp", "/run")
	if b.rc.WorkdirMode != profile.None {
		used = append(used, b.rc.Workdir)
	}
	for _, m := range b.rc.Mounts {
		if m.Mode != profile.Tmpfs {
			used = append(used, m.Source)
		}
	}
	if root := b.worksIn(real); root != "" {
		return refuse("lies in %q, which the box can write", root)
	}
	for _, p := range used {
		if p != "" && paths.Below(real, b.canon(p)) {
			return refuse("covers %q, which is for the box", p)
		}
	}
	return nil
}
