package host

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/files"
)

// listening returns the files of the sockets on which something listens, as far as the kernel's table
// has an absolute name for them: the one that a socket was bound by. The table is that of one network
// namespace. Flag 00010000 is __SO_ACCEPTCON (net/unix/af_unix.c, unix_seq_show).
//
// A table that cannot be read, or is not that table (a container's runtime covers
// files of /proc with empty ones), is an error: nobody knows what to hide then.
func (l *looker) listening(table string) ([]string, error) {
	data, err := os.ReadFile(table)
	if err != nil {
		return nil, err
	}
	if len(data) > os.Getpagesize() {
		// It came in parts: the kernel finds its place again by counting, and something that goes
		// meanwhile makes it skip a line.
		again, _ := os.ReadFile(table)
		_, again, _ = bytes.Cut(again, []byte("\n")) // without the heading
		data = append(data, again...)
	}
	if !bytes.HasPrefix(data, []byte("Num ")) {
		return nil, fmt.Errorf("%s is not the kernel's table of sockets", table)
	}
	names := map[string]bool{} // boxes that live have many of one name
	for _, line := range tableLines(string(data)) {
		names[listener(line)] = true
	}
	var out []string
	delete(names, "")
	for name := range names {
		if at := l.look(files.Real(name)); filepath.IsAbs(name) && at.Kind == Socket { // as it was bound
			out = append(out, at.Real)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// tableLines divides the table of sockets. A line begins with an address, which has as many digits
// as a pointer; what does not is the rest of a name with a line end in it.
func tableLines(table string) []string {
	var out []string
	for line := range strings.Lines(table) {
		address, _, ok := strings.Cut(line, ": ")
		if ok && (len(address) == 16 || len(address) == 8) && strings.Trim(address,
			"0123456789abcdef") == "" || len(out) == 0 {
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

// listener returns the name of the socket of a line; "" for one that neither listens nor is for
// datagrams, which need no listener.
func listener(line string) string {
	f := strings.SplitN(line, " ", 8) // the path may hold spaces
	if len(f) < 8 || f[3] != "00010000" && f[4] != "0002" {
		return ""
	}
	// The inode column is padded, so it is in one of the two.
	_, name, _ := strings.Cut(strings.TrimLeft(f[6]+" "+f[7], " "), " ")
	return name
}
