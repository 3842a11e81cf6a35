package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Hop is a link on the way to something. Whoever can write the folder it is in can
// exchange it, and with it what is there.
type Hop struct {
	Path   string `json:"path"`   // with no link but itself
	Target string `json:"target"` // as it is written
}

// maxHops is how many links the kernel follows.
const maxHops = 40

// straight returns nil for what is there with no link on the way to it, and ENOENT for what is not there and has none.
// The kernel knows it in one call; where it cannot be asked (before Linux 5.6, or an older filter around inner)
// the answer is another error, as it is for a link (ELOOP), also for one that leads nowhere.
func straight(path string) error {
	fd, err := unix.Openat2(unix.AT_FDCWD, path,
		&unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err == nil {
		_ = unix.Close(fd)
	}
	return err
}

// Eval is filepath.EvalSymlinks, in one call for most paths.
func Eval(path string) (string, error) {
	switch err := straight(path); {
	case err == nil:
		return filepath.Clean(path), nil
	case err == unix.ENOENT && path != "":
		return "", &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return filepath.EvalSymlinks(path)
}

// Follow resolves the links of an absolute path as far as it exists, and returns those on its
// way. Of what is missing, real is where it would be.
func Follow(path string) (hops []Hop, real string, err error) {
	at, fault := path, straight(path)
	for ; fault == unix.ENOENT && at != "/"; fault = straight(at) {
		at = filepath.Dir(at)
	}
	if fault == nil {
		return nil, filepath.Clean(path), nil
	}
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
