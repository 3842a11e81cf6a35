package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Hop is a link on the way to something. Whoever can write the folder it is in can
// exchange it, and with it what is there.
type Hop struct {
	Path   string `json:"path"`   // with no link but itself
	Target string `json:"target"` // as it is written
}

// maxHops is how many links the kernel follows.
const maxHops = 40

// Follow resolves the links of an absolute path as far as it exists, and returns those on its
// way. Of what is missing, real is where it would be.
func Follow(path string) (hops []Hop, real string, err error) {
	rest := strings.Split(path, "/")
	for real = "/"; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			real = filepath.Dir(real)
			continue
		}
		at := filepath.Join(real, name)
		target, err := os.Readlink(at)
		switch {
		case errors.Is(err, syscall.EINVAL), errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			real = at
			continue
		case err != nil:
			return hops, at, err
		case len(hops) == maxHops:
			return hops, at, &fs.PathError{Op: "follow", Path: path, Err: syscall.ELOOP}
		}
		hops = append(hops, Hop{at, target})
		if filepath.IsAbs(target) {
			real = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return hops, real, nil
}
