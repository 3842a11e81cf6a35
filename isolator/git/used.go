package git

import "golang.org/x/sys/unix"

// leastUsed is counted for a file or a folder even when it is empty.
const leastUsed = 512

// Used returns how many bytes the box's git directory takes on the disk. A file with two names counts once. Files that
// the box removes meanwhile, or that have no name, do not count.
func (c *Copy) Used() uint64 {
	var total uint64
	twice := map[uint64]bool{}
	var look func(d *folder)
	look = func(d *folder) {
		defer d.close()
		list, err := d.list(".", maxObjs)
		if err != nil {
			return
		}
		for _, e := range list {
			var st unix.Stat_t
			if unix.Fstatat(d.fd, e.Name(), &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
				continue
			}
			if !e.IsDir() && st.Nlink > 1 {
				if twice[st.Ino] {
					continue
				}
				twice[st.Ino] = true
			}
			total += max(uint64(st.Blocks)*512, leastUsed)
			if !e.IsDir() {
				continue
			}
			if sub, err := d.sub(e.Name()); err == nil {
				look(sub)
			}
		}
	}
	if d, err := c.dir.sub(boxFolder); err == nil {
		look(d)
	}
	return total
}
