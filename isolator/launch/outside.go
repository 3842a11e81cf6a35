package launch

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/nsenter"
	"github.com/enr/inner/isolator/launch/wire"
	"github.com/enr/inner/isolator/plan"
)

// Some mounts of a box are made after bwrap's, and from outside: links that are pinned, which bwrap
// cannot mount on, and what has lost its mount while the box runs. The program does not start before every one
// of them is there, and has been looked at: the supervisor waits for the launcher's word until then.
//
// They take the rights of the one who made the box's mounts. bwrap has given them up when the
// supervisor runs, in a user namespace of its own below (bwrap 0.8.0, for its devpts), so nothing in
// the box ever has them. Who owns the upper namespace gets them by joining it: a bare fork of ours
// does (package nsenter), and makes the mounts of a list by descriptors that were opened here, where
// they are looked at before and after, too.

// Why a mount cannot be made from outside decides what follows. What is said of a place is the doing of who can write
// there, a box perhaps: the host is looked at again. Only what the machine says of the means, whatever the place, has
// bwrap make what hides, see run.masksFailed. With anything else, as with too little memory, nothing runs.

// ErrReplaced has its words from those that make inner look at the host again, see run.hostChanged.
var ErrReplaced = errors.New("was replaced since the host was looked at")

// forbidden is what the machine forbids, as a security module does.
type forbidden struct{ error }

func (f forbidden) Unwrap() error { return f.error }

// means is the failure of something that needs no place that somebody else writes.
func means(err error) error {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOSYS) {
		return forbidden{err}
	}
	return err
}

// do makes calls. Those that mount get descriptors, and look for no name in a folder of somebody else.
func do(calls []nsenter.Call) error {
	err := nsenter.Do(calls...)
	var f *nsenter.Failed
	if !errors.As(err, &f) {
		return err
	}
	switch f.Number {
	case unix.SYS_OPENAT2, unix.SYS_STATX:
		return fmt.Errorf("%w: %w", ErrReplaced, err)
	case unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT: // the place was removed when it was open, or is a file, and no folder
		if f.Errno == unix.EINVAL || f.Errno == unix.ENOENT || f.Errno == unix.ENOTDIR {
			return fmt.Errorf("%w: %w", ErrReplaced, err)
		}
		return means(err)
	case unix.SYS_SETNS, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_MOUNT_SETATTR, unix.SYS_MOUNT, unix.SYS_UNSHARE:
		return means(err)
	}
	return err
}

// mounts are those that are made in the box from outside.
type mounts struct {
	ops     []plan.Op // what is hidden, see plan.Op.Outside
	data    [][]byte
	pins    []wire.Pin
	late    []plan.Live
	empty   string       // see plan.Plan
	covered covered      // made again when the host replaces what is under them, see recover.go
	looks   func() error // see Options.Mounted
	others  func(Inside) error
	ns      uint64 // the number of the box's namespace of mounts
	failure error  // why some are missing
}

// Inside are the namespaces of a box, as descriptors.
type Inside struct {
	Mounts int
	User   int // that of who made the mounts, which may be our own
}

// inside opens the namespaces of the box of this process.
func inside(box int, owned *descriptors) (in Inside, err error) {
	if in.Mounts, err = owned.add(unix.Open(fmt.Sprintf("/proc/%d/ns/mnt", box), unix.O_RDONLY|unix.O_CLOEXEC, 0)); err != nil {
		return in, fmt.Errorf("the mounts of the box: %w", means(err))
	}
	if in.User, err = owned.add(unix.IoctlRetInt(in.Mounts, unix.NS_GET_USERNS)); err != nil {
		return in, fmt.Errorf("the owner of the mounts of the box: %w", means(err))
	}
	return in, nil
}

// mounting is what makes mounts in a box.
type mounting struct {
	Inside
	root     boxRoot
	tree, fs int // descriptors that become what is mounted, and a file system that is made

	from, dir int // others, see show
	owned     descriptors
}

// mounting prepares that for the box of this process. Its descriptors are to be closed.
func (m *mounts) mounting(box int) (g mounting, err error) {
	g.root = m.covered.root
	g.Inside, err = inside(box, &g.owned)
	var st unix.Stat_t
	if err == nil && (unix.Fstat(g.Mounts, &st) != nil || st.Ino != m.ns) {
		err = errNoBox // its number is another process's by now
	}
	if err == nil {
		g.tree, err = g.owned.add(wire.OpenNull())
	}
	if err == nil {
		g.fs, err = g.owned.add(wire.OpenNull())
	}
	return g, err
}

// make makes calls in the namespaces of the box.
func (g *mounting) make(calls []nsenter.Call) error {
	list := []nsenter.Call{nsenter.Owner(g.User), nsenter.Setns(g.Mounts, unix.CLONE_NEWNS), nsenter.Bound()}
	return do(append(list, calls...))
}

// open opens a place of the box.
func (g *mounting) open(p string, flags uint64) (int, error) {
	fd, err := g.owned.add(g.root.at(p, flags))
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrReplaced, err)
	}
	return fd, err
}

// onItself are the calls that mount what is open onto itself.
func (g *mounting) onItself(at, flags int) []nsenter.Call {
	return []nsenter.Call{g.clone(at, "", unix.AT_EMPTY_PATH|flags), g.onto(at, "", unix.MOVE_MOUNT_T_EMPTY_PATH)}
}

// clone makes a clone of what is at a name the tree, and onto mounts the tree on a name. open_tree(2)
// and move_mount(2), Linux 5.2: mount(2) follows a link.
func (g *mounting) clone(dir int, name string, flags int) nsenter.Call {
	return nsenter.Opens(g.tree, unix.SYS_OPEN_TREE, dir, name, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|flags)
}

func (g *mounting) onto(dir int, name string, flags int) nsenter.Call {
	return nsenter.New(unix.SYS_MOVE_MOUNT, g.tree, "", dir, name, unix.MOVE_MOUNT_F_EMPTY_PATH|flags)
}

// change changes how the tree is mounted.
func (g *mounting) change(attr *unix.MountAttr, flags int) nsenter.Call {
	return nsenter.New(unix.SYS_MOUNT_SETATTR, g.tree, "", unix.AT_EMPTY_PATH|flags,
		unsafe.Pointer(attr), int(unsafe.Sizeof(*attr)))
}

// empty makes a new folder in memory that nothing can be written to the tree.
func (g *mounting) empty() []nsenter.Call { return g.memory(g.tree, 0o555, 0, unix.MOUNT_ATTR_RDONLY) }

// memory makes a new folder in memory, of so many bytes at most when that is not 0.
func (g *mounting) memory(at int, mode uint32, size uint64, attr int) []nsenter.Call {
	calls := []nsenter.Call{
		nsenter.Opens(g.fs, unix.SYS_FSOPEN, "tmpfs", unix.FSOPEN_CLOEXEC),
		nsenter.New(unix.SYS_FSCONFIG, g.fs, unix.FSCONFIG_SET_STRING, "mode", fmt.Sprintf("%#o", mode), 0),
	}
	if size > 0 {
		calls = append(calls, nsenter.New(unix.SYS_FSCONFIG, g.fs, unix.FSCONFIG_SET_STRING, "size", strconv.FormatUint(size, 10), 0))
	}
	return append(calls,
		nsenter.New(unix.SYS_FSCONFIG, g.fs, unix.FSCONFIG_CMD_CREATE, 0, 0, 0),
		nsenter.Opens(at, unix.SYS_FSMOUNT, g.fs, unix.FSMOUNT_CLOEXEC, attr|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV))
}

// boxRoot is the root folder of a box, seen from outside.
type boxRoot int

// at opens a place of the box, through no link, and for nothing but to look at it, or to mount on it.
func (r boxRoot) at(p string, flags uint64) (int, error) {
	return unix.Openat2(int(r), "."+p, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC | flags, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
}

// complete mounts what is missing in the box of this process, and begins to follow its table.
func (m *mounts) complete(box int) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("a mount of the sandbox cannot be made from outside: %w", err)
		}
	}()
	// The container of a daemon does not show its namespaces to us: without that number nothing is mounted, see mounting.
	var st unix.Stat_t
	if unix.Stat(fmt.Sprintf("/proc/%d/ns/mnt", box), &st) == nil {
		m.ns = st.Ino
	}
	c := &m.covered
	if len(m.ops)+len(m.pins)+len(c.hidden)+len(c.protected) > 0 {
		if err := c.open(box); err != nil {
			return err
		}
	}
	if len(m.ops)+len(m.pins) > 0 {
		g, err := m.mounting(box)
		defer g.owned.close()
		if err == nil {
			err = m.hide(&g)
		}
		if err == nil {
			err = g.pin(m.pins)
		}
		if err != nil {
			return err
		}
	}
	if m.looks != nil {
		if err := m.looks(); err != nil {
			return err
		}
	}
	if m.others != nil {
		var owned descriptors
		defer owned.close()
		in, err := inside(box, &owned)
		if err == nil {
			err = m.others(in)
		}
		if err != nil {
			return err
		}
	}
	for _, f := range m.late {
		if err := m.show(box, f, nil); err != nil {
			return err
		}
	}
	return c.follow(box)
}

// pin binds links onto themselves, and then looks whether they are those that were meant: from
// here on nobody can exchange them.
func (g *mounting) pin(pins []wire.Pin) error {
	for _, p := range pins {
		link, err := g.open(p.Path, unix.O_NOFOLLOW)
		if err == nil {
			err = g.make(g.onItself(link, 0))
		}
		if err == nil {
			link, err = g.open(p.Path, unix.O_NOFOLLOW)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.Path, err)
		}
		target := make([]byte, 4096)
		n, err := unix.Readlinkat(link, "", target)
		if err != nil || string(target[:n]) != p.Target {
			return fmt.Errorf("%s: %w", p.Path, ErrReplaced)
		}
	}
	return nil
}

// again hides and protects what the host has put into the place of something. What is in a place that
// is protected may be hidden. A name may be a link, which is not followed.
func (m *mounts) again(box int, lost places) error {
	g, err := m.mounting(box)
	defer g.owned.close()
	if err != nil {
		return err
	}
	for _, p := range lost.protect {
		if err := g.coverPlace(p, g.readOnly); err != nil {
			return fmt.Errorf("%q: %w", p, err)
		}
	}
	for _, p := range lost.hide {
		if err := g.coverPlace(p, g.nothing); err != nil {
			return fmt.Errorf("%q: %w", p, err)
		}
	}
	return nil
}

func (g *mounting) coverPlace(p string, tree func(dir int, name string) ([]nsenter.Call, error)) error {
	name := filepath.Base(p)
	dir, err := g.owned.add(g.root.at(filepath.Dir(p), 0))
	if err == nil {
		var calls []nsenter.Call
		if calls, err = tree(dir, name); err == nil {
			err = g.make(append(calls, g.onto(dir, name, 0)))
		}
	}
	// It is gone again, has become another, a folder in the place of a file for instance, or is being renamed over:
	// the next look tells.
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EINVAL) {
		return nil
	}
	return err
}

// readOnly is what lies in a folder, as something that cannot be written.
func (g *mounting) readOnly(dir int, name string) ([]nsenter.Call, error) {
	return []nsenter.Call{g.clone(dir, name, unix.AT_SYMLINK_NOFOLLOW), g.change(&unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}, 0)}, nil
}

// nothing is an empty folder for a folder, and the box's /dev/null for everything else.
func (g *mounting) nothing(dir int, name string) ([]nsenter.Call, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return g.empty(), nil
	}
	null, err := g.owned.add(g.root.at("/dev/null", 0))
	return []nsenter.Call{g.clone(null, "", unix.AT_EMPTY_PATH)}, err
}
