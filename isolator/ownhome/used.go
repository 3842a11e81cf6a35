package ownhome

import (
	"os"
	"path"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/copytree"
)

// leastUsed is what a file or folder takes besides what it holds, about.
const leastUsed = 512

// Used is how many bytes the home takes on the disk, with what the box has of files of the
// project.
func (h *Home) Used() uint64 { return h.used(time.Time{}) }

func (h *Home) used(end time.Time) uint64 { return Used(h.folder, end, inside, filesName) }

// Used is how many bytes take on the disk what a box wrote in some folders of one folder, as far as it gets until end,
// which is zero for no end. A file with two names counts once. All of it is looked at, however deep it
// is and whatever modes the box gave it.
func Used(folder string, end time.Time, dirs ...string) (total uint64) {
	root, err := unix.Open(folder, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer unix.Close(root)
	twice := map[uint64]bool{}
	for len(dirs) > 0 && (end.IsZero() || time.Now().Before(end)) {
		dir := dirs[len(dirs)-1]
		dirs = dirs[:len(dirs)-1]
		each(root, dir, func(name string, st unix.Stat_t) {
			if st.Mode&unix.S_IFMT == unix.S_IFDIR {
				dirs = append(dirs, path.Join(dir, name))
			} else if st.Nlink > 1 {
				if twice[st.Ino] {
					return
				}
				twice[st.Ino] = true
			}
			total += max(uint64(st.Blocks)*512, leastUsed)
		})
	}
	return total
}

// each calls found with the status of everything in a folder.
func each(root int, dir string, found func(name string, st unix.Stat_t)) {
	list := listed(root, dir)
	if list == nil {
		return
	}
	defer list.Close()
	for {
		names, err := list.Readdirnames(1024)
		for _, name := range names {
			var st unix.Stat_t
			if unix.Fstatat(int(list.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
				found(name, st)
			}
		}
		if err != nil {
			return
		}
	}
}

// Large looks until end how large the home is. It returns the size when that is at least
// least, and twice what it returned for this home before; else 0.
func (h *Home) Large(least uint64, end time.Time) (uint64, error) {
	n := h.used(end)
	if n < least {
		return 0, nil
	}
	if err := h.hold(); err != nil {
		return 0, err
	}
	defer h.release()
	rec, err := readRecord(h.folder)
	if err != nil || n < 2*rec.Told {
		return 0, err
	}
	rec.Told = n
	return n, h.write(rec)
}

// longest is how much of a path is opened at once: less than PATH_MAX.
const longest = 3000

// listed opens a folder to list it, nil when it is gone. One that the box closed to its own
// user is opened all the same: what is in it counts.
func listed(root int, rel string) *os.File {
	at, err := unix.FcntlInt(uintptr(root), unix.F_DUPFD_CLOEXEC, 0)
	for rest := rel; err == nil && rest != ""; {
		part := rest
		if len(rest) > longest {
			part = rest[:strings.LastIndexByte(rest[:longest], '/')]
		}
		rest = strings.TrimPrefix(rest[len(part):], "/")
		var next int
		next, err = copytree.Open(at, part, unix.O_PATH|unix.O_DIRECTORY)
		_ = unix.Close(at)
		at = next
	}
	if err != nil {
		return nil
	}
	defer unix.Close(at)
	if enterable(at) != nil {
		return nil
	}
	fd, err := unix.Openat(at, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(fd), rel)
}
