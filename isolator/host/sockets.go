package host

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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
