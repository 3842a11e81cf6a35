package box

import (
	"bufio"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// fill fills the folders of the box.
func (b *box) fill() error {
	// Modes are as they were, whatever the person's umask.
	defer unix.Umask(unix.Umask(0))
	for i, f := range b.spec.Fills {
		folder, err := sizedFolder(f.Dest, f.Room)
		if err != nil {
			return err
		}
		pack := os.NewFile(uintptr(b.spec.FillFD+i), "pack")
		err = wire.Unpack(bufio.NewReaderSize(pack, 64<<10), folder)
		pack.Close()
		if errors.Is(err, unix.ENOSPC) {
			return fmt.Errorf("what is copied to %q does not fit in its %d KiB (sandbox.limits.disk)", f.Dest, f.Room>>10)
		}
		if err != nil {
			return fmt.Errorf("%q cannot be filled: %w", f.Dest, err)
		}
		err = b.say(wire.Msg{Kind: wire.Folder, N: uint32(i)}, folder)
		unix.Close(folder)
		if err != nil {
			return err
		}
	}
	return nil
}

// sizedFolder opens a folder in memory, and makes sure that it is one of that size.
func sizedFolder(path string, size uint64) (int, error) {
	fd, err := wire.OpenFolder(unix.AT_FDCWD, path)
	if err != nil {
		return -1, fmt.Errorf("%q: %w in the box", path, err)
	}
	var st unix.Statfs_t
	err = unix.Fstatfs(fd, &st)
	page := uint64(os.Getpagesize()) // tmpfs rounds up to pages
	if err != nil || st.Type != unix.TMPFS_MAGIC || st.Blocks*uint64(st.Bsize) != (size+page-1)/page*page {
		unix.Close(fd)
		return -1, fmt.Errorf("%q is not the folder in memory that it should be", path)
	}
	return fd, nil
}
