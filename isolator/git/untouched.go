package git

import (
	"crypto/sha256"
	"fmt"

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

// look takes the traces of the copy's git directory. More entries than most are an error.
func (c *Copy) look(most int) (t traces, err error) {
	d, err := c.dir.sub(boxFolder)
	if err != nil {
		return t, err
	}
	defer d.close()
	h := sha256.New()
	err = d.stats("", most, func(name string, st unix.Stat_t, err error) error {
		if t.entries++; err == nil && t.entries > most {
			err = errTooMany
		}
		fmt.Fprintf(h, "%q %s\n", name, fileID(st, true))
		return err
	})
	if err != nil {
		return traces{}, err
	}
	h.Sum(t.sum[:0])
	return t, nil
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
