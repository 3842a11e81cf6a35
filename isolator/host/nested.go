package host

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"

	"github.com/enr/inner/isolator/userns"
)

// Nested is what the host has for boxes that make containers: the helpers that
// write id maps, and the ids the user may give away.
type Nested struct {
	NewUIDMap string       `json:"newuidmap"` // absolute paths
	NewGIDMap string       `json:"newgidmap"`
	UIDs      userns.Range `json:"uids"`
	GIDs      userns.Range `json:"gids"`
	Name      string       `json:"name"`          // the user's, of the password file
	Why       string       `json:"why,omitempty"` // why it cannot be done, "" when it can
	Fix       string       `json:"fix,omitempty"` // what to type then
}

// ProbeNested looks for them.
func ProbeNested(uid, gid int) Nested {
	n := Nested{Name: strconv.Itoa(uid)}
	if u, err := user.LookupId(n.Name); err == nil {
		n.Name = u.Username
	}
	cannot := func(fix, format string, args ...any) Nested {
		n.Why, n.Fix = fmt.Sprintf(format, args...), fix
		return n
	}
	if uid == 0 {
		return cannot("run inner as a plain user", "containers in a box are for plain users, not for root")
	}
	for _, h := range []struct {
		name string
		path *string
	}{{"newuidmap", &n.NewUIDMap}, {"newgidmap", &n.NewGIDMap}} {
		var why string
		if *h.path, why = helper(h.name); why != "" {
			return cannot("sudo apt-get install uidmap", "%s", why)
		}
	}
	for _, s := range []struct {
		file, option string
		own          int
		r            *userns.Range
	}{{"/etc/subuid", "--add-subuids", uid, &n.UIDs}, {"/etc/subgid", "--add-subgids", gid, &n.GIDs}} {
		text, _ := os.ReadFile(s.file) // a missing one gives nobody anything
		var ok bool
		if *s.r, ok = userns.Subordinate(text, n.Name, uid, s.own); !ok {
			free := userns.Free(text)
			fix := fmt.Sprintf("sudo usermod %s %d-%d %s", s.option, free.Start, free.Start+free.Count-1, n.Name)
			return cannot(fix, "%s has no range of %d ids for %s", s.file, userns.Need, n.Name)
		}
	}
	return n
}

// helper returns the path of a program of the system that has the privilege to
// write id maps, or why there is none.
func helper(name string) (path, why string) {
	return find(name, []string{"/usr/bin", "/bin", "/run/wrappers/bin"}, func(real string) string {
		if Privileged(real) {
			return ""
		}
		return real + " has neither the set-user-id bit nor file capabilities"
	})
}

// Privileged reports whether a program starts with more than its caller has:
// set-user-id as Debian has it, or file capabilities as Fedora does.
func Privileged(path string) bool {
	if fi, err := os.Stat(path); err == nil && fi.Mode()&os.ModeSetuid != 0 {
		return true
	}
	n, err := syscall.Getxattr(path, "security.capability", nil)
	return err == nil && n > 0
}
