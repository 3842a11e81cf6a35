package profile

// A grant is what it resolves to. Each host path that a profile names is followed
// once, when the profile is resolved, and where it led is kept in RunConfig.Real: that
// is what consent shows and records, what each start is compared with, and what the
// mounts must still be when the host has been probed.
//
// A link below a folder that a box can write is the box's choice, not the user's. A
// path that leads through one is refused, in whatever mode the folder is mounted now:
// another profile may have it writable.

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/profile/strict"
)

// named is a host path that the profile, or a flag, names.
type named struct {
	path string
	at   strict.Pos
	key  string
	soft bool // nobody wrote it down: one of @toolchains, left out when it is unavailable
}

// hostPaths are the host paths of the run. The mounts and the working folder must be known.
func (r *resolver) hostPaths() []named {
	list := r.named
	for _, m := range r.rc.Mounts {
		if m.Mode != Tmpfs {
			list = append(list, named{path: m.Source, at: m.at(), key: m.Key})
		}
	}
	if r.rc.Output.Log != "" {
		list = append(list, named{path: r.rc.Output.Log, key: "output.log"})
	}
	if r.rc.usesWorkspaces() && r.rc.WorkspacesDir != "" {
		list = append(list, named{path: r.rc.WorkspacesDir, key: "workspaces_path"})
	}
	if filepath.IsAbs(r.rc.Workdir) {
		list = append(list, named{path: r.rc.Workdir, key: "the working folder"})
	}
	return list
}

// realPaths follows every host path of the run, and refuses the ones that a box could
// have led elsewhere.
func (r *resolver) realPaths() {
	r.rc.Real, r.rc.boxFolders = map[string]string{}, r.boxFolders()
	for _, n := range r.hostPaths() {
		real, link, dir, err := r.led(n.path)
		r.rc.Real[n.path] = real
		switch {
		case err != nil:
			r.add(n.at, n.key, fmt.Sprintf("%q cannot be followed: %v", n.path, err), "")
		case dir != "" && n.soft:
			if i := slices.Index(r.rc.HomeAllow, n.path); i >= 0 {
				r.rc.HomeAllow = slices.Concat(r.rc.HomeAllow[:i], r.rc.HomeAllow[i+1:])
				r.warn(strict.Pos{}, "sandbox.home_allow", "name it yourself, by its real path", "%q of %s is left out: it leads through a link that boxes can change", n.path, Toolchains)
			}
		case dir != "":
			r.add(n.at, n.key, fmt.Sprintf("%q leads through the link %q to %q, and boxes can change what is in %q", n.path, link, real, dir),
				"name the real path if that is what you mean: "+strconv.Quote(real))
		}
	}
	if _, link, dir, err := r.led(r.rc.Entered); err != nil || link == "" || dir != "" {
		r.rc.Entered = ""
	}
}

// led returns where a path leads, and by which link: the first that lies in a folder that a box can write, and that
// folder, or the last one. Each is "" when there is none.
func (r *resolver) led(path string) (real, link, dir string, err error) {
	links, real, err := files.Follow(path)
	for _, hop := range links {
		if link, dir = hop.Path, r.c.BoxFolder(r.rc, filepath.Dir(hop.Path)); dir != "" {
			break
		}
	}
	return real, link, dir, err
}

// boxFolders are the folders of this run that a box can write, by real path: the
// project, the working folder whatever its mode is, and what is mounted writable.
func (r *resolver) boxFolders() []string {
	var list []string
	add := func(dir string) {
		if filepath.IsAbs(dir) {
			list = append(list, real(dir))
		}
	}
	for _, dir := range []string{r.c.Project, r.x.workdir, r.rc.Workdir} {
		if filepath.IsAbs(dir) && r.checkWorkdir(real(dir)) == nil { // nobody works in / or in the home
			add(dir)
		}
	}
	for _, m := range r.rc.Mounts {
		if m.Mode == RW {
			add(m.Source)
		}
	}
	if r.rc.usesWorkspaces() {
		add(r.rc.WorkspacesDir)
	}
	return list
}

// BoxFolder returns the folder, a real path itself or one above it, that a box of the run can write, or that one was
// ever given to write; "" when there is none. Whoever was given a socket can talk to it, and put no other one there.
func (c Context) BoxFolder(rc RunConfig, path string) string {
	if dir := paths.Over(rc.boxFolders, path); dir != "" {
		return dir
	}
	fi, err := os.Lstat(path)
	socket := err == nil && fi.Mode()&fs.ModeSocket != 0
	for ; c.Written != nil; path, socket = filepath.Dir(path), false {
		if !socket && c.Written(path) {
			return path
		}
		if path == "/" {
			break
		}
	}
	return ""
}

// WritableRoots are the folders of the host that the box can write, as the profile names them,
// each once.
func (rc RunConfig) WritableRoots() []string { return rc.roots(RW) }

// roots are the folders of the host that the box has in one of these modes, as the profile names
// them, each once.
func (rc RunConfig) roots(modes ...Mode) (out []string) {
	for _, m := range append([]Mount{{Source: rc.Workdir, Mode: rc.WorkdirMode}}, rc.Mounts...) {
		if slices.Contains(modes, m.Mode) && m.Source != "" && !slices.Contains(out, m.Source) {
			out = append(out, m.Source)
		}
	}
	return out
}

// WritableFolders are the real paths of the host's folders that the box of this run
// can write.
func (rc RunConfig) WritableFolders() []string { return rc.realOf(rc.roots(RW)) }

// WorkFolders are the real paths of the host's folders of which the box of this run has
// more than a view: it can write them, or what it does to a copy of them, or to their git
// directory, may come back.
func (rc RunConfig) WorkFolders() []string {
	roots := rc.roots(RW, SafeRW)
	if rc.WorkdirMode != None {
		roots = append(roots, rc.Workdir)
	}
	return rc.realOf(roots)
}

// realOf are the real paths of folders, and of that in which folders are made for the run.
func (rc RunConfig) realOf(roots []string) (out []string) {
	if rc.usesWorkspaces() {
		roots = append(roots, rc.WorkspacesDir)
	}
	for _, path := range roots {
		if real := rc.Real[path]; real != "" {
			out = append(out, real)
		}
	}
	return out
}

// usesWorkspaces reports whether folders are made in WorkspacesDir for the run.
func (rc RunConfig) usesWorkspaces() bool {
	return rc.WorkspaceWorkdir || slices.ContainsFunc(rc.Mounts, func(m Mount) bool { return m.Workspace })
}
