package files

import (
	"encoding/binary"
	"io/fs"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Entry is a name in a folder. Its Type says what is there, and no rights.
type Entry struct {
	Name string
	Type fs.FileMode
}

// IsDir reports whether it is a folder, and no link to one.
func (e Entry) IsDir() bool { return e.Type.IsDir() }

// Compare is the order of two names.
func (e Entry) Compare(other Entry) int { return strings.Compare(e.Name, other.Name) }

// types are those of entries, by what getdents(2) calls them: the upper bits of a mode.
var types = [16]fs.FileMode{ // allowed: never changed
	unix.DT_FIFO: fs.ModeNamedPipe, unix.DT_CHR: fs.ModeDevice | fs.ModeCharDevice, unix.DT_DIR: fs.ModeDir, unix.DT_BLK: fs.ModeDevice,
	unix.DT_REG: 0, unix.DT_LNK: fs.ModeSymlink, unix.DT_SOCK: fs.ModeSocket,
}

// Type is what a mode of stat(2) says is there.
func Type(mode uint32) fs.FileMode { return types[mode&unix.S_IFMT>>12] }

// List returns what an open folder holds, in the folder's order: all, or what keep says. It looks at nothing but the
// names, with which most file systems tell what is there. With an error it returns what could be read.
func List(fd int, keep func(name string, what fs.FileMode) bool) (out []Entry, err error) {
	var room [32 << 10]byte // on the stack: on the heap those of hundreds of folders would have the collector run
	buf := room[:]
	for {
		n, err := unix.Getdents(fd, buf)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil || n <= 0:
			return out, os.NewSyscallError("getdents64", err)
		}
		text := string(buf[:n]) // the names are parts of it: a start reads tens of thousands
		for at := 0; at < n; {  // inode, offset, length, what it is, name
			ino, size, what := binary.NativeEndian.Uint64(buf[at:]), binary.NativeEndian.Uint16(buf[at+16:]), buf[at+18]
			name, _, _ := strings.Cut(text[at+19:at+int(size)], "\x00")
			at += int(size)
			if ino == 0 || name == "." || name == ".." {
				continue
			}
			if what == unix.DT_UNKNOWN {
				var st unix.Stat_t
				if unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
					continue // it is gone
				}
				what = byte(st.Mode & unix.S_IFMT >> 12)
			}
			switch e := (Entry{name, types[what&15]}); {
			case keep == nil:
				out = append(out, e)
			case keep(name, e.Type):
				out = append(out, Entry{strings.Clone(name), e.Type})
			}
		}
	}
}

// ReadDir is what a folder holds, sorted.
func ReadDir(dir string) ([]Entry, error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	defer unix.Close(fd)
	out, err := List(fd, nil)
	slices.SortFunc(out, Entry.Compare)
	return out, err
}
