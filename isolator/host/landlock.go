package host

import "golang.org/x/sys/unix"

// LandlockABI returns the version of Landlock that the kernel has, or 0
// (landlock_create_ruleset(2)): 2 confines writing, 6 signals and abstract
// sockets.
func LandlockABI() int {
	v, _, err := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if err != 0 {
		return 0 // not in this kernel, or not switched on
	}
	return int(v)
}
