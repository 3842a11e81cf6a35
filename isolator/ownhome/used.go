package ownhome

import (
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
	_ = copytree.Walk(folder, dirs, func(_ string, st unix.Stat_t) bool { // where it cannot be looked into, there is nothing
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
