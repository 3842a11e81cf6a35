package git

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"slices"

	"golang.org/x/sys/unix"
)

// traces is a digest of the name, the inode and the times of everything in a box's git directory. Any change alters it,
// since no program can set the time of a change (ctime). Most boxes never use git: when the traces are those of the start
// there is nothing to cross, however many refs the repository has.
type traces struct {
	sum     [sha256.Size]byte
	entries int
}

// maxTraces is the most entries of a git directory of which traces are taken.
const maxTraces = 200_000

var errTraces = errors.New("more than there was")

// look takes the traces of the copy's git directory. More entries than most are an error.
func (c *Copy) look(most int) (t traces, err error) {
	d, err := c.dir.sub(boxFolder)
	if err != nil {
		return t, err
	}
	defer d.close()
	h := sha256.New()
	if err := d.trace(h, &t.entries, most); err != nil {
		return traces{}, err
	}
	h.Sum(t.sum[:0])
	return t, nil
}

func (d *folder) trace(h hash.Hash, n *int, most int) error {
	var st unix.Stat_t
	if err := unix.Fstat(d.fd, &st); err != nil {
		return err
	}
	fmt.Fprintf(h, "%s\n", fileID(st, true))
	list, err := d.list(".", max(most-*n, 0))
	if err != nil {
		return err
	}
	if *n += len(list); *n > most {
		return errTraces
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	for _, e := range list {
		fmt.Fprintf(h, "%q ", e.Name())
		if e.IsDir() {
			sub, err := d.sub(e.Name())
			if err != nil {
				return err
			}
			err = sub.trace(h, n, most)
			sub.close()
			if err != nil {
				return err
			}
			continue
		}
		if err := unix.Fstatat(d.fd, e.Name(), &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
		fmt.Fprintf(h, "%s\n", fileID(st, true))
	}
	return nil
}

// untouched reports whether the box's git directory is as it was when the copy was made. It may be false by mistake. For it
// to be true by mistake, the box would have to write in place, with as many bytes, within the clock tick in which the copy
// was made.
func (c *Copy) untouched() bool {
	if c.start.entries == 0 {
		return false
	}
	now, err := c.look(c.start.entries)
	return err == nil && now == c.start
}
