package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// looker examines paths. It remembers folders, so that hundreds of paths of
// one home cost little more than that many calls of lstat, and less where the
// folder is not there.
type looker struct {
	dirs  map[string]Path
	names map[string]*listing        // what a folder holds, by its path
	meant map[string][]found         // the folders a pattern means, see globDir
	held  map[string]map[string]bool // what the folders hold that were read whole, in lower case
}

func newLooker() looker {
	return looker{dirs: map[string]Path{}, names: map[string]*listing{}, meant: map[string][]found{}, held: map[string]map[string]bool{}}
}

// Look looks at one path.
func Look(p string) Path { return newLooker().look(p) }

// dir looks at a folder, once.
func (l looker) dir(p string) Path {
	if seen, ok := l.dirs[p]; ok {
		return seen
	}
	seen := l.look(p)
	l.dirs[p] = seen
	return seen
}

// split divides a clean absolute path before its last name. filepath.Dir cleans it
// again, which costs more than all the rest when most paths are not there.
func split(p string) (dir, base string) {
	i := strings.LastIndexByte(p, '/')
	if i < 0 {
		return filepath.Dir(p), filepath.Base(p) // relative: the caller's mistake
	}
	return p[:max(i, 1)], p[i+1:]
}

// many is how many paths of one folder make reading the folder cheaper than asking for
// each path.
const many = 8

// listFull reads the folders of which many paths are asked.
func (l looker) listFull(paths []string) {
	count := map[string]int{}
	for _, p := range paths {
		dir, _ := split(p)
		if count[dir]++; count[dir] != many {
			continue
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // what was not read tells nothing
		}
		held := make(map[string]bool, len(entries))
		for _, e := range entries {
			held[strings.ToLower(e.Name())] = true // some file systems do not tell case
		}
		l.held[dir] = held
	}
}

// Names returns a function that tells what a folder holds, in lower case since some
// file systems do not tell case, and whether that could be read. It reads each
// folder once.
func Names() func(dir string) (map[string]bool, bool) {
	seen := map[string]map[string]bool{}
	return func(dir string) (map[string]bool, bool) {
		held, done := seen[dir]
		if !done {
			if entries, err := os.ReadDir(dir); err == nil {
				held = make(map[string]bool, len(entries))
				for _, e := range entries {
					held[strings.ToLower(e.Name())] = true
				}
			} else if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
				held = map[string]bool{}
			}
			seen[dir] = held
		}
		return held, held != nil
	}
}

// absent reports whether a folder was read and does not hold the name.
func (l looker) absent(dir, base string) bool {
	held, read := l.held[dir]
	return read && !held[base] && !held[strings.ToLower(base)]
}

// look examines one path. It follows links: Real is where they lead; for a
// missing path it is the real path of the deepest folder that exists, with the
// rest appended.
func (l looker) look(p string) Path {
	if p == "/" {
		return Path{Kind: Dir, Real: "/"}
	}
	dir, base := split(p)
	parent := l.dir(dir)
	at := strings.TrimSuffix(parent.Real, "/") + "/" + base
	if parent.Kind == Missing || l.absent(dir, base) {
		return Path{Kind: Missing, Real: at, Hops: parent.Hops}
	}
	hops := parent.Hops
	fi, err := os.Lstat(at)
	if err == nil && fi.Mode()&fs.ModeSymlink != 0 {
		if more, _, ferr := follow(at); ferr == nil {
			hops = slices.Concat(hops, more)
		}
		real, lerr := filepath.EvalSymlinks(at)
		if lerr == nil {
			at = real
			fi, err = os.Lstat(real)
		} else {
			// Dangling: there is nothing to read behind it.
			if errors.Is(lerr, fs.ErrNotExist) {
				return Path{Kind: Missing, Real: at, Link: true, Hops: hops}
			}
			err = lerr
		}
	}
	switch {
	case err == nil:
		return Path{Kind: kindOf(fi.Mode()), Real: at, ID: idOf(fi), links: linksOf(fi), Hops: hops}
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), len(filepath.Base(p)) > unix.NAME_MAX:
		return Path{Kind: Missing, Real: at, Hops: hops}
	default:
		return Path{Kind: Denied, Real: at, Hops: hops}
	}
}

func idOf(fi fs.FileInfo) ID {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return ID{}
	}
	return ID{uint64(st.Dev), st.Ino}
}

// linksOf returns how many names a file has.
func linksOf(fi fs.FileInfo) uint64 {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 1
	}
	return uint64(st.Nlink)
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
