// Package outside makes some mounts of a box after bwrap's and from outside: links that are pinned,
// which bwrap cannot mount on, many masks, for each of which bwrap would read its table of mounts
// again, and what has lost its mount while the box runs.
//
// It takes the rights of the one who made the box's mounts. bwrap has given them up when the
// supervisor runs, in a user namespace of its own below (bwrap 0.8.0, for its devpts), so nothing in
// the box ever has them. Who owns the upper namespace gets them by joining it, which only a process
// with one thread may (setns(2)): nsenter does that, and becomes this process.
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
	FdUser   = 3 // the user namespace that owns the mounts
	FdExe    = 4
	FdMounts = 5 // the mount namespace of the box
	FdList   = 6 // what to mount, see List
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
func (l List) Encode() []byte {
	var e wire.Encoder
	e.U32(uint32(len(l.Pins)))
	for _, p := range l.Pins {
		e.Str(p.Path)
		e.Str(p.Target)
	}
	e.U32(uint32(len(l.Masks)))
	for _, m := range l.Masks {
		e.Str(m.Path)
		e.U64(m.Dev)
		e.U64(m.Ino)
	}
	e.Str(l.Cover.Path)
	e.U64(l.Cover.Dev)
	e.U64(l.Cover.Ino)
	for _, list := range [][]string{l.Hide, l.Protect} {
		e.U32(uint32(len(list)))
		for _, p := range list {
			e.Str(p)
		}
	}
	return e.Bytes
}

func decode(b []byte) (l List, err error) {
	d := wire.NewDecoder(b)
	for n := d.U32(); n > 0 && !d.Bad; n-- {
		l.Pins = append(l.Pins, wire.Pin{Path: d.Str(), Target: d.Str()})
	}
	for n := d.U32(); n > 0 && !d.Bad; n-- {
		l.Masks = append(l.Masks, wire.Mask{Path: d.Str(), Dev: d.U64(), Ino: d.U64()})
	}
	l.Cover = wire.Mask{Path: d.Str(), Dev: d.U64(), Ino: d.U64()}
	for _, list := range []*[]string{&l.Hide, &l.Protect} {
		for n := d.U32(); n > 0 && !d.Bad; n-- {
			*list = append(*list, d.Str())
		}
	}
	if !d.Done() {
		return l, errors.New("malformed list of mounts")
	}
	return l, nil
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
	dir, err := unix.Openat2(unix.AT_FDCWD, filepath.Dir(p.Path), &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
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
