package files

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Identity is text that nothing else has that is made at a path later, "" where nothing is: the time of
// birth tells apart what has the number of something removed. A link is not followed.
func Identity(dir int, path string) string {
	var st unix.Statx_t
	if unix.Statx(dir, path, unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_BTIME, &st) != nil {
		return ""
	}
	return fmt.Sprintf("%d:%d:%d:%d.%d", st.Dev_major, st.Dev_minor, st.Ino, st.Btime.Sec, st.Btime.Nsec)
}

// BornAfter reports whether something is a file of one name that was made after a moment.
func BornAfter(dir int, path string, moment time.Time) bool {
	var st unix.Statx_t
	err := unix.Statx(dir, path, unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH,
		unix.STATX_MODE|unix.STATX_NLINK|unix.STATX_BTIME, &st)
	return err == nil && st.Mask&unix.STATX_BTIME != 0 && st.Mode&unix.S_IFMT == unix.S_IFREG &&
		st.Nlink == 1 && time.Unix(st.Btime.Sec, int64(st.Btime.Nsec)).After(moment)
}
