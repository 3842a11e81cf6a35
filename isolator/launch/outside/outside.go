// Package outside makes some mounts of a box after bwrap's and from outside: links that are pinned,
// which bwrap cannot mount on, many masks, for each of which bwrap would read its table of mounts
// again, and what has lost its mount while the box runs.
//
// It takes the rights of the one who made the box's mounts. bwrap has given them up when the
// supervisor runs, in a user namespace of its own below (bwrap 0.8.0, for its devpts), so nothing in
// the box ever has them. Who owns the upper namespace gets them by joining it (package nsenter).
package outside

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// Word is the argument that makes a binary of inner one that mounts from outside.
const Word = "__mounts"

// Done is what it says in the end: a program that is none of inner's does not.
const Done = "mounted\n"

// The descriptors of it.
const (
	FdExe    = 3
	FdMounts = 4 // the mount namespace of the box
	FdList   = 5 // what to mount, see List
)

// Is reports whether this process was started to mount something in a box from
// outside. main asks it before anything else.
func Is(args []string) bool {
	return len(args) == 2 && args[0] == fmt.Sprintf("/proc/self/fd/%d", FdExe) && args[1] == Word
}

// List is what is mounted from outside.
type List struct {
	Pins  []wire.Pin
	Masks []wire.Mask
	Cover wire.Mask // the mask that the others are clones of, with the empty file of the run
	// What has lost its mount, see again.go.
	Hide, Protect []string
}

// Encode returns what the process reads.
func (l List) Encode() []byte { return wire.Encode(0, l.fields) }

func decode(b []byte) (l List, err error) {
	if wire.Decode(b, l.fields) != nil {
		return l, errors.New("malformed list of mounts")
	}
	return l, nil
}

func (l *List) fields(c *wire.Codec) {
	wire.List(c, &l.Pins, func(c *wire.Codec, p *wire.Pin) { c.Texts(&p.Path, &p.Target) })
	mask := func(c *wire.Codec, m *wire.Mask) {
		c.Texts(&m.Path)
		wire.Number(c, &m.Dev)
		wire.Number(c, &m.Ino)
	}
	wire.List(c, &l.Masks, mask)
	mask(c, &l.Cover)
	c.Strings(&l.Hide)
	c.Strings(&l.Protect)
}

// Run is the process that mounts from outside: it goes to the mounts of the box, pins
// and masks there, and returns the code to exit with.
func Run() int {
	// The thread is not given back: it is in another namespace.
	runtime.LockOSThread()
	if err := mountAll(); err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		return 1
	}
	os.Stderr.WriteString(Done)
	return 0
}

func mountAll() error {
	f := os.NewFile(FdList, "list")
	st, err := f.Stat()
	if err != nil {
		return err
	}
	data := make([]byte, st.Size())
	if _, err := f.ReadAt(data, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	list, err := decode(data)
	if err != nil {
		return err
	}
	if err := unix.Unshare(unix.CLONE_FS); err != nil { // setns(2) asks for it
		return fmt.Errorf("unshare: %w", err)
	}
	if err := unix.Setns(FdMounts, unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("the mounts of the box: %w", err)
	}
	for _, p := range list.Pins {
		if err := pinOne(p); err != nil {
			return fmt.Errorf("%s: %w", p.Path, err)
		}
	}
	if err := list.coverAll(); err != nil {
		return err
	}
	return list.mask()
}

// pinOne binds a link onto itself, and then looks whether it is the one that was
// meant: from here on nobody can exchange it.
func pinOne(p wire.Pin) error {
	dir, err := openPlain(filepath.Dir(p.Path))
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	name := filepath.Base(p.Path)
	// open_tree(2) and move_mount(2), Linux 5.2: mount(2) follows a link.
	tree, err := unix.OpenTree(dir, name, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return fmt.Errorf("open_tree: %w", err)
	}
	defer unix.Close(tree)
	if err := unix.MoveMount(tree, "", dir, name, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("move_mount: %w", err)
	}
	buf := make([]byte, 4096)
	n, err := unix.Readlinkat(dir, name, buf)
	if err != nil || string(buf[:n]) != p.Target {
		return errors.New("was replaced since the host was looked at")
	}
	return nil
}
