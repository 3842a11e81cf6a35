package isolator

import (
	"os"
	"slices"

	"github.com/enr/inner/isolator/proc"
)

// The kernel takes a mount away when what it is on is removed or renamed over outside. Where
// another file has come to that place since, a mask is gone, and nothing else has to differ:
// the file may have the same name, and the inode number of the old one. So the mounts that
// were made for a box have to be there, all of them, whenever a call joins it.

// ownMounts are those of a box's mounts that the host does not have itself: what somebody
// unmounts on the host goes in the box, too, and is no reason to end it.
func ownMounts(box []proc.Mount) ([]proc.Mount, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	host := proc.Mounts(text)
	return slices.DeleteFunc(box, func(m proc.Mount) bool { return slices.Contains(host, m) }), nil
}

// whole reports whether the box has all mounts that were made for it.
func (h *holder) whole() bool {
	now, err := h.calls.Mounts()
	if err != nil {
		return false
	}
	for _, m := range h.mounts {
		if !slices.Contains(now, m) {
			return false
		}
	}
	return true
}
