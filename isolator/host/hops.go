package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Hop is a link on the way to something. Whoever can write the folder it is in can
// exchange it, and with it what is there.
type Hop struct {
	Path   string `json:"path"`   // with no link but itself
	Target string `json:"target"` // as it is written
}

// follow resolves a path and returns the links on its way. Of what is missing, real
// is where it would be.
func follow(p string) (hops []Hop, real string, err error) {
	real = "/"
	todo := strings.Split(p, "/")
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			real = filepath.Dir(real)
			continue
		}
		at := filepath.Join(real, name)
		fi, err := os.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return hops, filepath.Join(append([]string{at}, todo...)...), nil
		case err != nil:
			return hops, at, err
		case fi.Mode()&fs.ModeSymlink == 0:
			real = at
			continue
		case len(hops) == maxHops:
			return hops, at, errors.New("too many links")
		}
		target, err := os.Readlink(at)
		if err != nil {
			return hops, at, err
		}
		hops = append(hops, Hop{at, target})
		if filepath.IsAbs(target) {
			real = "/"
		}
		todo = append(strings.Split(target, "/"), todo...)
	}
	return hops, real, nil
}

// maxHops is how many links the kernel follows.
const maxHops = 40
