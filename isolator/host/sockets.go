package host

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/paths"
)

// sockets returns the files of the sockets on which something listens: those that the kernel's
// table names, and those in the folders that were read. The table is that of one network
// namespace, and has each socket by the name that it was bound by in its mount namespace.
func (l *looker) sockets(table string, near []string) ([]string, error) {
	out, err := listening(table, near)
	if err != nil {
		return nil, err
	}
	for dir, in := range l.read {
		for _, name := range in.sockets {
			at := l.look(paths.Join(dir, name))
			if at.Kind == Socket && !slices.Contains(out, at.Real) && listens(at.Real) {
				out = append(out, at.Real)
			}
		}
	}
	slices.Sort(out)
	return out, nil
}

// listens reports whether a program has a socket of the file: anything counts but the error that
// says that none has. One that was left behind stays as it is: a server could not bind it again if it
// were covered. No program notices the question. A socket for datagrams is connected without the
// other end, and to one of another kind there is no connection: the kernel looks for it first
// and gives ECONNREFUSED, then compares the kinds and gives EPROTOTYPE (net/unix/af_unix.c,
// unix_find_bsd). The path of a descriptor is short, whatever the name of the file.
func listens(socket string) bool {
	at, err := unix.Open(socket, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err != unix.ENOENT
	}
	defer unix.Close(at)
	s, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return true
	}
	defer unix.Close(s)
	return unix.Connect(s, &unix.SockaddrUnix{Name: fmt.Sprintf("/proc/self/fd/%d", at)}) != unix.ECONNREFUSED
}

// unplaced is a socket bound under a name that is relative to where its process
// was: /proc/net/unix shows the name as it was given.
type unplaced struct{ inode, name string }

// place returns the files of sockets with relative names: below the working
// folder of whoever has the socket open, and, since that process may have gone
// elsewhere, of that name in the folders near. It looks at every process of the
// user, and is only called when there is such a socket.
func place(list []unplaced, near []string) []string {
	var out []string
	add := func(dir, name string) {
		if real, ok := socketAt(filepath.Join(dir, name)); ok {
			out = append(out, real)
		}
	}
	names := map[string]string{}
	for _, u := range list {
		names["socket:["+u.inode+"]"] = u.name
		for _, dir := range near {
			add(dir, u.name)
		}
	}
	fds, _ := filepath.Glob("/proc/[0-9]*/fd/*") // nothing of another user's
	for _, fd := range fds {
		target, err := os.Readlink(fd)
		if err != nil || names[target] == "" {
			continue
		}
		if cwd, err := os.Readlink(filepath.Join(fd, "../../cwd")); err == nil {
			add(strings.TrimSuffix(cwd, " (deleted)"), names[target])
		}
	}
	return out
}

// listening reads the pathname sockets that accept connections. Flag
// 00010000 is __SO_ACCEPTCON (net/unix/af_unix.c, unix_seq_show).
//
// near are the folders in which sockets with relative names are looked for.
//
// A table that cannot be read, or is not that table (a container's runtime covers
// files of /proc with empty ones), is an error: nobody knows what to hide then.
func listening(table string, near []string) ([]string, error) {
	data, err := readTwice(table)
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(data, []byte("Num ")) {
		return nil, fmt.Errorf("%s is not the kernel's table of sockets", table)
	}
	var out []string
	var relative []unplaced
	for _, line := range tableLines(string(data)) {
		inode, name := listener(line)
		if name == "" || name[0] == '@' { // without a name, or abstract
			continue
		}
		if name[0] != '/' {
			relative = append(relative, unplaced{inode, name})
		} else if real, ok := socketAt(name); ok {
			out = append(out, real)
		}
	}
	if len(relative) > 0 {
		out = append(out, place(relative, near)...)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// readTwice reads a table of /proc, and what comes in several parts once more: the kernel
// finds its place again by counting, and something that goes in between makes it skip a line.
func readTwice(table string) ([]byte, error) {
	data, parts, err := readParts(table)
	if err != nil || parts <= 1 {
		return data, err
	}
	again, _, err := readParts(table)
	_, again, _ = bytes.Cut(again, []byte("\n")) // without the heading
	return append(data, again...), err
}

// tableLines divides the table of sockets. A line begins with an address, which has as many digits
// as a pointer; what does not is the rest of a name with a line end in it.
func tableLines(table string) []string {
	var out []string
	for line := range strings.Lines(table) {
		address, _, ok := strings.Cut(line, ": ")
		if ok && (len(address) == 16 || len(address) == 8) && strings.Trim(address, "0123456789abcdef") == "" || len(out) == 0 {
			out = append(out, line)
		} else {
			out[len(out)-1] += line
		}
	}
	for i, line := range out {
		out[i] = strings.TrimSuffix(line, "\n")
	}
	return out
}

// listener returns the inode and the name of the socket of a line; "" for one that neither
// listens nor is for datagrams, which need no listener.
func listener(line string) (inode, name string) {
	f := strings.SplitN(line, " ", 8) // the path may hold spaces
	if len(f) < 8 || f[3] != "00010000" && f[4] != "0002" {
		return "", ""
	}
	// The inode column is padded, so it is in one of the two.
	inode, name, _ = strings.Cut(strings.TrimLeft(f[6]+" "+f[7], " "), " ")
	return inode, name
}

// readParts reads a file of /proc to its end and counts the parts it came in.
func readParts(path string) (data []byte, parts int, err error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, 0, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	buf := make([]byte, os.Getpagesize()) // such a file gives no more at once
	for {
		n, err := unix.Read(fd, buf)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return nil, 0, &fs.PathError{Op: "read", Path: path, Err: err}
		case n <= 0:
			return data, parts, nil
		default:
			data, parts = append(data, buf[:n]...), parts+1
		}
	}
}
