package launch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/plan"
)

// Pinning needs the rights of the one who made the box's mounts. bwrap has given them
// up when the supervisor runs, in a user namespace of its own below (bwrap 0.8.0,
// for its devpts). Who owns the upper one gets them by joining it, which only a
// process with one thread may (setns(2)): nsenter does that, and becomes the inner
// binary again, which goes on to the mounts.

// pinWord is the argument that makes the inner binary one that pins links.
const pinWord = "__pin"

// The descriptors of it.
const (
	pinUser   = 3 // the user namespace that owns the mounts
	pinExe    = 4
	pinMounts = 5 // the mount namespace of the box
	pinList   = 6
)

// IsPin reports whether this process was started to pin links. main asks it before
// anything else.
func IsPin(args []string) bool {
	return len(args) == 2 && args[0] == fmt.Sprintf("/proc/self/fd/%d", pinExe) && args[1] == pinWord
}

// pinned reports whether the links are pinned. If not the run has failed.
func (s *session) pinned() bool {
	if err := s.pin(); err != nil {
		s.failed, s.failCode, s.failText = true, CodeNoSandbox, cleanLine(err.Error())
		s.killBox()
		return false
	}
	return true
}

// pin has the links of a plan pinned in the box, whose supervisor waits.
func (s *session) pin() error {
	if len(s.pins) == 0 {
		return nil
	}
	var list []string
	for _, p := range s.pins {
		list = append(list, p.Path, p.Target)
	}
	data, err := memfd(nulTerminated(list))
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
	exe, err := unix.Open("/proc/self/exe", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("/proc/self/exe: %w", err)
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
	self := fmt.Sprintf("/proc/self/fd/%d", pinExe)
	argv := []string{self, pinWord}
	program := self
	if !ownNamespace(user) {
		program = s.nsenter
		argv = append([]string{s.nsenter, "--preserve-credentials", fmt.Sprintf("--user=/proc/self/fd/%d", pinUser), "--"}, argv...)
	}
	pid, err := syscall.ForkExec(program, argv, &syscall.ProcAttr{
		Dir: "/", Env: []string{},
		Files: []uintptr{uintptr(null), uintptr(null), w.Fd(), pinUser: uintptr(user), pinExe: uintptr(exe), pinMounts: uintptr(mounts), pinList: uintptr(data)},
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
	if err != nil || !st.Exited() || st.ExitStatus() != 0 {
		return fmt.Errorf("a link cannot be pinned: %s", cleanLine(string(bytes.TrimSpace(said))))
	}
	return nil
}

// ownNamespace reports whether a user namespace is the one we are in.
func ownNamespace(fd int) bool {
	var a, b unix.Stat_t
	return unix.Fstat(fd, &a) == nil && unix.Stat("/proc/self/ns/user", &b) == nil && a.Ino == b.Ino && a.Dev == b.Dev
}

// Pinned is the process that pins: it goes to the mounts of the box, binds each link
// onto itself, and returns the code to exit with.
func Pinned() int {
	// The thread is not given back: it is in another namespace.
	runtime.LockOSThread()
	if err := pinAll(); err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		return 1
	}
	return 0
}

func pinAll() error {
	f := os.NewFile(pinList, "list")
	st, err := f.Stat()
	if err != nil {
		return err
	}
	data := make([]byte, st.Size())
	if _, err := f.ReadAt(data, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := unix.Unshare(unix.CLONE_FS); err != nil { // setns(2) asks for it
		return fmt.Errorf("unshare: %w", err)
	}
	if err := unix.Setns(pinMounts, unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("the mounts of the box: %w", err)
	}
	words := strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
	for i := 0; i+1 < len(words); i += 2 {
		if err := pinOne(plan.Pin{Path: words[i], Target: words[i+1]}); err != nil {
			return fmt.Errorf("%s: %w", words[i], err)
		}
	}
	return nil
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
		return errors.New("was exchanged for another since the host was looked at")
	}
	return nil
}
