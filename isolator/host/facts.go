// Package host probes once, before a run, what the host is and can do. Its
// Facts are what the planner reads, and nothing else: doctor prints them, and
// pasted into a test they reproduce a stranger's machine. What is at a path is
// looked at when somebody asks for it, once.
package host

import (
	"path/filepath"
	"reflect"
	"slices"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/limits"
)

// Kind is what a path is, without following a link at its end.
type Kind string

// The kinds of a path. Denied means that it could not be looked at.
const (
	Missing Kind = "missing"
	File    Kind = "file"
	Dir     Kind = "dir"
	Socket  Kind = "socket"
	Link    Kind = "link" // of a Child only: paths are looked at through links
	Other   Kind = "other"
	Denied  Kind = "denied"
)

// Seen reports whether something is there that can be looked at.
func (k Kind) Seen() bool { return k != Missing && k != Denied }

// FileOrDir reports whether it is a regular file or a folder.
func (k Kind) FileOrDir() bool { return k == File || k == Dir }

// Hop is a link on the way to something.
type Hop = files.Hop

// Path is what the host knows about one path.
type Path struct {
	Kind Kind   `json:"kind"` // of what the path leads to, links followed
	Real string `json:"real"` // with every link resolved, as far as it exists
	ID   ID     `json:"id"`   // of what is there; zero when missing

	Link string `json:"link,omitempty"` // of a link that leads nowhere, where what it leads to would be
	Hops []Hop  `json:"hops,omitempty"` // the links on the way
}

// There reports whether anything is at the path, be it a link that leads nowhere.
func (p Path) There() bool { return p.Kind != Missing || p.Link != "" }

// ID identifies a file or folder, whatever its name is.
type ID struct {
	Dev uint64 `json:"dev"`
	Ino uint64 `json:"ino"`
}

// Facts is the host, as far as a run depends on it.
type Facts struct {
	UID       int     `json:"uid"`
	GID       int     `json:"gid"`
	User      string  `json:"user"`
	Home      string  `json:"home"`
	OtherHome string  `json:"other_home,omitempty"` // of the password file, when $HOME is another
	Bwrap     string  `json:"bwrap"`                // absolute path, "" when none can be used
	BwrapWhy  string  `json:"bwrap_why,omitempty"`  // why there is none
	BwrapFix  string  `json:"bwrap_fix,omitempty"`  // what to type then
	Engine    *Engine `json:"engine,omitempty"`     // makes the box in the place of bwrap; nil for bwrap
	MoveMount bool    `json:"move_mount,omitempty"` // open_tree(2) and move_mount(2) are there
	StageBase string  `json:"stage_base,omitempty"` // where runs are staged
	InnerHome string  `json:"inner_home"`

	// Paths holds every path that was looked at, by the path as asked, and Globs what each pattern
	// matches for facts that no probe has made: see Look and Match.
	Paths map[string]Path     `json:"paths,omitempty"`
	Globs map[string][]string `json:"globs,omitempty"`
	on    *looker             // nil for facts that no probe has made: they are all in the maps
	// Hide is what the patterns of [sandbox] hide matched; nil when there are none,
	// or nobody has looked.
	Hide *Hide `json:"hide,omitempty"`
	// Closed are folders of the user that could not be looked into when secrets were looked for: a box of this
	// user, or another one, can open them. More come to it with each look.
	Closed map[string]bool `json:"closed,omitempty"`
	// Entries are those of the working folder, for a run that keeps it as it is.
	Entries []Child `json:"entries,omitempty"`
	// Children are those of the protected folders in which the box has files of its own.
	Children map[string][]Child `json:"children,omitempty"`
	// Sockets are the pathname sockets something listens on, links resolved, that /proc/net/unix has
	// by an absolute name.
	Sockets []string `json:"sockets,omitempty"`
	// SocketsUnknown is why the table of sockets cannot be read, so that nobody knows
	// what is to be hidden; "" when it can.
	SocketsUnknown string `json:"sockets_unknown,omitempty"`
	// Resolver holds the files /etc/resolv.conf needs below /run.
	Resolver []string `json:"resolver,omitempty"`
	// Repositories are the folders with a .git in the writable folders asked about, the
	// nearest first.
	Repositories []string `json:"repositories,omitempty"`
	// Unlisted are the folders there that were not looked into for more of them.
	Unlisted []string `json:"-"`
	// Later holds the folders asked about, and those and the files that settings of git
	// name, that are missing and whose content the host would run or obey: they are made for
	// the run, so that they can be covered.
	Later []Placeholder `json:"later,omitempty"`

	// Obeyed holds what tools outside obey in the writable folders asked about, and
	// Named the paths there that git settings name, there or not.
	Obeyed []string `json:"obeyed,omitempty"`
	Named  []string `json:"named,omitempty"`
	// Startup holds the links among the start-up files asked about that lead to nothing, and
	// those in start-up folders, behind which the box could write.
	Startup []string `json:"startup,omitempty"`

	// Locked holds the folders of such paths that are the user's own and cannot be
	// written: the box could lift that (chmod) and make them.
	Locked []string `json:"locked,omitempty"`
	// SysReadOnly says that /proc/sys is mounted read-only, as runtimes of containers
	// do: bwrap cannot turn off user namespaces there.
	SysReadOnly bool `json:"sys_read_only,omitempty"`
	// Proc is how /proc can be had here: "fresh", "bind" or "empty"; "" when
	// nothing is known, and a fresh one is tried.
	Proc string `json:"proc,omitempty"`
	// Landlock is the version of Landlock that the kernel has, or 0.
	Landlock int `json:"landlock,omitempty"`
	// Limits is what the host has to hold limits with; nil when not asked for.
	Limits *limits.Host `json:"limits,omitempty"`
	// Display is the user's display server, or nil.
	Display *Display `json:"display,omitempty"`
	// Nested is what boxes that make containers need; nil when not asked for.
	Nested *Nested `json:"nested,omitempty"`
	// OwnHome is the home that the box has of its own; nil when it has none.
	OwnHome *OwnHome `json:"own_home,omitempty"`
	// Env is the environment of the call.
	Env map[string]string `json:"-"`
	// Terminal says whether the program will have the box's own terminal.
	Terminal bool `json:"terminal"`
}

// Look looks at a path, once: whoever asks again has the same answer. What is relative is missing.
func (f Facts) Look(p string) Path {
	seen, ok := f.Paths[p]
	switch {
	case ok:
	case f.on == nil || !filepath.IsAbs(p):
		seen.Kind = Missing
	default:
		seen = f.on.look(p)
		f.Paths[p] = seen
	}
	return seen
}

// Match returns the paths below a folder that match a pattern, once, like Look. With a text only files that
// hold it count.
func (f Facts) Match(dir, pattern, text string) []string {
	if f.on == nil {
		return f.Globs[paths.Join(dir, pattern)]
	}
	key := [3]string{dir, pattern, text} // what is a pattern below one folder can be the name of another
	m, ok := f.on.matched[key]
	if !ok {
		m = f.on.glob(dir, pattern)
		if text != "" {
			m = slices.DeleteFunc(m, func(p string) bool { return !holds(p, text) })
		}
		if len(m) > 0 { // nearly none does, and what a folder holds is kept
			f.on.matched[key] = m
		}
	}
	return m
}

// List returns what a folder holds, sorted, and whether that is all of it.
func (f Facts) List(dir string) (list []files.Entry, whole bool) {
	if f.on == nil {
		return nil, true
	}
	in := f.on.folder(dir)
	return in.entries, in.known
}

// Kept returns what was made last of these facts, when it was made for the same key; else it makes it.
func Kept[T any](f Facts, key any, make func() T) T {
	if f.on == nil {
		return make()
	}
	if v, ok := f.on.kept.(T); ok && reflect.DeepEqual(f.on.key, key) {
		return v
	}
	v := make()
	f.on.key, f.on.kept = key, v
	return v
}

// Names is what a folder holds, in lower case, and whether that is all of it. It is nil for facts that no probe
// has made.
func (f Facts) Names() func(dir string) (map[string]bool, bool) {
	if f.on == nil {
		return nil
	}
	return f.on.names
}

// OwnHome is a folder that boxes see as their home, and where in it boxes mount something.
// No box can write the folder that it is in.
type OwnHome struct {
	Path   string      `json:"path"`
	Points []HomePoint `json:"points,omitempty"`
	ID     ID          `json:"id"` // zero when it is not there yet
}

// HomePoint is a place below a home where something is mounted: a file, or else a folder.
type HomePoint struct {
	Path string `json:"path"` // below the home
	File bool   `json:"file,omitempty"`
}

// Homes are the homes of the user: $HOME, and the one of the password file
// when that is another.
func (f Facts) Homes() []string {
	if f.OtherHome == "" || f.OtherHome == f.Home {
		return []string{f.Home}
	}
	return []string{f.Home, f.OtherHome}
}

// InnerHomes are the folders of inner that may exist.
func (f Facts) InnerHomes() []string {
	list := []string{f.InnerHome}
	for _, h := range f.Homes() {
		if p := paths.Join(h, ".inner"); p != f.InnerHome {
			list = append(list, p)
		}
	}
	return list
}

// Child is one entry of a folder. Target is where a Link leads, as written.
type Child struct {
	Name, Target string
	Kind         Kind
}

// Placeholder is a file with harmless content, or an empty folder.
type Placeholder struct {
	Path    string `json:"path"`
	Content []byte `json:"content"` // nil for a folder
}

// Engine is a program that makes boxes as containers. Package container finds it.
type Engine struct {
	Name  string   `json:"name"`            // "podman" or "docker"
	Path  string   `json:"path"`            // absolute
	Env   []string `json:"-"`               // its whole environment, KEY=VALUE
	Holds []string `json:"holds,omitempty"` // the limits it holds: "memory", "cpu", "pids"
	Why   string   `json:"why,omitempty"`   // why it holds no others

	// Users says that a container has users of its own, so that processes are counted for
	// each of them (RLIMIT_NPROC).
	Users bool `json:"users,omitempty"`
}
