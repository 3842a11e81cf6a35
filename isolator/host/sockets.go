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
)

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
	for line := range strings.Lines(string(data)) {
		inode, name := listener(strings.TrimSuffix(line, "\n"))
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
	return append(data, again...), err
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
