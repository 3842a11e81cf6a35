package ownhome

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
)

// identity tells a folder from all others of this computer, also when it has another name: where its file
// system keeps it and when it was made, for numbers are given again. It is "" where that is unknown.
func identity(dir string) string {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, dir, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_INO|unix.STATX_BTIME, &st)
	if err != nil || st.Mask&unix.STATX_BTIME == 0 {
		return ""
	}
	return fmt.Sprint(st.Dev_major, ":", st.Dev_minor, ":", st.Ino, ":", st.Btime.Sec, ".", st.Btime.Nsec)
}

// Was is where a project was when it had homes, if it has been moved since; "" when the owner has a home, or
// it is not known.
func Was(innerHome string, o Owner) string {
	if files.Exists(filepath.Join(Base(innerHome), o.Key())) {
		return ""
	}
	entries, _ := os.ReadDir(Base(innerHome))
	is := identity(o.Project)
	for _, e := range entries {
		rec, err := ReadRecord(filepath.Join(Base(innerHome), e.Name()))
		if err == nil && is != "" && rec.Identity == is && rec.Project != o.Project && !files.Exists(rec.Project) {
			return rec.Project
		}
	}
	return ""
}

// moved is a path of the project as it is where the project is elsewhere; any other path as it is.
func moved(path, from, to string) string {
	if rest, in := paths.Rest(from, path); in && from != "" && to != "" {
		return filepath.Join(to, rest)
	}
	return path
}
