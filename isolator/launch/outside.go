package launch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
	"github.com/enr/inner/isolator/plan"
)

// Some mounts of a box are made after bwrap's and from outside: links that are pinned,
// which bwrap cannot mount on, and many masks, for each of which bwrap would read its
// table of mounts again. It takes the rights of the one who made the box's mounts. bwrap
// has given them up when the supervisor runs, in a user namespace of its own below (bwrap
// 0.8.0, for its devpts), so nothing in the box ever has them. Who owns the upper
// namespace gets them by joining it, which only a process with one thread may (setns(2)):
// nsenter does that, and becomes the inner binary again, which goes on to the mounts.
//
// The supervisor waits for the launcher's word meanwhile: the program does not start
// before every one of these mounts is there, and has been looked at.

// outsideWord is the argument that makes the inner binary one that mounts from outside.
const outsideWord = "__mounts"

// outsideDone is what it says in the end: a program that is none of inner's does not.
const outsideDone = "mounted\n"

// The descriptors of it.
const (
	outsideUser   = 3 // the user namespace that owns the mounts
	outsideExe    = 4
	outsideMounts = 5 // the mount namespace of the box
	outsideList   = 6 // what to mount, see mountList
)

// OutsideFailed begins the reason of a result when a mount cannot be made from outside.
const OutsideFailed = "a mount of the sandbox cannot be made from outside:"

// IsOutside reports whether this process was started to mount something in a box from
// outside. main asks it before anything else.
func IsOutside(args []string) bool {
	return len(args) == 2 && args[0] == fmt.Sprintf("/proc/self/fd/%d", outsideExe) && args[1] == outsideWord
}

// mountList is what is mounted from outside.
type mountList struct {
	Pins  []plan.Pin
	Masks []plan.Mask
	Cover cover
	// What has lost its mount, see recover.go.
	Hide, Protect []string
}

func (l mountList) encode() []byte {
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
	e.Str(l.Cover.path)
	e.U64(l.Cover.dev)
	e.U64(l.Cover.ino)
	for _, list := range [][]string{l.Hide, l.Protect} {
		e.U32(uint32(len(list)))
		for _, p := range list {
			e.Str(p)
		}
	}
	return e.Bytes
}

func decodeMountList(b []byte) (l mountList, err error) {
	d := wire.NewDecoder(b)
	for n := d.U32(); n > 0 && !d.Bad; n-- {
		l.Pins = append(l.Pins, plan.Pin{Path: d.Str(), Target: d.Str()})
	}
	for n := d.U32(); n > 0 && !d.Bad; n-- {
		l.Masks = append(l.Masks, plan.Mask{Path: d.Str(), Dev: d.U64(), Ino: d.U64()})
	}
	l.Cover = cover{path: d.Str(), dev: d.U64(), ino: d.U64()}
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

// completed reports whether everything is mounted in the box. If not the run has failed.
func (s *session) completed() bool {
	if len(s.rest.Pins) > 0 || len(s.rest.Masks) > 0 {
		if err := s.mountFrom(s.rest); err != nil {
			s.fail(err.Error())
			return false
		}
	}
	if err := s.covered.follow(s.boxPid); err != nil {
		s.fail(err.Error())
		return false
	}
	return true
}

// mountFrom has something mounted in the box, from outside.
func (s *session) mountFrom(list mountList) error {
	data, err := wire.Memfd(list.encode())
	if err != nil {
		return err
	}
	defer unix.Close(data)
	mounts, err := unix.Open(fmt.Sprintf("/proc/%d/ns/mnt", s.boxPid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("the mounts of the box: %w", err)
	}
	defer unix.Close(mounts)
	user, err := unix.IoctlRetInt(mounts, unix.NS_GET_USERNS)
	if err != nil {
		return fmt.Errorf("the owner of the mounts of the box: %w", err)
	}
	defer unix.Close(user)
	exe, err := unix.Open(s.exe, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", s.exe, err)
	}
	defer unix.Close(exe)
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("/dev/null: %w", err)
	}
	defer unix.Close(null)
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	self := fmt.Sprintf("/proc/self/fd/%d", outsideExe)
	argv := []string{self, outsideWord}
	program := self
	if !ownNamespace(user) {
		program = s.nsenter
		argv = append([]string{s.nsenter, "--preserve-credentials", fmt.Sprintf("--user=/proc/self/fd/%d", outsideUser), "--"}, argv...)
	}
	pid, err := syscall.ForkExec(program, argv, &syscall.ProcAttr{
		Dir: "/", Env: []string{},
		Files: []uintptr{uintptr(null), uintptr(null), w.Fd(), outsideUser: uintptr(user), outsideExe: uintptr(exe), outsideMounts: uintptr(mounts), outsideList: uintptr(data)},
		Sys:   &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	w.Close()
	if err != nil {
		return fmt.Errorf("%s: %w", program, err)
	}
	said, _ := io.ReadAll(io.LimitReader(r, 4096))
	var st syscall.WaitStatus
	for {
		if _, err = syscall.Wait4(pid, &st, 0, nil); err != syscall.EINTR {
			break
		}
	}
	if err != nil || !st.Exited() || st.ExitStatus() != 0 || string(said) != outsideDone {
		return fmt.Errorf("%s %s", OutsideFailed, wire.Line(string(bytes.TrimSpace(said))))
	}
	return nil
}

// ownNamespace reports whether a user namespace is the one we are in.
func ownNamespace(fd int) bool {
	var a, b unix.Stat_t
	return unix.Fstat(fd, &a) == nil && unix.Stat("/proc/self/ns/user", &b) == nil && a.Ino == b.Ino && a.Dev == b.Dev
}

// Outside is the process that mounts from outside: it goes to the mounts of the box, pins
// and masks there, and returns the code to exit with.
func Outside() int {
	// The thread is not given back: it is in another namespace.
	runtime.LockOSThread()
	if err := mountAll(); err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		return 1
	}
	os.Stderr.WriteString(outsideDone)
	return 0
}

func mountAll() error {
	f := os.NewFile(outsideList, "list")
	st, err := f.Stat()
	if err != nil {
		return err
	}
	data := make([]byte, st.Size())
	if _, err := f.ReadAt(data, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	list, err := decodeMountList(data)
	if err != nil {
		return err
	}
	if err := unix.Unshare(unix.CLONE_FS); err != nil { // setns(2) asks for it
		return fmt.Errorf("unshare: %w", err)
	}
	if err := unix.Setns(outsideMounts, unix.CLONE_NEWNS); err != nil {
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
func pinOne(p plan.Pin) error {
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
