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
		all, err := c.holdUnit(u)
		if err != nil {
			return false, err
		}
		held = held && all
	}
	return held, nil
}

func (c *Copy) holdUnit(u *unit) (held bool, err error) {
	from, err := openFolder(filepath.Join(u.Common, "objects"))
	if err != nil {
		return false, err
	}
	defer from.close()
	to, err := c.dir.sub(fmt.Sprintf("%s/%d", holdFolder, u.N))
	if err != nil {
		return false, err
	}
	defer to.close()
	return hold(from, to)
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
		all, err := holdIn(from, to, e.Name())
		if err != nil {
			return false, err
		}
		held = held && all
	}
	return held, nil
}

// holdIn does that for one folder of a store.
func holdIn(from, to *folder, name string) (held bool, err error) {
	files, err := from.list(name, maxRefs)
	if err != nil {
		return true, nil // git removed it
	}
	if err := to.mkdir(name); err != nil {
		return false, err
	}
	a, errA := from.sub(name)
	defer a.close()
	b, errB := to.sub(name)
	defer b.close()
	if err := errors.Join(errA, errB); err != nil {
		return false, err
	}
	held = true
	for _, f := range files {
		if strings.HasPrefix(f.Name(), "tmp_") || !f.Type().IsRegular() {
			continue
		}
		err := unix.Linkat(a.fd, f.Name(), b.fd, f.Name(), 0)
		if err != nil && !errors.Is(err, unix.EEXIST) && !errors.Is(err, unix.ENOENT) {
			held = false
		}
	}
	return held, nil
}
