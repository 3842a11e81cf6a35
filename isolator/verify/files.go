package verify

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/proc"
)

// probeName is the name of the file that a write attempt makes for a moment.
const probeName = ".inner-verify"

func mountinfo() []proc.Mount {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	return proc.Mounts(data)
}

// covering returns the mount that decides what is at p: the last one made at the longest
// path.
func (i *inside) covering(p string) (proc.Mount, bool) {
	best, found := proc.Mount{}, false
	for _, m := range i.mounts {
		if paths.Below(m.At, p) && len(m.At) >= len(best.At) {
			best, found = m, true
		}
	}
	return best, found
}

func (i *inside) ofHost(m proc.Mount) bool { return slices.Contains(i.Host.Devices, m.Device) }

// hasOwn reports whether a file system of the box's own is mounted at p.
func (i *inside) hasOwn(p string) bool {
	m, ok := i.covering(p)
	return ok && m.At == p && !i.ofHost(m)
}

// canWrite tries whether p can be changed, without changing it: a file is opened for writing, in a folder a file is
// made and removed again. Sockets and devices are for others.
func canWrite(p string) bool {
	how, name := unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, p
	fi, err := os.Stat(p)
	switch {
	case err != nil || !fi.IsDir() && !fi.Mode().IsRegular():
		return false
	case fi.IsDir():
		how, name = how|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, filepath.Join(p,
			fmt.Sprintf("%s-%d", probeName, os.Getpid()))
	}
	fd, err := unix.Open(name, how, 0o600)
	if err != nil {
		return false
	}
	unix.Close(fd)
	if fi.IsDir() {
		_ = unix.Unlink(name)
	}
	return true
}

// writesDeclared checks for all mounts that what can be written is the box's own or
// was declared. Below a declared place, only its own content may be writable.
func (i *inside) writesDeclared(places []Place, run string) (Result, string) {
	if len(i.mounts) == 0 {
		return Unknown, "/proc/self/mountinfo cannot be read"
	}
	var bad []string
	n := 0
	for k, m := range i.mounts {
		if !m.Write || !i.ofHost(m) || harmlessDevice(m.At) {
			continue
		}
		if slices.ContainsFunc(places, func(p Place) bool { return p.Path == m.At || paths.Below(p.Path, m.At) && i.partOf(p.Path, m, run) }) {
			n++
			continue
		}
		if slices.ContainsFunc(i.mounts[k+1:], func(later proc.Mount) bool { return paths.Below(later.At, m.At) }) {
			continue // another mount lies over it
		}
		bad = append(bad, m.At)
	}
	if len(bad) > 0 {
		return Fail, "writable without being declared: " + strings.Join(bad, ", ")
	}
	return Pass, fmt.Sprintf("%d mounts, %d of the host's writable and declared", len(i.mounts), n)
}

// partOf reports whether a mount below a declared place shows what lies there
// on the host: the same folder of the same file system, or one that the host
// mounts there. What is staged for the run never belongs there.
func (i *inside) partOf(place string, m proc.Mount, run string) bool {
	if strings.Contains(m.Root, "/"+run+"/") {
		return false
	}
	for _, top := range i.mounts {
		if top.At != place {
			continue
		}
		rest, err := filepath.Rel(place, m.At)
		if top.Device != m.Device || err == nil && m.Root == filepath.Join(top.Root, rest) {
			return true
		}
	}
	return false
}

func harmlessDevice(p string) bool {
	return slices.Contains([]string{
		"/dev/null", "/dev/zero", "/dev/full", "/dev/random",
		"/dev/urandom", "/dev/tty", "/dev/console",
	}, p)
}

// devices looks at everything in /dev: what is a device there is harmless or declared, or lies
// in a declared folder.
func (i *inside) devices(declared []string) (Result, string) {
	for _, at := range []string{"/dev", "/dev/pts"} {
		if !i.hasOwn(at) {
			return Fail, at + " is the host's"
		}
	}
	var bad []string
	n := 0
	err := filepath.WalkDir("/dev", func(p string, _ fs.DirEntry, err error) error {
		if p == "/dev/pts" || p == "/dev/shm" || p == "/dev/mqueue" {
			return fs.SkipDir
		}
		fi, gone := os.Lstat(p) // a mount point is listed as what lies under it
		if err != nil || gone != nil {
			return nil // what cannot be entered is not there
		}
		harmless := fi.Mode()&(fs.ModeSocket|fs.ModeNamedPipe) == 0
		if fi.Mode()&fs.ModeDevice != 0 {
			n++
			harmless = harmlessDevice(p) || slices.ContainsFunc(declared, func(at string) bool { return paths.Below(at, p) })
		}
		if !harmless {
			bad = append(bad, p)
		}
		return nil
	})
	if err != nil {
		return Unknown, err.Error()
	}
	if len(bad) > 0 {
		return Fail, strings.Join(bad, ", ")
	}
	return Pass, fmt.Sprintf("%d devices", n)
}

// each looks for a fault at every place. pass is said when there is none, of so many places,
// and none where there are no places.
func each(places []Place, none, pass string, fault func(Place) string) (Result, string) {
	for _, p := range places {
		if why := fault(p); why != "" {
			return Fail, p.Path + " " + why
		}
	}
	if len(places) == 0 {
		return Pass, none
	}
	return Pass, fmt.Sprintf(pass, len(places))
}

// mountsAsPlanned looks at each mount of the plan, and at what is only to be kept.
func (i *inside) mountsAsPlanned(places []Place) (Result, string) {
	pass := "%d as planned"
	if !slices.ContainsFunc(places, func(p Place) bool { return !p.kept() }) {
		pass = "%d places refused writing"
	}
	return each(places, "there are none here", pass, func(p Place) string {
		m, ok := i.covering(p.Path)
		switch {
		case p.Mode != "kept" && (!ok || m.At != p.Path):
			return "is no mount of its own"
		case p.Mode == "ro" && m.Write:
			return "can be written"
		case p.Mode == "rw" && !m.Write:
			return "cannot be written"
		case (p.Mode == "tmpfs" || p.Mode == "empty") && i.ofHost(m):
			return "is not a folder of the box's own"
		case p.Mode == "own" && identity(p.Path) == p.ID:
			return "is the host's"
		case p.Mode != "own" && p.ID.Ino != 0 && identity(p.Path) != p.ID:
			return "shows something else than was planned"
		}
		if p.kept() && canWrite(p.Path) {
			return "can be written"
		}
		return ""
	})
}

// kept reports whether the box must not be able to write at a place.
func (p Place) kept() bool { return p.Mode == "ro" || p.Mode == "empty" || p.Mode == "kept" }

func identity(p string) host.ID {
	var st unix.Stat_t
	if unix.Stat(p, &st) != nil {
		return host.ID{}
	}
	return host.ID{Dev: uint64(st.Dev), Ino: st.Ino}
}

// hidden tries to read each place. What is there and is not what the host has is the box's own.
func hidden(places []Place) (Result, string) {
	existing := 0
	for _, p := range places {
		if p.Kind != host.Missing && p.Kind != "" {
			existing++
		}
		if leak := readable(p); leak != "" {
			return Fail, leak
		}
	}
	if existing == 0 {
		return Pass, "not on this host"
	}
	return Pass, fmt.Sprintf("%d of this host hidden", existing)
}

// readable says what can be read at a place, or nothing.
func readable(p Place) string {
	fi, err := os.Stat(p.Path)
	if err != nil || p.Kind == host.Missing || p.ID.Ino != 0 && identity(p.Path) != p.ID {
		return ""
	}
	switch {
	case fi.IsDir():
		entries, _ := os.ReadDir(p.Path) // what cannot be read is hidden
		if len(entries) > 0 {
			return fmt.Sprintf("%s shows %d entries", p.Path, len(entries))
		}
	case fi.Mode()&fs.ModeSocket != 0:
		if reaches(p.Path) {
			return p.Path + " answers"
		}
	case fi.Mode().IsRegular():
		if data, err := files.Head(p.Path, files.FollowLinks, 1); err == nil && len(data) > 0 {
			return p.Path + " can be read"
		}
	default:
		fd, err := unix.Open(p.Path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
		if err == nil {
			unix.Close(fd)
			return p.Path + " can be opened"
		}
	}
	return ""
}

// reaches connects to a socket in the file system, whatever its type.
func reaches(p string) bool {
	for _, network := range []string{"unix", "unixpacket", "unixgram"} {
		c, err := net.DialTimeout(network, p, time.Second)
		if err == nil {
			c.Close()
			return true
		}
		if !errors.Is(err, syscall.EPROTOTYPE) {
			return errors.Is(err, syscall.EAGAIN) || errors.Is(err, os.ErrDeadlineExceeded) // its queue is full
		}
	}
	return false
}

func sockets(places []Place) (Result, string) {
	return each(places, "nothing listens on this host", "%d sockets of this host out of reach", func(p Place) string {
		if reaches(p.Path) {
			return "answers"
		}
		return ""
	})
}
