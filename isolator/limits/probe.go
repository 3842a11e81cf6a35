package limits

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/proc"
)

// Host says what a host offers to enforce limits with.
type Host struct {
	Systemd  Manager `json:"systemd"`
	Group    Parent  `json:"cgroup"`
	NprocWhy string  `json:"nproc_why,omitempty"` // why RLIMIT_NPROC does not hold, "" when it does
	// Open says that who mounts control groups again can change the group that it is in (cgroups(7), nsdelegate).
	Open bool `json:"open,omitempty"`
}

// Manager is a service manager of systemd that answers this user.
type Manager struct {
	Run     string   `json:"run,omitempty"`     // systemd-run, absolute
	Env     string   `json:"env,omitempty"`     // env(1), absolute
	User    bool     `json:"user,omitempty"`    // it is the user's, not the system's
	Runtime string   `json:"runtime,omitempty"` // $XDG_RUNTIME_DIR
	Holds   []string `json:"holds,omitempty"`   // controllers it was given
	Why     string   `json:"why,omitempty"`     // why there is none
}

// Parent is a control group in which inner can make one for a run.
type Parent struct {
	Parent string   `json:"parent,omitempty"` // its folder
	Holds  []string `json:"holds,omitempty"`  // controllers of groups made there
	Enable []string `json:"enable,omitempty"` // those of them that are not switched on yet
	Why    string   `json:"why,omitempty"`
}

// Request says which host and which user to look at.
type Request struct {
	Root    string // put before every path; "" but in tests
	UID     int
	Runtime string // $XDG_RUNTIME_DIR
	// Find returns the path of a program only root can have put there, or why
	// there is none.
	Find func(name string) (path, why string)
}

// Probe finds out what the host has. It starts no program and changes nothing.
func Probe(r Request) Host {
	mount, own, why := r.unified("self")
	h := Host{Group: Parent{Why: why}}
	if why == "" {
		h.Group = r.parent(mount, own)
	}
	h.Systemd = r.systemd(mount)
	h.NprocWhy = r.nproc()
	h.Open = !strings.Contains(r.text("/proc/self/mountinfo"), "nsdelegate")
	return h
}

// swapWhy says why a group without memory.swap.max does not hold memory.
const swapWhy = "this kernel does not count swap (swapaccount=1 on its command line has it counted), and swap is on"

// swapOn reports whether the kernel has somewhere to swap to: /proc/swaps has a line for each
// place, below a heading (proc(5)).
func (r Request) swapOn() bool { return strings.Contains(r.text("/proc/swaps"), "\n") }

// nproc returns why RLIMIT_NPROC cannot be used here, or "". Since Linux 5.14 the kernel
// counts processes for each user namespace, and the box of a plain user has one; before, it
// counted all processes of the user. Root is exempt in any namespace (fork(2);
// measured on 6.18 with --unshare-user and another uid inside).
func (r Request) nproc() string {
	if r.UID == 0 {
		return "the kernel does not limit the number of root's processes (RLIMIT_NPROC)"
	}
	release := r.text("/proc/sys/kernel/osrelease")
	var major, minor int
	if n, _ := fmt.Sscanf(release, "%d.%d", &major, &minor); n != 2 || major < 5 || major == 5 && minor < 14 {
		return fmt.Sprintf("Linux %q counts the processes outside the box as well (RLIMIT_NPROC, before 5.14)", release)
	}
	return ""
}

func (r Request) at(path string) string { return filepath.Join(r.Root, path) }

// text returns the content of a small file, "" when it cannot be read.
func (r Request) text(path string) string {
	data, err := os.ReadFile(r.at(path))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// unified returns the folder where control groups of version 2 are mounted, and that of the
// group of a process; or why there is none.
func (r Request) unified(pid string) (mount, own, why string) {
	for line := range strings.Lines(r.text("/proc/" + pid + "/cgroup")) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			own = path
		}
	}
	if own == "" {
		return "", "", "the kernel has no control groups of version 2"
	}
	for _, m := range proc.Mounts([]byte(r.text("/proc/self/mountinfo"))) {
		if m.Type != "cgroup2" || outside(own) || outside(m.Root) {
			continue
		}
		rel, err := filepath.Rel(m.Root, own)
		if err == nil && filepath.IsLocal(rel) {
			return m.At, filepath.Join(m.At, rel), ""
		}
	}
	return "", "", "control groups of version 2 are not mounted, or not those of this process"
}

// outside reports whether a path leads out of what a control group namespace
// shows (cgroup_namespaces(7)).
func outside(path string) bool { return path == "/.." || strings.HasPrefix(path, "/../") }

// parent looks for the group, among our own and those above it, in which a new group could hold
// the most limits. The kernel lets us move a new process into it, because it contains both the
// group that the process is in and the new one (cgroups(7), "Cgroups delegation").
func (r Request) parent(mount, own string) Parent {
	best := Parent{Why: "no control group of version 2 is delegated to this user"}
	for dir := own; ; dir = filepath.Dir(dir) {
		if p := r.usable(dir); len(p.Holds) > len(best.Holds) {
			best = p
		}
		if dir == mount || len(dir) <= 1 {
			break
		}
	}
	return best
}

// usable returns which controllers a group made in dir would have.
func (r Request) usable(dir string) Parent {
	p := Parent{Parent: dir}
	writable := func(name string) bool { return unix.Access(r.at(filepath.Join(dir, name)), unix.W_OK) == nil }
	if kind := r.text(filepath.Join(dir, "cgroup.type")); kind != "" && kind != "domain" ||
		!writable(".") || !writable("cgroup.procs") {
		return p
	}
	on := strings.Fields(r.text(filepath.Join(dir, "cgroup.subtree_control")))
	has := strings.Fields(r.text(filepath.Join(dir, "cgroup.controllers")))
	// A group with processes hands no controller on ("no internal processes", cgroups(7)).
	// The root of all groups does; it alone has no cgroup.events.
	_, err := os.Lstat(r.at(filepath.Join(dir, "cgroup.events")))
	divisible := writable("cgroup.subtree_control") &&
		(os.IsNotExist(err) || r.text(filepath.Join(dir, "cgroup.procs")) == "")
	for _, k := range kinds() {
		switch c := k.key; {
		case slices.Contains(on, c):
			p.Holds = append(p.Holds, c)
		case divisible && slices.Contains(has, c):
			p.Holds, p.Enable = append(p.Holds, c), append(p.Enable, c)
		}
	}
	return p
}

// systemd looks for the service manager of the user, or for root that of the system.
func (r Request) systemd(mount string) Manager {
	m := Manager{User: r.UID != 0, Runtime: r.Runtime}
	socket, group, file := "/run/systemd/private", ".", "cgroup.subtree_control"
	none := "no systemd answers"
	if m.User {
		if !filepath.IsAbs(m.Runtime) {
			return Manager{Why: "no service manager of this user (XDG_RUNTIME_DIR is not set)"}
		}
		socket = filepath.Join(m.Runtime, "systemd/private")
		group, file = fmt.Sprintf("user.slice/user-%d.slice/user@%d.service", r.UID, r.UID), "cgroup.controllers"
		none = "no service manager of this user answers"
	}
	if err := answers(r.at(socket), r.UID); err != nil {
		return Manager{Why: fmt.Sprintf("%s (%s: %v)", none, socket, err)}
	}
	for _, h := range []struct {
		name string
		path *string
	}{{"systemd-run", &m.Run}, {"env", &m.Env}} {
		if *h.path, m.Why = r.Find(h.name); m.Why != "" {
			return Manager{Why: m.Why}
		}
	}
	if mount == "" {
		return Manager{Why: "systemd has no control groups of version 2"}
	}
	// systemd accepts a property without its controller, and ignores it.
	m.Holds = Useful(strings.Fields(r.text(filepath.Join(mount, group, file))))
	return m
}

// answers returns nil when something accepts connections at a socket that belongs to uid.
func answers(path string, uid int) error {
	var st unix.Stat_t
	switch err := unix.Lstat(path, &st); {
	case err != nil:
		return err
	case st.Mode&unix.S_IFMT != unix.S_IFSOCK:
		return errors.New("not a socket")
	case int(st.Uid) != uid:
		return errors.New("not this user's")
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, &unix.SockaddrUnix{Name: path})
}

// words returns the beginning of a command line that runs in a scope of its own. systemd-run
// executes the command in its place, so the process stays our child (systemd-run(1), --scope).
// env(1) removes the variables by which systemd-run finds its manager.
func (m Manager) words(v Values) []string {
	words := []string{m.Run}
	if m.User {
		words = append(words, "--user")
	}
	words = append(words, "--scope", "--quiet", "--collect", "--no-ask-password")
	words = append(words, each(v, func(k kind, n uint64) []string { return k.props(n) })...)
	return append(words, "--", m.Env, "-i")
}

// env returns the variables by which systemd-run finds the manager.
func (m Manager) env() []string {
	if !m.User {
		return nil
	}
	return []string{"XDG_RUNTIME_DIR=" + m.Runtime, "DBUS_SESSION_BUS_ADDRESS=unix:path=" + m.Runtime + "/bus"}
}

// Of returns the folder of the control group of a process.
func Of(pid int) (string, error) {
	_, own, why := Request{}.unified(strconv.Itoa(pid))
	if why != "" {
		return "", errors.New(why)
	}
	return own, nil
}
