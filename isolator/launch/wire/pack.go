package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// What the box may write of settings and histories lies in its own memory, with a size
// that the kernel holds. bwrap mounts those folders empty. The launcher packs what it
// has prepared for each into a sealed file in memory, and the supervisor unpacks that
// before the program starts: nothing of the host is mounted for it, and no descriptor
// of a folder of the host enters the box. The launcher gets descriptors of the folders:
// they outlive the box, so that a login which was renewed there can be kept.

// What a pack holds: for each entry its kind, mode, length of its name and its size, in
// 4, 4, 4 and 8 bytes, then its name, then the bytes of a file, or the entries of a
// folder and an end.
const (
	packEnd = iota
	packFile
	packFolder
)

type packed struct {
	Kind, Mode, Name uint32
	Size             uint64
}

// fdWriter writes to a descriptor.
type fdWriter int

func (w fdWriter) Write(p []byte) (int, error) { return len(p), WriteAll(int(w), p) }

// Pack returns a Memfd that holds the folders and regular files of a folder.
func Pack(folder string) (int, error) {
	fd, err := emptyMemfd()
	if err != nil {
		return -1, err
	}
	w := bufio.NewWriterSize(fdWriter(fd), 64<<10)
	from, err := OpenFolder(unix.AT_FDCWD, folder)
	if err == nil {
		err = errors.Join(packEntries(w, from), w.Flush())
	}
	if err == nil {
		_, err = unix.Seek(fd, 0, io.SeekStart)
	}
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("%q: %w", folder, err)
	}
	return fd, seal(fd)
}

func OpenFolder(dir int, name string) (int, error) {
	return unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}

// packEntries packs what is in an open folder, and closes it.
func packEntries(w io.Writer, folder int) error {
	dir := os.NewFile(uintptr(folder), "folder")
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		fd, err := unix.Openat(folder, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err == unix.ELOOP || err == unix.ENXIO {
			continue // a link, or a socket
		}
		if err != nil {
			return err
		}
		if err := packEntry(w, fd, name); err != nil {
			return err
		}
	}
	return binary.Write(w, binary.LittleEndian, packed{Kind: packEnd})
}

func packEntry(w io.Writer, fd int, name string) error {
	file := os.NewFile(uintptr(fd), name)
	defer file.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	e := packed{Mode: st.Mode & 0o777, Name: uint32(len(name))}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		e.Kind, e.Size = packFile, uint64(st.Size)
	case unix.S_IFDIR:
		e.Kind = packFolder
	default:
		return nil
	}
	if err := binary.Write(w, binary.LittleEndian, e); err != nil {
		return err
	}
	if _, err := io.WriteString(w, name); err != nil {
		return err
	}
	if e.Kind == packFile {
		_, err := io.CopyN(w, file, st.Size)
		return err
	}
	again, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return err
	}
	return packEntries(w, again)
}

// Unpack unpacks the entries of a folder into an open one. What is there already is
// another mount, or leads to one, and stays as it is: into -1 nothing is written.
func Unpack(r io.Reader, folder int) error {
	for {
		var e packed
		if err := binary.Read(r, binary.LittleEndian, &e); err != nil {
			return err
		}
		name := make([]byte, e.Name)
		if _, err := io.ReadFull(r, name); err != nil {
			return err
		}
		var err error
		switch e.Kind {
		case packEnd:
			return nil
		case packFile:
			err = unpackFile(io.LimitReader(r, int64(e.Size)), folder, string(name), e.Mode)
		default:
			err = unpackFolder(r, folder, string(name), e.Mode)
		}
		if err != nil {
			return err
		}
	}
}

func unpackFile(r io.Reader, folder int, name string, mode uint32) error {
	var to io.Writer = io.Discard
	if folder >= 0 {
		fd, err := unix.Openat(folder, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
		if err != nil && err != unix.EEXIST {
			return err
		}
		if err == nil {
			defer unix.Close(fd)
			to = fdWriter(fd)
		}
	}
	_, err := io.Copy(to, r)
	return err
}

func unpackFolder(r io.Reader, folder int, name string, mode uint32) error {
	to := -1
	if folder >= 0 {
		if err := unix.Mkdirat(folder, name, mode); err != nil && err != unix.EEXIST {
			return err
		}
		fd, err := OpenFolder(folder, name)
		if err != nil && err != unix.ENOTDIR && err != unix.ELOOP {
			return err
		}
		if err == nil {
			defer unix.Close(fd)
			var here, there unix.Stat_t
			if err := errors.Join(unix.Fstat(folder, &here), unix.Fstat(fd, &there)); err != nil {
				return err
			}
			if here.Dev == there.Dev {
				to = fd
			}
		}
	}
	return Unpack(r, to)
}
