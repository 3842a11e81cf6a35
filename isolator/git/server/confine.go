package server

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What Landlock leaves the server (landlock(7)).
const (
	landlockRead  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	landlockWrite = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SYM
	landlockOthers = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	landlockMove   = unix.LANDLOCK_ACCESS_FS_REFER    // from the second version on
	landlockCut    = unix.LANDLOCK_ACCESS_FS_TRUNCATE // from the third
)

// Confine leaves the process of a server its repositories, and what git needs. A kernel without Landlock leaves all.
func Confine(repos []Repository) error {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno == unix.ENOSYS || errno == unix.EOPNOTSUPP {
		return nil
	}
	all := uint64(landlockRead | landlockWrite | landlockOthers)
	if version < 2 {
		return nil // nothing could be renamed into another folder
	}
	write := uint64(landlockRead | landlockWrite | landlockMove)
	if version >= 3 {
		write |= landlockCut
	}
	all |= write
	attr := struct{ fs uint64 }{all}
	rules, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), 8, 0)
	if errno != 0 {
		return errno
	}
	defer unix.Close(int(rules))
	var errs []error
	allow := func(access uint64, places ...string) {
		for _, p := range places {
			errs = append(errs, allowBelow(int(rules), p, access))
		}
	}
	allow(landlockRead, "/usr", "/bin", "/lib", "/lib64", "/etc", "/proc", "/nix", "/opt")
	allow(write, "/dev/null")
	allow(landlockRead, "/dev/urandom") // git names temporary files by it
	for _, r := range repos {
		allow(landlockRead, filepath.Dir(r.Git))
		allow(write, r.Top, r.Dir, r.Private, r.Store)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, errno := syscall.AllThreadsSyscall(syscall.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0); errno != 0 {
		return errno
	}
	if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, rules, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// allowBelow allows access below a place; one that is not there is passed over.
func allowBelow(rules int, place string, access uint64) error {
	fd, err := unix.Open(place, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR { // the rights of a file
		access &= unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | landlockCut
	}
	attr := struct {
		access uint64
		parent int32
	}{access, int32(fd)}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
