package git

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Hold keeps the objects that the host has now for as long as the copy lives, whatever
// `git gc` outside does: it makes a hard link to each file in a folder that the box reads.
// The box need not wait for it. It reports false where there can be no hard links because the file
// systems differ: then the box also loses what the host removes.
func (c *Copy) Hold() (held bool, err error) {
	held = true
	for _, u := range c.meta.Units {
		from, err := openFolder(filepath.Join(u.Common, "objects"))
		if err != nil {
			return false, err
		}
		to, err := c.dir.sub(fmt.Sprintf("%s/%d", holdFolder, u.N))
		if err != nil {
			from.close()
			return false, err
		}
		whole, err := hold(from, to)
		from.close()
		to.close()
		if err != nil {
			return false, err
		}
		held = held && whole
	}
	return held, nil
}

// hold makes hard links to packs and loose objects.
func hold(from, to *folder) (held bool, err error) {
	list, err := from.list(".", maxFiles)
	if err != nil {
		return false, err
	}
	held = true
	for _, e := range list {
		if !e.IsDir() || e.Name() != "pack" && !hexName(e.Name(), 2) {
			continue
		}
		files, err := from.list(e.Name(), maxRefs)
		if err != nil {
			continue // git removed it
		}
		if err := to.mkdir(e.Name()); err != nil {
			return false, err
		}
		a, errA := from.sub(e.Name())
		b, errB := to.sub(e.Name())
		if err := errors.Join(errA, errB); err != nil {
			a.close()
			b.close()
			return false, err
		}
		for _, f := range files {
			if strings.HasPrefix(f.Name(), "tmp_") || !f.Type().IsRegular() {
				continue
			}
			err := unix.Linkat(a.fd, f.Name(), b.fd, f.Name(), 0)
			if err != nil && !errors.Is(err, unix.EEXIST) && !errors.Is(err, unix.ENOENT) {
				held = false
			}
		}
		a.close()
		b.close()
	}
	return held, nil
}
