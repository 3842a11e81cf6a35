package index

import (
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// maxHashed is the largest file that is read to see whether its times are true.
const maxHashed = 1 << 30

// TimesTrue reports whether a file in the work tree at the open folder has the times, the size and
// the content that an entry says. Git outside believes that without a look at the content. It
// follows no link, and a file of another content because of a filter is not true.
func TimesTrue(worktree int, e *Entry) bool {
	parent, err := unix.Openat2(worktree, path.Dir(e.Name), &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err != nil {
		return false
	}
	defer unix.Close(parent)
	base := path.Base(e.Name)
	if e.Mode() == modeLink {
		return linkTrue(parent, base, e)
	}
	fd, err := unix.Openat(parent, base, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	file := os.NewFile(uintptr(fd), base)
	defer file.Close()
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Size > maxHashed || !e.timesOf(&st) {
		return false
	}
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", st.Size)
	n, err := io.Copy(h, io.LimitReader(file, st.Size+1))
	return err == nil && n == st.Size && ID(h.Sum(nil)) == e.ID
}

func linkTrue(parent int, base string, e *Entry) bool {
	var st unix.Stat_t
	target := make([]byte, maxName+1)
	if unix.Fstatat(parent, base, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || !e.timesOf(&st) {
		return false
	}
	n, err := unix.Readlinkat(parent, base, target)
	return err == nil && objectID("blob", target[:n]) == e.ID
}

// changed is when the file of an entry was written, in nanoseconds.
func (e *Entry) changed() int64 {
	return int64(binary.BigEndian.Uint32(e.Stat[8:]))*1e9 + int64(binary.BigEndian.Uint32(e.Stat[12:]))
}

// timesOf compares what git compares, but for what a setting can switch off: the device and the
// owner.
func (e *Entry) timesOf(st *unix.Stat_t) bool {
	for at, is := range map[int]int64{0: st.Ctim.Sec, 4: st.Ctim.Nsec, 8: st.Mtim.Sec, 12: st.Mtim.Nsec, 20: int64(st.Ino), 36: st.Size} {
		if binary.BigEndian.Uint32(e.Stat[at:]) != uint32(is) {
			return false
		}
	}
	return true
}
