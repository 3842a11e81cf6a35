package repos

import (
	"crypto/rand"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// recent reports whether something was made, written, renamed or given other attributes
// since the run began. On the file systems of Linux a program cannot set that time; on
// others, where Timeless says so or nothing is known, everything is recent.
func (w *sweep) recent(p string, fi fs.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok || lies(p, w.Keep) {
		return false
	}
	good, known := w.timed[deviceOf(fi)]
	if !known { // mounted below a root
		good = KeepsTime(p)
		w.timed[deviceOf(fi)] = good
	}
	return !good || !time.Unix(st.Ctim.Unix()).Before(w.Since)
}

func deviceOf(fi fs.FileInfo) uint64 {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return uint64(st.Dev)
}

// KeepsTime reports whether a file system is one of those of the kernel, which set the
// time of a change by this computer's clock and let no program set it.
func KeepsTime(p string) bool {
	var st unix.Statfs_t
	if unix.Statfs(p, &st) != nil && unix.Statfs(filepath.Dir(p), &st) != nil {
		return false
	}
	return slices.Contains([]int64{
		unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC,
		0x2fc12fc1 /* zfs */, 0xca451a4e /* bcachefs */, unix.RAMFS_MAGIC,
	}, int64(st.Type))
}

// Timeless returns those of the folders that a program in a box can write and whose file
// system lets it set the time of a change, or has another clock than this computer (FAT,
// sshfs, some network file systems). Each is tried with a file of our own, without a name where
// the file system supports that. A box cannot write a folder that we cannot write.
func Timeless(roots []string) []string {
	var out []string
	for _, p := range roots {
		if fi, err := os.Stat(p); err == nil && fi.IsDir() && unix.Access(p, unix.W_OK) == nil && !keepsChangeTime(p) {
			out = append(out, p)
		}
	}
	return out
}

// keepsChangeTime makes a file in a folder, dates it back, and reports whether the file system
// nevertheless set the time of that change to now.
func keepsChangeTime(dir string) bool {
	fd, err := unix.Open(dir, unix.O_WRONLY|unix.O_TMPFILE|unix.O_CLOEXEC, 0o600)
	if err != nil {
		name := filepath.Join(dir, ".inner-probe-"+rand.Text())
		if fd, err = unix.Open(name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600); err != nil {
			return false
		}
		defer func() { _ = unix.Unlink(name) }()
	}
	defer unix.Close(fd)
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now) != nil {
		return false
	}
	past := unix.NsecToTimeval(now.Nano() - int64(time.Hour))
	if unix.Futimes(fd, []unix.Timeval{past, past}) != nil {
		return false
	}
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Ctim.Nano() >= now.Nano() && st.Mtim.Nano() < now.Nano()
}
