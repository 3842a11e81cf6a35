package profile

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
)

// WorkdirError says why the working folder of a run cannot be used. The profile
// itself may be in order.
type WorkdirError struct {
	Dir  string
	Msg  string
	Hint string // something to type, or ""
}

func (e *WorkdirError) Error() string { return e.Msg }

func (r *resolver) refuse(dir, hint, format string, args ...any) error {
	e := &WorkdirError{Dir: dir, Msg: fmt.Sprintf(format, args...), Hint: hint}
	if r.s == nil || r.c.Overrides.Workdir != "" {
		return e
	}
	if w := r.s.Value("entrypoint.workdir"); w.V != "" {
		e.Msg, e.Hint = w.At.Problem("entrypoint.workdir", e.Msg, "").Error(), "edit "+w.At.File+", or -w FOLDER"
	}
	return e
}

// baseFolder returns the folder the call is about, which ${workdir} stands for:
// -w, else the project's root for a shim or a local profile, else the current
// folder.
func (r *resolver) baseFolder(scope Scope) string {
	dir := r.c.Cwd
	switch w := r.c.Overrides.Workdir; {
	case w == "~" || strings.HasPrefix(w, "~/"):
		dir = filepath.Join(r.c.Home, w[1:])
	case filepath.IsAbs(w):
		dir = filepath.Clean(w)
	case w != "":
		dir = filepath.Join(r.c.Cwd, w)
	case r.c.Project != "" && (r.c.ForShim || scope == Local):
		dir = r.c.Project
	}
	r.x.workdir = real(dir)
	return dir
}

// workdir finds the working folder, where the program starts, and how the
// folder is mounted. The profile's mounts must be known.
func (r *resolver) workdir(base string) error {
	w := r.s.Value("entrypoint.workdir")
	if r.c.Overrides.Workdir == "" && w.V != "" {
		dir, err := r.x.path(w.V, tilde|workspaces)
		if err != nil {
			r.add(w.At, "entrypoint.workdir", err.Error(), "")
			return nil
		}
		if !strings.Contains(w.V, "${workspaces_path}") {
			r.named = append(r.named, named{path: dir, at: w.At, key: "entrypoint.workdir"})
		}
		r.rc.WorkspaceWorkdir = strings.Contains(w.V, "${workspaces_path}")
		if m := r.mountOver(dir); m != nil && (m.Dest == dir || m.Mode != Tmpfs && m.Source != m.Dest) {
			return r.insideMount(dir, m)
		}
		if slices.ContainsFunc(r.rc.Mounts, func(m Mount) bool { return m.Workspace && paths.Below(dir, m.Dest) }) {
			r.rc.Workdir, r.rc.Cwd, r.rc.WorkdirMode = dir, dir, None // on the way to a workspace: it is made for the run
			return nil
		}
		return r.hostFolder(dir, true)
	}
	return r.hostFolder(base, r.c.Overrides.Workdir != "")
}

// insideMount takes a working folder that a mount brings into the box; nothing
// else is mounted for it.
func (r *resolver) insideMount(dir string, m *Mount) error {
	r.rc.Workdir, r.rc.Cwd, r.rc.WorkdirMode = dir, dir, None
	if m.Mode == Tmpfs || m.Workspace {
		return nil
	}
	kind, err := stat(filepath.Join(m.Source, strings.TrimPrefix(dir, m.Dest)))
	switch {
	case err != nil:
		return r.refuse(dir, "", "the working folder %q cannot be inspected: %v", dir, err)
	case kind != "a folder":
		return r.refuse(dir, "", "the working folder %q does not exist in %q, which is mounted there", dir, m.Source)
	}
	return nil
}

// hostFolder takes a working folder of the host, mounted at its own path. A
// folder nobody named keeps the person where they are, below it.
func (r *resolver) hostFolder(dir string, named bool) error {
	if dir == "" {
		return r.refuse(dir, "cd to a folder that exists", "the current folder does not exist any more")
	}
	physical, err := files.Eval(dir)
	if err != nil {
		return r.refuse(dir, "cd to a folder that exists, or -w FOLDER", "the working folder %q does not exist", dir)
	}
	if kind, err := stat(physical); err != nil || kind != "a folder" {
		return r.refuse(dir, "-w FOLDER", "the working folder %q is not a folder", dir)
	}
	r.rc.Workdir, r.rc.Cwd, r.rc.Entered = physical, physical, filepath.Clean(dir)
	if cwd := real(r.c.Cwd); !named && r.c.Cwd != "" && paths.Below(physical, cwd) {
		r.rc.Cwd, r.rc.Entered = cwd, r.c.Entered
	}
	if slices.ContainsFunc(r.rc.Mounts, func(m Mount) bool { return m.Dest == filepath.Clean(dir) || real(m.Dest) == physical }) {
		r.rc.WorkdirMode = None
	}
	r.keepOriginals(physical)
	if r.rc.WorkdirMode == None {
		return r.elsewhere(physical)
	}
	if m := r.mountOver(physical); m != nil && m.Mode != Tmpfs && m.shows(physical) != physical {
		return r.refuse(dir, "", "the working folder %q lies below dest %q, where %q is mounted", physical, m.Dest, m.Source)
	}
	return r.checkWorkdir(physical)
}

// elsewhere starts the program where a mount shows the folder it is about, when the
// box does not have that at its own path.
func (r *resolver) elsewhere(physical string) error {
	cwd := r.rc.Cwd
	over := r.mountOver(cwd)
	if over != nil && (real(over.Dest) == physical || over.shows(cwd) == cwd) {
		return nil
	}
	best := "" // the source of the mount that shows it: the longest one
	for i := range r.rc.Mounts {
		m := &r.rc.Mounts[i]
		source := real(m.Source)
		if m.Mode == Tmpfs || !paths.Below(source, cwd) || len(source) < len(best) {
			continue
		}
		if at := filepath.Join(m.Dest, strings.TrimPrefix(cwd, source)); r.mountOver(at) == m {
			best, r.rc.Cwd = source, at
		}
	}
	if best == "" && over != nil {
		return r.refuse(cwd, "-w FOLDER", "the working folder %q is not shown in the box: %s is mounted over it", cwd, over.Key)
	}
	return nil // whether the box shows it at all is seen when it is built
}

// shows is the real path of what a mount shows at a box path below its dest; "" of
// a tmpfs.
func (m *Mount) shows(boxPath string) string {
	if m.Mode == Tmpfs {
		return ""
	}
	return real(filepath.Join(m.Source, strings.TrimPrefix(boxPath, m.Dest)))
}

// keepOriginals sees to it that a working folder nobody mounted by name does not
// make the source of a safe-rw mount writable: it is part of the copy, or, when
// the copy is elsewhere, read-only.
func (r *resolver) keepOriginals(dir string) {
	for _, m := range r.rc.Mounts {
		source := real(m.Source)
		switch {
		case m.Mode != SafeRW || !paths.Below(source, dir) || r.rc.WorkdirMode == None:
		case r.rc.WorkdirMode == Keep:
			r.add(m.at(), m.Key, `a copy in the working folder does not go with workdir_mode = "keep"`, "")
		case real(m.Dest) == source:
			r.rc.WorkdirMode = None
		default:
			r.rc.WorkdirMode = RO
		}
	}
}

// mountOver returns the mount that decides what is seen at a box path, or nil.
func (r *resolver) mountOver(boxPath string) *Mount {
	var over *Mount
	for i := range r.rc.Mounts {
		m := &r.rc.Mounts[i]
		if paths.Below(m.Dest, boxPath) && (over == nil || len(m.Dest) >= len(over.Dest)) {
			over = m
		}
	}
	return over
}

// CheckWorkdir says why a folder, a real path, can be nobody's working folder, or nil.
func (c Context) CheckWorkdir(dir string) error { return resolverOf(c).checkWorkdir(dir) }

// checkWorkdir refuses folders that nobody means to hand over by standing in
// them.
func (r *resolver) checkWorkdir(dir string) error {
	const hint = "cd to a project, or -w FOLDER"
	switch {
	case dir == "/":
		return r.refuse(dir, hint, "the working folder is %q: it would hand over the whole system", dir)
	case r.holdsHome(dir) || paths.Below(dir, r.c.Home):
		return r.refuse(dir, hint, "the working folder %q holds your whole home folder", dir)
	case systemFolder(dir):
		return r.refuse(dir, hint, "the working folder %q is a system folder", dir)
	case r.inInnerHome(dir):
		return r.refuse(dir, hint, "the working folder %q lies in inner's own folder", dir)
	}
	return nil
}

// holdsHome reports whether a folder, with its links resolved, is one of the
// user's homes or holds it.
func (r *resolver) holdsHome(dir string) bool {
	return r.holds(dir, r.home) || r.otherHome != "" && r.holds(dir, r.otherHome)
}

// holds reports whether a folder is a home or one of the folders that it lies in. They are
// compared as folders, too: mounted twice, each of them has a second name.
func (r *resolver) holds(dir, home string) bool {
	if paths.Below(dir, home) {
		return true
	}
	above, seen := r.above[home]
	for at := home; !seen; at = filepath.Dir(at) {
		if fi, err := os.Stat(at); err == nil {
			above = append(above, fi)
		}
		seen = at == filepath.Dir(at)
	}
	r.above[home] = above
	fi, err := os.Stat(dir)
	return err == nil && slices.ContainsFunc(above, func(of os.FileInfo) bool { return os.SameFile(fi, of) })
}

// systemFolder reports whether a folder belongs to the system: some with all
// that is in them, others only by themselves, since people keep projects below.
func systemFolder(dir string) bool {
	switch dir {
	case "/usr", "/usr/local", "/var", "/var/lib", "/var/tmp", "/opt", "/srv", "/home", "/root", "/run", "/run/user", "/tmp", "/mnt", "/media", "/nix", "/snap":
		return true
	}
	trees := []string{
		"/etc", "/bin", "/sbin", "/boot", "/dev", "/proc",
		"/sys", "/usr/bin", "/usr/sbin", "/usr/libexec", "/usr/include", "/usr/share",
		"/usr/local/bin", "/usr/local/sbin",
	}
	if slices.ContainsFunc(trees, func(tree string) bool { return paths.Below(tree, dir) }) {
		return true
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(dir, "/usr"), "/"), "/")
	return slices.Contains([]string{"lib", "lib32", "lib64", "libx32"}, first)
}
