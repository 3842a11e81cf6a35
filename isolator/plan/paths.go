package plan

import (
	"path/filepath"
	"slices"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/sensitive"
	"github.com/enr/inner/profile"
)

// Asks returns the host paths, the patterns, the start-up files among the paths and the writable folders that
// Build wants to know about for this run, for host.Probe. Of f it needs who
// the user is, the folders and the environment, of which it is a first draft. The function real
// resolves links as far as a path exists; names is host.Folders.Names, or nil.
func Asks(rc profile.RunConfig, f host.Facts, program string, real func(string) string, names func(string) (map[string]bool, bool)) (asked, globs, startup, writable []string) {
	add := func(p ...string) { asked = append(asked, p...) }
	withParent := func(p string) { add(p, filepath.Dir(p)) }

	add(f.StageBase, "/var/tmp", rc.Workdir)
	for _, name := range tempVariables() {
		if p := f.Env[name]; filepath.IsAbs(p) {
			add(p)
		}
	}
	if rc.Output.Folder != "" {
		add(rc.Output.Folder)
	}
	add(f.Homes()...)
	add(f.InnerHomes()...)
	add(rc.Files...)
	add(runKeep()...)
	add(toolPlaces()...)
	if rc.Base == "minimal" {
		add(profile.SystemFolders()...)
		add(etcShown()...)
	}
	add(rc.System...)
	add(rc.Programs...)
	if namesPath(rc) {
		add(filepath.SplitList(f.Env["PATH"])...)
	}
	if rc.System != nil {
		add(cgroupMount, cgroupMount+"/cgroup.controllers")
	}
	add(packageOf(real(program)))
	if slices.Contains(rc.Allow, nestedKey) {
		add(nestedAsks(f)...)
	}
	add(procKeys)
	if f.UID == 0 {
		add("/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs")
	}
	withParent(program)
	add(shellFilesAsked(rc, f.Home)...)
	at := site(rc, f)
	at.Names = names
	hidden, patterns := tableAsks(at, rc.Allow)
	add(hidden...)
	globs = append(globs, patterns...)
	for _, p := range rc.HomeAllow {
		withParent(p)
	}
	places, files := at.Startup()
	startup = slices.Concat(places, files)
	add(startup...)
	for _, root := range []string{rc.Project, rc.Workdir} {
		if root != "" {
			add(filepath.Join(root, ".inner"))
		}
	}
	add(laterPaths(rc)...)
	add(treeFolders(rc)...)
	add(mountAsks(rc, real)...)
	return asked, globs, startup, writableFolders(rc)
}

// mountAsks are the paths of the mounts on the host and in the box.
func mountAsks(rc profile.RunConfig, real func(string) string) (asked []string) {
	for _, m := range rc.Mounts {
		asked = append(asked, m.Source, m.Dest, filepath.Join(m.Source, ".inner"))
		// A mount point seen through another mount lies elsewhere on the host.
		for _, over := range append(rc.Mounts, profile.Mount{Source: rc.Workdir, Dest: rc.Workdir}) {
			if rest, ok := paths.Rest(over.Dest, m.Dest); ok && over.Mode != profile.Tmpfs {
				asked = append(asked, filepath.Join(real(over.Source), rest))
			}
		}
	}
	return asked
}

// writableFolders are those that the box may change on the host.
func writableFolders(rc profile.RunConfig) (folders []string) {
	if rc.WorkdirMode == profile.RW {
		folders = append(folders, rc.Workdir)
	}
	for _, m := range rc.Mounts {
		if m.Mode == profile.RW {
			folders = append(folders, m.Source)
		}
	}
	return folders
}

// tableAsks are the paths and patterns of the table of sensitive resources, and of what
// is allowed the folders, too.
func tableAsks(at sensitive.Site, allow []string) (asked, globs []string) {
	for _, r := range sensitive.Resources() {
		for _, p := range at.Expand(r) {
			if p.Pattern {
				globs = append(globs, p.Path)
				continue
			}
			asked = append(asked, p.Path)
			if slices.Contains(allow, r.Key) {
				asked = append(asked, filepath.Dir(p.Path))
			}
		}
	}
	return asked, globs
}
