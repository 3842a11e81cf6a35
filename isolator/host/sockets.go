package host

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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
		real, err := filepath.EvalSymlinks(filepath.Join(dir, name))
		if err != nil {
			return
		}
		if fi, err := os.Lstat(real); err == nil && kindOf(fi.Mode()) == Socket {
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
	processes, _ := os.ReadDir("/proc") // without one nothing is found near
	for _, p := range processes {
		if _, err := strconv.Atoi(p.Name()); err != nil {
			continue
		}
		fds, err := os.ReadDir(filepath.Join("/proc", p.Name(), "fd"))
		if err != nil {
			continue // another user's
		}
		for _, fd := range fds {
			target, err := os.Readlink(fmt.Sprintf("/proc/%s/fd/%s", p.Name(), fd.Name()))
			if err != nil || names[target] == "" {
				continue
			}
			if cwd, err := os.Readlink(fmt.Sprintf("/proc/%s/cwd", p.Name())); err == nil {
				add(strings.TrimSuffix(cwd, " (deleted)"), names[target])
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// listening reads the pathname sockets that accept connections. Flag
// 00010000 is __SO_ACCEPTCON (net/unix/af_unix.c, unix_seq_show).
//
// The kernel hands a long list out in parts and finds its place again by
// counting: a socket that closes in between makes it skip one. Hence twice.
//
// near are the folders in which sockets with relative names are looked for.
//
// A table that cannot be read, or is not that table (a container's runtime covers
// files of /proc with empty ones), is an error: nobody knows what to hide then.
func listening(table string, near []string) ([]string, error) {
	data, parts, err := readParts(table)
	if err == nil && parts > 1 {
		var again []byte
		again, _, err = readParts(table)
		data = append(data, again...)
	}
	if err == nil && !bytes.HasPrefix(data, []byte("Num ")) {
		err = fmt.Errorf("%s is not the kernel's table of sockets", table)
	}
	if err != nil {
		return nil, err
	}
	var out []string
	var relative []unplaced
	sc := bufio.NewScanner(bytes.NewReader(data))
	for sc.Scan() {
		f := strings.SplitN(sc.Text(), " ", 8) // the path may hold spaces
		if len(f) < 8 || f[3] != "00010000" && f[4] != "0002" {
			continue // neither listening nor for datagrams, which need no listener
		}
		// The inode column is padded, so it is in one of the two.
		inode, rest, _ := strings.Cut(strings.TrimLeft(f[6]+" "+f[7], " "), " ")
		switch {
		case rest == "" || rest[0] == '@': // without a name, or abstract
			continue
		case rest[0] != '/':
			relative = append(relative, unplaced{inode, rest})
			continue
		}
		if real, err := filepath.EvalSymlinks(rest); err == nil {
			if fi, err := os.Lstat(real); err == nil && fi.Mode()&fs.ModeSocket != 0 {
				out = append(out, real)
			}
		}
	}
	if len(relative) > 0 {
		out = append(out, place(relative, near)...)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// readParts reads a file of /proc to its end and counts the parts it came in.
func readParts(path string) (data []byte, parts int, err error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, 0, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	buf := make([]byte, 64<<10)
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
