package ownhome

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

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

// Hand makes the home of a key, which the caller holds, that of the project at another path, with the copies of files
// that it has (FileOf). It can be called again after a crash: the record is written last.
func Hand(innerHome, key, project string) error {
	h := Home{folder: filepath.Join(Base(innerHome), key)}
	rec, err := ReadRecord(h.folder)
	was := rec.Project
	rec.Project, rec.Identity = project, identity(project)
	moves := [][2]string{{h.folder, filepath.Join(Base(innerHome), rec.Key())}}
	for _, copies := range []string{filesName, "base/" + filesName} {
		top := filepath.Join(h.folder, copies)
		moves = append(moves, [2]string{filepath.Join(top, was), filepath.Join(top, project)})
	}
	for _, m := range slices.Backward(moves) {
		if err == nil && m[0] != m[1] && files.Exists(m[0]) {
			err = errors.Join(os.MkdirAll(filepath.Dir(m[1]), 0o700), os.Rename(m[0], m[1]))
		}
	}
	if err != nil {
		return err
	}
	h.folder, h.rec = moves[0][1], rec
	all, err := h.staged()
	put := maps.Clone(all[filesLabel])
	for at, is := range put {
		if rel, in := paths.Rest(was, "/"+at); in {
			delete(all[filesLabel], at)
			all[filesLabel][strings.TrimPrefix(filepath.Join(project, rel), "/")] = is
		}
	}
	if len(put) > 0 {
		err = errors.Join(err, h.writeStaged(all))
	}
	return errors.Join(err, h.write())
}
