package ownhome

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
)

// Was is where a project was when it had homes, if it has been moved since; "" when the owner has a home, or
// it is not known.
func Was(innerHome string, o Owner) string {
	if files.Exists(filepath.Join(Base(innerHome), o.Key())) {
		return ""
	}
	entries, _ := os.ReadDir(Base(innerHome))
	is := files.Identity(unix.AT_FDCWD, o.Project)
	unknown := is == "" || strings.HasSuffix(is, ":0.0") // a file system without times of birth gives numbers again
	for _, e := range entries {
		rec, err := ReadRecord(filepath.Join(Base(innerHome), e.Name()))
		if err == nil && !unknown && rec.Identity == is && rec.Project != o.Project && !files.Exists(rec.Project) {
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
