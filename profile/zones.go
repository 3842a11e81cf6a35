package profile

// Zones are what a box can write of a working folder that it cannot write as a whole:
// [sandbox] writable, and the folders that [sandbox] keep names. Each that fits is a
// mount. What does not fit is dropped with one line, so that a profile for many projects
// works in one that lacks a folder; what the planner hides or protects stays so.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/profile/strict"
)

// inside checks a path of writable: relative, and in the folder.
func (v *validator) inside(key string, p strict.Item) {
	v.filled(key, p)
	text := strings.TrimPrefix(p.Text, "-") // a removal
	clean := filepath.Clean(text)
	switch {
	case strings.TrimSpace(text) == "":
	case filepath.IsAbs(text) || strings.HasPrefix(text, "~") || strings.Contains(text, "$"):
		v.Add(p.At, key, fmt.Sprintf("%q is not relative to the working folder", p.Text), `[mounts] takes other places`)
	case clean == "." || !filepath.IsLocal(clean):
		v.Add(p.At, key, fmt.Sprintf("%q is not in the working folder", p.Text), "")
	case slices.Contains(strings.Split(text, "/"), ".."): // which leads elsewhere after a link
		v.Add(p.At, key, fmt.Sprintf("%q goes back up", p.Text), "write "+strconv.Quote(clean))
	case key == "sandbox.keep" && strings.Contains(clean, "/"): // which has names of entries
		v.Add(p.At, key, fmt.Sprintf("%q is not the name of an entry of the working folder", p.Text), "")
	}
}

// zones adds the mounts. The working folder is known.
func (r *resolver) zones() {
	writable, keep, rc := r.s.Value("sandbox.writable"), r.s.Value("sandbox.keep"), &r.rc
	if len(writable.Items) > 0 && rc.WorkdirMode == RW {
		r.add(writable.At, "sandbox.writable", "the whole working folder is writable", `workdir_mode = "ro" goes with it`)
	}
	if len(keep.Items) > 0 && Mode(r.s.Value("sandbox.workdir_mode").V) != Keep {
		r.add(keep.At, "sandbox.keep", `is for workdir_mode = "keep" alone`, "")
	}
	rc.Zones = r.addZones(writable, "sandbox.writable", false)
	rc.Keep = r.addZones(keep, "sandbox.keep", true)
}

// addZones mounts what fits of a list, and returns its names, each once. What sandbox.keep
// names need not be there, and is a mount only if it is a folder.
func (r *resolver) addZones(l *strict.Value, key string, keep bool) (names []string) {
	rc := &r.rc
	for _, it := range l.Items {
		name := filepath.Clean(it.Text)
		if slices.Contains(names, name) {
			continue
		}
		names = append(names, name)
		kind, why := r.fits(name)
		switch {
		case kind == "" && rc.Scope == Global: // for many projects, of which some have it
		case why == "" && (!keep || kind == "a folder"):
			path := filepath.Join(rc.Workdir, name)
			rc.Mounts = append(rc.Mounts, Mount{Source: path, Dest: path, Mode: RW, File: it.At.File, Line: it.At.Line, Key: key, Written: "${workdir}/" + name, Zone: true})
		case why == "" || keep && kind == "":
		default:
			r.drop(it.At, key, name, why)
		}
	}
	return names
}

// drop says that a zone does not fit.
func (r *resolver) drop(at strict.Pos, key, name, why string) {
	r.rc.Dropped = append(r.rc.Dropped, fmt.Sprintf("%s (%s:%d): %q %s, and stays as it is", key, filepath.Base(at.File), at.Line, name, why))
	r.warn(at, key, "", "%q %s, and stays as it is", name, why)
}

// fits says what is at a path of the working folder, "" when nothing is, and why it can be
// no zone.
func (r *resolver) fits(name string) (kind, why string) {
	if r.rc.WorkdirMode == None || r.rc.Workdir == "" {
		return "a folder", "is not in the box: the working folder is not mounted"
	}
	path := filepath.Join(r.rc.Workdir, name)
	own := func(part string) bool { return strings.EqualFold(part, ".git") || strings.EqualFold(part, ".inner") }
	links, _, _ := files.Follow(path) // its error is that of Lstat
	fi, err := os.Lstat(path)
	switch {
	case slices.ContainsFunc(strings.Split(name, "/"), own):
		return "a folder", "is protected"
	case links != nil:
		return "a link", "is or leads through a link"
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return "", "does not exist"
	case err != nil:
		return "a folder", "cannot be inspected"
	}
	if m := r.mountOver(path); m != nil && !m.Zone {
		return "a folder", "lies in what " + m.Key + " mounts"
	}
	st, _ := fi.Sys().(*syscall.Stat_t)
	switch {
	case fi.IsDir():
		return "a folder", ""
	case !fi.Mode().IsRegular():
		return "something", "is neither a folder nor a file"
	case st == nil || st.Nlink > 1:
		return "a file", "has other names (hard links), which would change with it"
	}
	return "a file", ""
}

// skipped reports whether a mount is left out because its source is not there, and that is
// what the profile says then.
func (r *resolver) skipped(m Mount) bool {
	entry, _ := r.s.Value("mounts").Get(m.Written)
	if missing, _ := entry.Get("missing"); m.File == "--mount" || missing.Text != "skip" || m.Mode == Tmpfs {
		return false
	}
	kind, err := stat(m.Source)
	return err == nil && kind == ""
}

// badCreate says why a missing source cannot be made, or "".
func (r *resolver) badCreate(m *Mount) string {
	src := real(m.Source)
	switch {
	case !paths.Inside(r.c.Home, m.Source) && !paths.Inside(r.home, m.Source):
		return fmt.Sprintf("source %q does not exist, and nothing is made outside of your home folder", m.Source)
	case !paths.Inside(r.home, src) || strings.TrimPrefix(src, r.home) != strings.TrimPrefix(strings.TrimPrefix(m.Source, r.c.Home), r.home):
		return fmt.Sprintf("source %q does not exist, and a link is on the way to it", m.Source)
	}
	return r.forbiddenSource(m)
}

// created are the folders that a run makes when they are missing.
func (g *granter) created(mounts []Mount) (out []Item) {
	for _, m := range mounts {
		if m.Create {
			out = append(out, Item{Text: g.short(m.Source), ID: m.Source})
		}
	}
	return out
}
