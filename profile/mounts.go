package profile

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/profile/strict"
)

// mounts expands [mounts] and the flags, in file order. That one above another is made first, the plan sees to.
func (r *resolver) mounts() {
	var list []Mount
	for _, e := range r.s.Value("mounts").Items {
		if e.Key == System {
			continue // see sandbox
		}
		if m, ok := r.mount(e); ok {
			list = append(list, m)
		}
	}
	for _, m := range r.c.Overrides.Mounts {
		if m, ok := r.flagMount(m); ok {
			// The person's word replaces what the profile puts there.
			list = slices.DeleteFunc(list, func(old Mount) bool { return old.Dest == m.Dest })
			list = append(list, m)
		}
	}
	for i, m := range slices.Backward(list) {
		for _, other := range list[:i] {
			if other.Dest == m.Dest && other.File == m.File {
				r.add(strict.Pos{File: m.File, Line: m.Line}, m.Key, fmt.Sprintf("dest %q is taken by %s (line %d)", other.Dest, other.Key, other.Line), "")
			}
		}
	}
	for _, m := range list {
		// A child's mount replaces what a base puts at the same place.
		r.rc.Mounts = slices.DeleteFunc(r.rc.Mounts, func(old Mount) bool { return old.Dest == m.Dest })
		r.rc.Mounts = append(r.rc.Mounts, m)
	}
}

func (r *resolver) mount(e strict.Item) (Mount, bool) {
	missing, _ := e.Get("missing")
	allow, _ := e.Get("allow")
	m := Mount{Mode: Mode(cmp.Or(e.Text, string(RO))), Create: missing.Text == "create", Allow: allow.Text, File: e.At.File, Line: e.At.Line, Key: strict.Join("mounts", e.Key), Written: e.Key}
	dest, at := e.Key, e.At
	what := tilde | vars | workdir
	d, moved := e.Get("dest")
	if moved {
		dest, at, what = d.Text, d.At, tilde|vars|workspaces
		m.Workspace = strings.Contains(d.Text, "${workspaces_path}")
	}
	var err error
	if m.Mode != Tmpfs || !moved { // a tmpfs has no source: the key only names it
		if m.Source, err = r.x.path(e.Key, tilde|vars|workdir); err != nil {
			hint := ""
			switch {
			case strings.HasPrefix(e.Key, "@"):
				hint = strconv.Quote(System) + " is the only group of mounts, " + strconv.Quote(Toolchains) + " one of home_allow"
			case !strings.HasPrefix(e.Key, "~") && !strings.Contains(e.Key, "$"):
				hint = "write " + strconv.Quote("${workdir}/"+strings.TrimPrefix(e.Key, "./")) + " for a path in the project"
			}
			r.add(e.At, m.Key, err.Error(), hint)
			return m, false
		}
	}
	if m.Dest, err = r.x.path(dest, what); err != nil {
		r.add(at, m.Key, err.Error(), "")
		return m, false
	}
	if m.Mode == Tmpfs {
		m.Source = m.Dest
	}
	return m, true
}

func (r *resolver) flagMount(m Mount) (Mount, bool) {
	m.Written = strings.TrimSuffix(m.Source+":"+m.Dest, ":")
	m.Key = "--mount " + strconv.Quote(m.Written)
	for _, p := range []*string{&m.Source, &m.Dest} {
		switch {
		case *p == "":
			*p = m.Source
		case *p == "~" || strings.HasPrefix(*p, "~/"):
			*p = filepath.Join(r.c.Home, (*p)[1:])
		case p == &m.Source && !filepath.IsAbs(*p):
			*p = filepath.Join(r.c.Cwd, *p)
		}
		if !filepath.IsAbs(*p) {
			r.add(strict.Pos{}, m.Key, fmt.Sprintf("%q is not an absolute path", *p), "")
			return m, false
		}
		*p = filepath.Clean(*p)
	}
	return m, true
}

// at is where a mount was written; nowhere for a flag's.
func (m Mount) at() strict.Pos {
	if m.File == "--mount" {
		return strict.Pos{}
	}
	return strict.Pos{File: m.File, Line: m.Line}
}

// checkMounts looks at the disk: sources and mount points exist and fit, and
// nothing is mounted that would undo what inner promises.
func (r *resolver) checkMounts() {
	r.rc.Mounts = slices.DeleteFunc(r.rc.Mounts, r.skipped)
	for i := range r.rc.Mounts {
		m := &r.rc.Mounts[i]
		if msg, hint := r.badMount(m); msg != "" {
			r.add(m.at(), m.Key, msg, hint)
		}
	}
}

// badMount says what is wrong with a mount, and what to write instead.
func (r *resolver) badMount(m *Mount) (msg, hint string) {
	dest, kind := real(m.Dest), "a folder"
	for _, own := range []string{"/dev", "/proc", "/sys"} {
		if paths.Below(own, m.Dest) || paths.Below(own, dest) {
			if m.Mode != Tmpfs && paths.Below("/dev", m.Source) {
				hint = deviceHint(m.Source)
			}
			return fmt.Sprintf("dest %q: %s is the box's own, nothing is mounted in it", m.Dest, own), hint
		}
	}
	switch {
	case m.Dest == "/" || dest == "/":
		return "a mount over / would replace the box", ""
	case isInners(m.Dest) || isInners(dest):
		return fmt.Sprintf("dest %q is inner's own", m.Dest), ""
	case r.rc.HidesHome() && (paths.Below(m.Dest, r.c.Home) || r.holds(dest, r.home)):
		return fmt.Sprintf("dest %q covers the home folder, and home is %s", m.Dest, r.rc.Home), ""
	case r.inInnerHome(dest):
		return fmt.Sprintf("dest %q lies in inner's own folder", m.Dest), ""
	case r.inner != "" && paths.Below(dest, r.inner) && m.Mode != Tmpfs && real(m.Source) != dest:
		return fmt.Sprintf("dest %q covers inner's own folder", m.Dest), ""
	}
	if m.Mode != Tmpfs {
		if kind, msg, hint = r.badSource(m); msg != "" || kind == "" { // what is missing is made
			return msg, hint
		}
	}
	if m.Workspace {
		return "", ""
	}
	return r.badPlace(m, kind)
}

// badSource looks at the source: what kind of file it is, and what is wrong with it.
func (r *resolver) badSource(m *Mount) (kind, msg, hint string) {
	kind, err := stat(m.Source)
	src := real(m.Source)
	switch {
	case err != nil:
		return kind, fmt.Sprintf("mount source %q cannot be inspected: %v", m.Source, err), ""
	case kind == "" && m.Create:
		return kind, r.badCreate(m), "name a folder below your home folder, or make it yourself"
	case kind == "":
		if home, err := stat(r.c.Home); err == nil && home == "" && paths.Below(r.c.Home, m.Source) {
			hint = fmt.Sprintf("HOME is %q, which does not exist", r.c.Home)
		} else if m.File != "--mount" && !m.Zone {
			hint = `missing = "skip" in this mount goes on without it`
		}
		return kind, fmt.Sprintf("mount source %q does not exist on host", m.Source), hint
	case isDevice(src) || paths.Below("/dev", src) && !paths.Below("/dev/shm", src) || src == "/dev/shm":
		return kind, fmt.Sprintf("source %q: devices do not work in a mount", m.Source), deviceHint(src)
	}
	return kind, r.forbiddenSource(m), ""
}

// badPlace says why a source of this kind cannot be mounted at its dest, where that is a place of the host's. Elsewhere
// (in memory, in another mount) the plan knows what is there.
func (r *resolver) badPlace(m *Mount, kind string) (msg, hint string) {
	within := func(dir string) bool { return dir != m.Dest && paths.Below(dir, m.Dest) }
	memory := []string{"/tmp", "/var/tmp", "/run"}
	if r.rc.HidesHome() {
		memory = append(memory, r.c.Home)
	}
	host := r.rc.Base != "minimal" || slices.ContainsFunc(slices.Concat(SystemFolders(), r.rc.System, []string{r.c.Home}), within)
	if !host || slices.ContainsFunc(memory, within) || slices.ContainsFunc(r.rc.Mounts, func(o Mount) bool { return within(o.Dest) }) {
		return "", ""
	}
	switch there, err := stat(m.Dest); {
	case err != nil:
		return fmt.Sprintf("mount dest %q cannot be inspected: %v", m.Dest, err), ""
	case there == "":
		// The manual's sentence, word for word: people look for it.
		return fmt.Sprintf("profile [error] mount dest %q does not exist on host (expanded: %q)", r.writtenDest(m), m.Dest), r.missingDest(m)
	case there != kind:
		return fmt.Sprintf("mount dest %q is %s on the host, the source is %s", m.Dest, there, kind), ""
	}
	return "", ""
}

// isDevice reports whether a path is a device node, wherever it lies.
func isDevice(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.Mode()&fs.ModeDevice != 0
}

// writtenDest is the dest as the profile has it, for messages.
func (r *resolver) writtenDest(m *Mount) string {
	entry, _ := r.s.Value("mounts").Get(m.Written)
	if dest, ok := entry.Get("dest"); ok {
		return dest.Text
	}
	if m.File == "--mount" {
		return m.Dest
	}
	return m.Written
}

// missingDest is what to write for a dest that does not exist: a place on a tmpfs of the
// box or a workspace, both of which are made for the run.
func (r *resolver) missingDest(m *Mount) string {
	switch {
	case m.File == "--mount":
		return "mkdir -p " + quote.POSIX(m.Dest)
	case r.rc.WorkspacesDir == "":
		return `dest = "/tmp/` + filepath.Base(m.Dest) + `" needs no folder on the host`
	}
	return `dest = "${workspaces_path}/` + filepath.Base(m.Dest) + `" is made for the run`
}

// isInners reports whether a box path is where inner puts something of its own.
func isInners(p string) bool {
	return paths.Below(paths.BoxDir, p) || p == paths.BoxMarker || p == "/run"
}

// inInnerHome reports whether a real path lies in INNER_HOME, workspaces excepted.
func (r *resolver) inInnerHome(p string) bool {
	return r.inner != "" && paths.Below(r.inner, p) && !paths.Below(filepath.Join(r.inner, "workspaces"), p)
}

func (r *resolver) forbiddenSource(m *Mount) string {
	src := real(m.Source)
	switch {
	case src == "/" && m.Mode != RO:
		return fmt.Sprintf("mode %q of / would hand over the whole system", m.Mode)
	case r.inInnerHome(src):
		return fmt.Sprintf("source %q lies in inner's own folder", m.Source)
	case (r.holdsHome(src) || r.inner != "" && paths.Below(src, r.inner)) && src != real(m.Dest):
		return fmt.Sprintf("source %q holds your home folder, which can only be mounted at its own path", m.Source)
	}
	return ""
}
