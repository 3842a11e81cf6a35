package host

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
)

// looker examines paths. It remembers folders, so that hundreds of paths of
// one home cost little more than that many calls of lstat, and less where the
// folder is not there.
type looker struct {
	*Folders
	paths  map[string]Path     // of folders that were looked at
	inside map[string][]string // what lies in folders, see glob

	key, kept any // see Kept
}

func newLooker(f *Folders) *looker {
	return &looker{Folders: f, paths: map[string]Path{}, inside: map[string][]string{}}
}

// Look looks at one path.
func Look(p string) Path { return newLooker(NewFolders()).look(p) }

// dir looks at a folder, once.
func (l *looker) dir(p string) Path {
	if seen, ok := l.paths[p]; ok {
		return seen
	}
	seen := l.look(p)
	l.paths[p] = seen
	return seen
}

// split divides a clean absolute path before its last name. filepath.Dir cleans it
// again, which costs more than all the rest when most paths are not there.
func split(p string) (dir, base string) {
	i := strings.LastIndexByte(p, '/')
	if i < 0 {
		return "/", p // relative: the caller's mistake
	}
	return p[:max(i, 1)], p[i+1:]
}

// look examines one path. It follows links: Real is where they lead; for a
// missing path it is the real path of the deepest folder that exists, with the
// rest appended.
func (l *looker) look(p string) Path {
	if p == "/" {
		return Path{Kind: Dir, Real: "/"}
	}
	dir, base := split(p)
	parent := l.dir(dir)
	at := strings.TrimSuffix(parent.Real, "/") + "/" + base
	if parent.Kind == Missing || l.Lacks(p) {
		return Path{Kind: Missing, Real: at, Hops: parent.Hops}
	}
	fi, err := os.Lstat(at)
	if err == nil && fi.Mode()&fs.ModeSymlink != 0 {
		return l.behind(at, parent.Hops)
	}
	return path(at, fi, err, parent.Hops)
}

// behind looks at what a link leads to.
func (l *looker) behind(at string, hops []Hop) Path {
	more, to, err := files.Follow(at)
	if err == nil {
		hops = slices.Concat(hops, more)
	}
	fi, there := os.Stat(at)
	switch {
	case errors.Is(there, fs.ErrNotExist), errors.Is(there, syscall.ELOOP): // there is nothing to read behind it
		return Path{Kind: Missing, Real: at, Link: to, Hops: hops}
	case there != nil || err != nil:
		return path(at, nil, cmp.Or(there, err), hops)
	}
	return path(to, fi, nil, hops)
}

// path is what lstat has said of a path without links.
func path(at string, fi fs.FileInfo, err error, hops []Hop) Path {
	switch {
	case err == nil:
		return Path{Kind: kindOf(fi.Mode()), Real: at, ID: idOf(fi), Hops: hops}
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), len(filepath.Base(at)) > unix.NAME_MAX:
		return Path{Kind: Missing, Real: at, Hops: hops}
	}
	return Path{Kind: Denied, Real: at, Hops: hops}
}

func idOf(fi fs.FileInfo) ID {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return ID{}
	}
	return ID{uint64(st.Dev), st.Ino}
}

func kindOf(m fs.FileMode) Kind {
	switch {
	case m.IsRegular():
		return File
	case m.IsDir():
		return Dir
	case m&fs.ModeSocket != 0:
		return Socket
	default:
		return Other
	}
}
