// Package proc parses files of /proc. It opens nothing: the caller has read the text, and knows
// which process it is of.
package proc

import (
	"bytes"
	"slices"
	"strings"
)

// Mount is one line of /proc/PID/mountinfo (proc_pid_mountinfo(5)).
type Mount struct {
	Device string // major:minor
	Root   string // the part of the file system that is mounted; some file systems give no path
	At     string
	Type   string
	Write  bool // neither the mount nor the file system is read-only
}

// plain is a path as a mountinfo has it.
func plain(path string) string {
	if strings.IndexByte(path, '\\') < 0 { // as nearly always
		return path
	}
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\043`, "#", `\134`, `\`).Replace(path)
}

// Points are the places of a mountinfo at which something is mounted.
func Points(mountinfo []byte) map[string]bool {
	out := map[string]bool{}
	for line := range bytes.Lines(mountinfo) {
		var at []byte
		for range 5 {
			at, line, _ = bytes.Cut(line, []byte(" "))
		}
		out[plain(string(at))] = true
	}
	return out
}

// Mounts reads a mountinfo, in its order. Lines that are none are passed over.
func Mounts(mountinfo []byte) []Mount {
	// 31 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw
	var out []Mount
	for line := range bytes.Lines(mountinfo) {
		f := strings.Split(strings.TrimSuffix(string(line), "\n"), " ") // the name of a device may be empty
		end := slices.Index(f, "-")
		if end < 6 || len(f) < end+4 {
			continue
		}
		write := func(options string) bool { return slices.Contains(strings.Split(options, ","), "rw") }
		out = append(out, Mount{f[2], plain(f[3]), plain(f[4]), f[end+1], write(f[5]) && write(f[end+3])})
	}
	return out
}
