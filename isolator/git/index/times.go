package index

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/copytree"
)

// maxHashed is the largest file that is read to see whether its times are true.
const maxHashed = 1 << 30

// TimesTrue reports whether a file in the work tree at the open folder has the times, the size and
// the content that an entry says. Git outside believes that without a look at the content. It
// follows no link, and a file of another content because of a filter is not true.
func TimesTrue(worktree int, e *Entry) bool {
	kind, flags := uint32(unix.S_IFREG), unix.O_NONBLOCK|unix.O_NOCTTY
	if e.Mode() == modeLink {
		kind, flags = unix.S_IFLNK, unix.O_PATH
	}
	fd, err := copytree.Open(worktree, e.Name, flags)
	if err != nil {
		return false
	}
	file := os.NewFile(uintptr(fd), e.Name)
	defer file.Close()
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != kind || st.Size > maxHashed || !e.timesOf(&st) {
		return false
	}
	content := io.LimitReader(file, st.Size+1)
	if kind == unix.S_IFLNK {
		target := make([]byte, maxName+1)
		n, _ := unix.Readlinkat(fd, "", target)
		content = bytes.NewReader(target[:max(n, 0)])
	}
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", st.Size)
	n, err := io.Copy(h, content)
	return err == nil && n == st.Size && ID(h.Sum(nil)) == e.ID
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
