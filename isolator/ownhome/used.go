package ownhome

import (
	"path"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/copytree"
)

// leastUsed is what a file or folder takes besides what it holds, about.
const leastUsed = 512

// Used is how many bytes the home takes on the disk, with what the box has of files of the
// project.
func (h *Home) Used() uint64 { return h.used(time.Time{}) }

func (h *Home) used(end time.Time) uint64 { return Used(h.folder, end, Inside, filesName) }

// Used is how many bytes take on the disk what a box wrote in some folders of one folder, as far as it
// gets until end, which is zero for no end. A file with two names counts once. All of it is looked at,
// however deep it is and whatever modes the box gave it.
func Used(folder string, end time.Time, dirs ...string) (total uint64) {
	twice := map[uint64]bool{}
	Walk(folder, end, dirs, func(_ string, st unix.Stat_t) bool {
		if st.Nlink > 1 && st.Mode&unix.S_IFMT != unix.S_IFDIR {
			if twice[st.Ino] {
				return false
			}
			twice[st.Ino] = true
		}
		total += max(uint64(st.Blocks)*512, leastUsed)
		return true
	})
	return total
}

// Walk calls found with the status of everything in some folders of one folder, by its path there,
// until end, unless that is zero. It goes on into those folders for which found returns true. No link
// is followed.
func Walk(folder string, end time.Time, dirs []string, found func(rel string, st unix.Stat_t) bool) {
	root, err := unix.Open(folder, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(root)
	for len(dirs) > 0 && (end.IsZero() || time.Now().Before(end)) {
		dir := dirs[len(dirs)-1]
		dirs = dirs[:len(dirs)-1]
		list, err := copytree.Enter(root, dir)
		for err == nil { // and where it cannot be looked into, there is nothing
			var names []string
			names, err = list.Readdirnames(1024)
			for _, name := range names {
				var st unix.Stat_t
				rel := path.Join(dir, name)
				if unix.Fstatat(int(list.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
					continue
				}
				if found(rel, st) && st.Mode&unix.S_IFMT == unix.S_IFDIR {
					dirs = append(dirs, rel)
				}
			}
		}
		if list != nil {
			list.Close()
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
	rec, err := ReadRecord(h.folder) // what others told meanwhile
	if err != nil || n < 2*rec.Told {
		return 0, err
	}
	h.rec, h.rec.Told = rec, n
	return n, h.write()
}
