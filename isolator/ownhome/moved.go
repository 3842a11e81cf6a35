package ownhome

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
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

// Hand makes the home of a key, which the caller holds, that of the project at another path. It can be called again
// after a crash: the record is written last.
func Hand(innerHome, key, project string) error {
	h := Home{folder: filepath.Join(Base(innerHome), key)}
	var err error
	if h.rec, err = ReadRecord(h.folder); err != nil {
		return err
	}
	from := strings.TrimPrefix(h.rec.Project, "/")
	h.rec.Project, h.rec.Identity = project, identity(project)
	all, err := h.staged()
	if err != nil {
		return err
	}
	own := map[string]put{}
	for rel, is := range all[filesLabel] { // see FileOf
		to := rel
		if below, ok := strings.CutPrefix(rel, from+"/"); ok {
			to = filepath.Join(project, below)[1:]
			for _, top := range []string{filesName, "base/" + filesName} {
				at := filepath.Join(h.folder, top, to)
				err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.Rename(filepath.Join(h.folder, top, rel), at))
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					return err
				}
			}
		}
		own[to] = is
	}
	if all[filesLabel] != nil {
		all[filesLabel] = own
		err = h.writeStaged(all)
	}
	if to := filepath.Join(Base(innerHome), h.rec.Key()); err == nil && to != h.folder {
		err = unix.Renameat2(unix.AT_FDCWD, h.folder, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
		h.folder = to
	}
	if err != nil {
		return err
	}
	return h.write()
}
