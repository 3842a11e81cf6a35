package git

import "golang.org/x/sys/unix"

// leastUsed is counted for a file or a folder even when it is empty.
const leastUsed = 512

// Used returns how many bytes the box's git directory takes on the disk. A file with two names counts once. Files that
// the box removes meanwhile, or that have no name, do not count.
func (c *Copy) Used() uint64 {
	d, err := c.dir.sub(boxFolder)
	if err != nil {
		return 0
	}
	defer d.close()
	var total uint64
	twice := map[uint64]bool{}
	_ = d.stats("", maxObjs, func(_ string, st unix.Stat_t, err error) error {
		if err != nil || twice[st.Ino] {
			return nil
		}
		if st.Nlink > 1 && st.Mode&unix.S_IFMT != unix.S_IFDIR {
			twice[st.Ino] = true
		}
		total += max(uint64(st.Blocks)*512, leastUsed)
		return nil
	})
	return total
}
