// Package own tells whether somebody other than the user or root could have written a file, or
// could replace what lies in a folder. It looks at owner and mode alone: access control lists,
// which only the owner can set, are not read.
//
// What is wrong is text that completes a sentence about the path: "belongs to user 5, not to you".
package own

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// Fault returns why someone other than the user or root may have written this, or "". st is that
// of os.Lstat; a link is a fault.
func Fault(st fs.FileInfo) string {
	if st.Mode()&fs.ModeSymlink != 0 {
		return "is a link"
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return "has no owner"
	}
	mode := st.Mode().Perm()
	switch {
	case int(sys.Uid) != os.Geteuid() && sys.Uid != 0:
		return fmt.Sprintf("belongs to user %d, not to you", sys.Uid)
	case mode&0o002 != 0:
		return fmt.Sprintf("can be changed by everyone (mode %04o)", mode)
	case mode&0o020 != 0 && !privateGroup(int(sys.Gid)):
		return fmt.Sprintf("can be changed by group %d (mode %04o)", sys.Gid, mode)
	}
	return ""
}

// privateGroup reports whether the group is the user's own: distributions give
// everyone one and make new files writable by it (umask 002).
func privateGroup(gid int) bool {
	uid := os.Geteuid()
	if gid != os.Getegid() {
		return false
	}
	if gid == uid {
		return true
	}
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return false
	}
	g, err := user.LookupGroupId(strconv.Itoa(gid))
	return err == nil && u.Gid == g.Gid && g.Name == u.Username
}

// FolderFault returns why someone other than the user or root could replace what lies in a
// folder, or "". A group that can write the folder does not count: what its members put there belongs to
// them, which Fault finds.
func FolderFault(st fs.FileInfo) string {
	sys, ok := st.Sys().(*syscall.Stat_t)
	switch {
	case !ok || !st.IsDir():
		return "is not a folder"
	case int(sys.Uid) != os.Geteuid() && sys.Uid != 0:
		return fmt.Sprintf("belongs to user %d, not to you", sys.Uid)
	case st.Mode().Perm()&0o002 != 0 && st.Mode()&fs.ModeSticky == 0:
		return fmt.Sprintf("can be changed by everyone (mode %04o)", st.Mode().Perm())
	}
	return ""
}

// RootFault returns why someone other than root could have written a file, or could replace what lies in a
// folder, or "".
func RootFault(st fs.FileInfo) string {
	sys, ok := st.Sys().(*syscall.Stat_t)
	switch mode := st.Mode(); {
	case mode&fs.ModeSymlink != 0:
		return "is a link"
	case !ok || sys.Uid != 0:
		return "does not belong to root"
	case mode.Perm()&0o022 != 0 && !(mode.IsDir() && mode&fs.ModeSticky != 0):
		return fmt.Sprintf("can be changed by others than root (mode %04o)", mode.Perm())
	}
	return ""
}
