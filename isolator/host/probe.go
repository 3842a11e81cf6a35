package host

import (
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/limits"
	"github.com/enr/inner/isolator/sensitive"
)

// Request names what a run needs to know. Everything else about the host is
// probed always.
type Request struct {
	Hide     []string // patterns of [sandbox] hide, see package gitignore
	Writable []string // folders the box will write: searched for repositories
	Display  bool     // look for the display server
	Later    []string // folders to make for the run when they are missing
	Obeyed   []string // folders the box will write: searched for what tools outside obey
	Startup  []string // the start-up files and folders of the user

	Nested bool // whether the box is to make containers
	Limits bool // look for what holds limits
}

// Begin returns facts of which nothing is known but who asks: the homes and folders of inner, the
// environment, and what FindBwrap said. What is at a path is looked at from here on.
func Begin(who Facts) Facts {
	who.UID, who.GID = os.Getuid(), os.Getgid()
	who.Paths, who.on = make(map[string]Path, 400), newLooker()
	who.Closed = who.on.closed
	for _, h := range who.Homes() { // hundreds of places are asked about there, and nearly none is
		who.on.list(h)
	}
	return who
}

// Probe looks at the host once, for facts that were begun; at its paths when somebody asks the Facts for them.
// It starts no program and writes nothing.
func Probe(f Facts, r Request) Facts {
	f.User = userName(f.Env["USER"], strconv.Itoa(f.UID))
	if r.Display {
		f.Display = FindDisplay(f.Env)
	}
	f.Hide = f.on.hide(r.Hide)
	wanted := f.on.obeyed(r, &f)
	for _, p := range r.Later {
		wanted = append(wanted, Placeholder{Path: p})
	}
	f.on.later(wanted, &f)
	if r.Nested {
		n := ProbeNested(f.UID, f.GID)
		f.Nested = &n
	}
	f.Landlock = LandlockABI()
	f.MoveMount = moveMount()
	f.SysReadOnly = readOnly("/proc/sys/user")
	if r.Limits {
		h := ProbeLimits(f.UID, f.Env)
		f.Limits = &h
	}
	f.Resolver = resolver()
	var err error
	if f.Sockets, err = f.on.listening("/proc/net/unix"); err != nil {
		f.SocketsUnknown = err.Error()
	}
	clear(f.on.read) // the plan sees what has come to a home since, while something was made for the run
	return f
}

// userName is what the environment calls the user of a number, else the password file, else that number.
func userName(env, uid string) string {
	if env != "" {
		return env
	}
	if u, err := user.LookupId(uid); err == nil {
		return u.Username
	}
	return uid
}

// later finds out which of the paths that must be there for the run are to be made, and
// which folders keep that from being done.
func (l *looker) later(wanted []Placeholder, f *Facts) {
	for _, w := range wanted {
		f.Look(w.Path) // as it was before anything is made for the run
		if slices.ContainsFunc(f.Later, func(p Placeholder) bool { return p.Content == nil && p.Path == filepath.Dir(w.Path) }) {
			f.Later = append(f.Later, w)
			continue
		}
		of := w.Path
		if w = l.first(w); w.Path != of && slices.Contains(f.Named, of) {
			f.Named = append(f.Named, w.Path) // it is covered for what git would look for in it
		}
		f.Look(w.Path)
		switch dir := filepath.Dir(w.Path); {
		case l.look(w.Path).There() || l.dir(dir).Kind != Dir:
		case sensitive.Trees(w.Path) && l.behindLink(dir): // nothing is made there
		case writable(dir):
			f.Later = append(f.Later, w)
		case owned(dir) && !slices.Contains(f.Locked, dir):
			f.Locked = append(f.Locked, dir)
		}
	}
}

// first is what must be made first for a placeholder: git obeys it in a folder that is to come.
func (l *looker) first(w Placeholder) Placeholder {
	for d := filepath.Dir(w.Path); !l.look(d).There(); d = filepath.Dir(d) {
		if writable(filepath.Dir(d)) {
			w = Placeholder{Path: d}
		}
	}
	return w
}

// behindLink reports whether a folder is a link.
func (l *looker) behindLink(dir string) bool {
	return l.look(dir).Real != filepath.Join(l.look(filepath.Dir(dir)).Real, filepath.Base(dir))
}

// LandlockABI returns the version of Landlock that the kernel has, or 0
// (landlock_create_ruleset(2)): 2 confines writing, 6 signals and abstract
// sockets.
func LandlockABI() int {
	v, _, err := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if err != 0 {
		return 0 // not in this kernel, or not switched on
	}
	return int(v)
}

// ProbeLimits looks for what can hold a run of this user to limits; env is the
// environment of the call.
func ProbeLimits(uid int, env map[string]string) limits.Host {
	return limits.Probe(limits.Request{
		UID: uid, Runtime: env["XDG_RUNTIME_DIR"],
		Find: func(name string) (path, why string) { return FindHelper(name, env["PATH"]) },
	})
}

// moveMount reports whether the kernel has the calls that mount a clone on an open file,
// and nothing around inner refuses them: open_tree(2) and move_mount(2), Linux 5.2, and
// openat2(2), Linux 5.6. Each is called with a descriptor that is not open.
func moveMount() bool {
	_, tree := unix.OpenTree(-1, "x", 0)
	move := unix.MoveMount(-1, "x", -1, "x", 0)
	_, open := unix.Openat2(-1, "x", &unix.OpenHow{})
	return tree == unix.EBADF && (move == unix.EBADF || move == unix.EPERM) && open == unix.EBADF
}

// Environment reads KEY=VALUE words.
func Environment(words []string) map[string]string {
	out := make(map[string]string, len(words))
	for _, kv := range words {
		if k, v, ok := strings.Cut(kv, "="); ok && k != "" {
			out[k] = v
		}
	}
	return out
}

// readOnly reports whether what is mounted at a path is mounted read-only.
func readOnly(p string) bool {
	var st unix.Statfs_t
	return unix.Statfs(p, &st) == nil && st.Flags&unix.ST_RDONLY != 0
}

func writable(dir string) bool { return unix.Access(dir, unix.W_OK) == nil }

// owned reports whether the user could make a folder writable.
func owned(dir string) bool {
	var st unix.Stat_t
	return unix.Access(dir, unix.W_OK) == unix.EACCES && unix.Stat(dir, &st) == nil && int(st.Uid) == os.Geteuid()
}

// resolver returns the files behind /etc/resolv.conf that live below /run.
func resolver() []string {
	if real := files.Real("/etc/resolv.conf"); strings.HasPrefix(real, "/run/") {
		return []string{real}
	}
	return nil
}

// OldestBwrap is the first with all options that boxes use. The youngest of them
// is --disable-userns; --perms, --userns and --clearenv came in 0.5 and 0.6.
const OldestBwrap = "0.8.0"
