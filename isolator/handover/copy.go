package handover

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// copyBundle copies the bundle to a place where the box cannot change it. Only a regular file is
// one, and no link.
func copyBundle(from, to string) error {
	// O_NONBLOCK: a FIFO put there does not block the open.
	in, err := os.OpenFile(from, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNothing
	} else if err != nil {
		return err
	}
	defer in.Close()
	fi, err := in.Stat()
	switch {
	case err != nil:
		return err
	case !fi.Mode().IsRegular():
		return fmt.Errorf("%q is not a regular file", from)
	case fi.Size() > maxBundle:
		return fmt.Errorf("%q is larger than %d MiB", from, maxBundle>>20)
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(in, maxBundle+1))
	if err == nil && n > maxBundle {
		err = fmt.Errorf("%q is larger than %d MiB", from, maxBundle>>20)
	}
	return errors.Join(err, out.Close())
}
