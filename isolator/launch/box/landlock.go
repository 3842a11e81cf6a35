package box

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// confine puts Landlock on the calling thread, and with that on what it
// executes or forks. bwrap has set no_new_privs, without which the kernel would
// refuse. files are the program's descriptors 0, 1 and 2: what was opened for
// it outside can be opened again, as /dev/stdout does.
//
// Renaming between folders is granted everywhere: it is refused by default as
// soon as anything about files is handled (landlock(7), LANDLOCK_ACCESS_FS_REFER),
// and read-only mounts refuse it where it must be.
func confine(l *wire.Landlock, files [3]uintptr) error {
	if l == nil {
		return nil
	}
	if err := landlock(l, files); err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	return nil
}

func landlock(l *wire.Landlock, files [3]uintptr) error {
	var attr unix.LandlockRulesetAttr
	if l.Signals {
		attr.Scoped |= unix.LANDLOCK_SCOPE_SIGNAL
	}
	if l.Abstract {
		attr.Scoped |= unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	if !l.Writes {
		return restrict(attr, func(int) error { return nil })
	}
	attr.Handled_access_fs = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REFER
	if err := restrict(attr, func(rules int) error { return fileRules(rules, l, files) }); err != nil {
		return err
	}
	attr = unix.LandlockRulesetAttr{Handled_access_fs: used}
	version, _, _ := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if version < 3 {
		attr.Handled_access_fs &^= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	return restrict(attr, func(rules int) error { return ownRules(rules, attr.Handled_access_fs, l.Root, files) })
}

// restrict has the calling thread keep to a set of rules, on top of those that it keeps to already.
func restrict(attr unix.LandlockRulesetAttr, fill func(rules int) error) error {
	// Up to Scoped: what a kernel does not know must be zero (landlock_create_ruleset(2)).
	r, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)),
		unsafe.Offsetof(attr.Quiet_access_fs), 0)
	if errno != 0 {
		return errno
	}
	defer unix.Close(int(r))
	if err := fill(int(r)); err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, r, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// What is done with files by their names, and what of it concerns a file that is none of a folder's.
const (
	used = usedFile | unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	usedFile = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE
)

// ownRules are the rules that a file lies in this box. A box may have been handed a folder by another one
// (SCM_RIGHTS). When that one has ended, the kernel has taken its mounts apart: the folder is still there, and
// nothing in it is hidden or read-only any more (umount_tree in fs/namespace.c). Landlock looks for rules from a
// file upwards, over mounts, and from such a folder no way leads further up. So the rules are above what is
// mounted: at the root where that is a memory of the box's own, else at what lies in it.
func ownRules(rules int, all uint64, ownRoot bool, files [3]uintptr) error {
	places := []string{"/"}
	if !ownRoot {
		entries, err := os.ReadDir("/")
		if err != nil {
			return err
		}
		places = nil
		for _, e := range entries {
			places = append(places, "/"+e.Name())
		}
	}
	// A check of the box is this program, which was opened outside.
	places = append(places, "/proc/self/exe")
	for _, p := range places {
		fd, err := unix.Open(p, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			continue // what cannot be found cannot be used either
		}
		access := all
		var st unix.Stat_t
		if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
			access &= usedFile
		}
		err = allow(rules, fd, access)
		unix.Close(fd)
		if err != nil {
			return fmt.Errorf("%q: %w", p, err)
		}
	}
	for _, fd := range files {
		// EBADFD: a pipe or a socket has no place, and is not confined.
		if err := allow(rules, int(fd), all&usedFile); err != nil && err != unix.EBADFD && err != unix.EBADF {
			return fmt.Errorf("descriptor %d: %w", fd, err)
		}
	}
	return nil
}

// fileRules are the rules about files that a program may write.
func fileRules(rules int, l *wire.Landlock, files [3]uintptr) error {
	if err := allowPath(rules, "/", unix.LANDLOCK_ACCESS_FS_REFER); err != nil {
		return err
	}
	for _, p := range l.Writable {
		// What cannot be entered cannot be written either.
		if err := allowPath(rules, p, unix.LANDLOCK_ACCESS_FS_WRITE_FILE); err != nil && !errors.Is(err, unix.EACCES) {
			return err
		}
	}
	for _, fd := range files {
		// What is open for reading alone is not opened for more.
		if mode, err := unix.FcntlInt(fd, unix.F_GETFL, 0); err != nil || mode&unix.O_ACCMODE == unix.O_RDONLY {
			continue
		}
		// EBADFD: a pipe or a socket has no place, and is not confined.
		if err := allow(rules, int(fd), unix.LANDLOCK_ACCESS_FS_WRITE_FILE); err != nil && err != unix.EBADFD {
			return fmt.Errorf("descriptor %d: %w", fd, err)
		}
	}
	return nil
}

func allowPath(rules int, path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("%q: %w", path, err)
	}
	defer unix.Close(fd)
	return allow(rules, fd, access)
}

// allow adds the rule that a file, or what is below a folder, may be used so.
func allow(rules, fd int, access uint64) error {
	beneath := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules),
		unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&beneath)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
