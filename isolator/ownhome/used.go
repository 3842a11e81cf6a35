package ownhome

import (
	"path"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/copytree"
)

// leastUsed is what a file or folder takes besides what it holds, about.
const leastUsed = 512

// Used is how many bytes the home takes on the disk, with what the box has of files of the
// project.
func (h *Home) Used() uint64 { return Used(h.folder, Inside, filesName) }

// Used is how many bytes take on the disk what a box wrote in some folders of one folder. A file with two
// names counts once. All of it is looked at, however deep it is and whatever modes the box gave it.
func Used(folder string, dirs ...string) (total uint64) {
	twice := map[uint64]bool{}
	Walk(folder, dirs, func(_ string, st unix.Stat_t) bool {
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

// Walk calls found with the status of everything in some folders of one folder, by its path there. It
// goes on into those folders for which found returns true. No link is followed.
func Walk(folder string, dirs []string, found func(rel string, st unix.Stat_t) bool) {
	root, err := unix.Open(folder, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(root)
	for len(dirs) > 0 {
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
