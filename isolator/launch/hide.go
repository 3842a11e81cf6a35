package launch

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/launch/nsenter"
	"github.com/enr/inner/isolator/launch/wire"
	"github.com/enr/inner/isolator/plan"
)

// What is hidden in a folder that somebody else writes is mounted from outside, all by one process. Each place is opened
// through no link and from the box's root folder, so it is in what the box sees, and the mount goes onto what was
// opened, whatever its name is by then: nothing is made, there or elsewhere. Then all is looked at, and a box in
// which anything is not as it was planned starts no program, see run.hostChanged:
//
//   - what was mounted on is what was found when the host was looked at, and not something that came to its place;
//   - the place shows what was mounted, or a folder on the way a copy of that, so nothing was moved away meanwhile.
//
// What is gone may have another name now, by which the box would see it: that is looked at anew, too.

// looked is what a place was before something was mounted on it, what was mounted, and what the place shows in the end.
type looked struct{ was, is, now unix.Statx_t }

// filesAt is where the folder with the files that cover others is while they are mounted, before Linux 6.15: a clone could
// be taken only of what is mounted somewhere. Every box has that folder, and nothing of the host is in it.
const filesAt = "/dev/shm"

// hide mounts what the launcher hides.
func (m *mounts) hide(g *mounting) error {
	if len(m.ops) == 0 {
		return nil
	}
	var err error
	for _, fd := range []*int{&g.from, &g.dir} {
		if *fd, err = g.owned.add(wire.OpenNull()); err != nil {
			return err
		}
	}
	looks := make([]looked, len(m.ops)) // the process shares our memory
	calls, err := m.hiding(g, looks)
	if err != nil {
		return err
	}
	if err = g.make(calls); err != nil {
		i := slices.IndexFunc(looks, func(l looked) bool { return l.is.Mask == 0 })
		if i < 0 {
			i = max(0, slices.IndexFunc(looks, func(l looked) bool { return l.now.Mask == 0 }))
		}
		return fmt.Errorf("%q: %w", m.ops[i].Dest, err)
	}
	for i, o := range m.ops {
		still := o.Kind == plan.OpReadOnly && looks[i].now.Attributes&unix.STATX_ATTR_MOUNT_ROOT == 0
		if l := &looks[i]; l.other(o) || id(&l.now) != id(&l.is) || o.Kind == plan.OpBind &&
			l.now.Mnt_id != l.is.Mnt_id || still {
			return fmt.Errorf("%q: %w", o.Dest, ErrReplaced)
		}
	}
	return nil
}

func id(st *unix.Statx_t) host.ID {
	return host.ID{Dev: unix.Mkdev(st.Dev_major, st.Dev_minor), Ino: st.Ino}
}

// other reports whether something was mounted on, or should have been, that is not what was looked at.
func (l *looked) other(o plan.Op) bool {
	folder := l.was.Mode&unix.S_IFMT == unix.S_IFDIR
	return o.Probed != (host.ID{}) && o.Probed != id(&l.was) || !o.Bind() && folder != (o.Kind == plan.OpTmpfs)
}

// look looks at what is open.
func look(fd int, at *unix.Statx_t) nsenter.Call {
	const what = unix.STATX_BASIC_STATS | unix.STATX_MNT_ID
	return nsenter.New(unix.SYS_STATX, fd, "", unix.AT_EMPTY_PATH, what, unsafe.Pointer(at))
}

// hiding are the calls that mount what is hidden, and look at it.
func (m *mounts) hiding(g *mounting, looks []looked) ([]nsenter.Call, error) {
	calls, names, err := m.files(g)
	if err != nil {
		return nil, err
	}
	for i, o := range m.ops {
		calls = append(calls, opening(g.dir, int(g.root), "."+o.Dest), look(g.dir, &looks[i].was))
		switch o.Kind {
		case plan.OpTmpfs:
			calls = append(calls, g.memory(g.tree, o.Perms, o.Size, 0)...)
		case plan.OpBind: // a folder on the way, onto itself
			calls = append(calls, g.clone(g.dir, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE))
		case plan.OpReadOnly: // likewise
			calls = append(calls, g.clone(g.dir, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE),
				g.change(&unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}, unix.AT_RECURSIVE))
		default:
			calls = append(calls, g.clone(g.from, names[i], 0))
		}
		calls = append(calls, g.onto(g.dir, "", unix.MOVE_MOUNT_T_EMPTY_PATH), look(g.tree, &looks[i].is))
	}
	if names != nil {
		away := nsenter.New(unix.SYS_UMOUNT2, ".", unix.MNT_DETACH) // it may be mounted nowhere
		away.May = true
		calls = append(calls, nsenter.New(unix.SYS_FCHDIR, g.from), away)
	}
	for i, o := range m.ops {
		calls = append(calls, opening(g.dir, int(g.root), "."+o.Dest), look(g.dir, &looks[i].now))
	}
	return calls, nil
}

// files are the calls that make the files that cover others, and their names by the operation. Each mask is a clone of
// the mount that they are in, with its flags: nobody can write it.
func (m *mounts) files(g *mounting) (calls []nsenter.Call, names map[int]string, err error) {
	made := map[string]string{}
	for i, o := range m.ops {
		var text []byte
		switch {
		case o.Kind == plan.OpData:
			text = m.data[o.Data]
		case o.Kind != plan.OpMask:
			continue
		case o.Source != m.empty:
			if text, err = os.ReadFile(o.Source); err != nil {
				return nil, nil, err
			}
		}
		if names == nil {
			names = map[int]string{}
			calls = append([]nsenter.Call{nsenter.New(unix.SYS_UMASK, 0)}, g.memory(g.from, 0o755, 0, 0)...)
		}
		name, there := made[string(text)]
		if !there {
			name = strconv.Itoa(len(made))
			made[string(text)] = name
			const flags = unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_CLOEXEC
			calls = append(calls, nsenter.Opens(g.tree, unix.SYS_OPENAT, g.from, name, flags, 0o444))
			if len(text) > 0 {
				write := nsenter.New(unix.SYS_WRITE, g.tree, unsafe.Pointer(unsafe.SliceData(text)), len(text))
				write.Some = true
				calls = append(calls, write)
			}
		}
		names[i] = name
	}
	if names == nil {
		return nil, nil, nil
	}
	attr := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	readOnly := nsenter.New(unix.SYS_MOUNT_SETATTR, g.from, "", unix.AT_EMPTY_PATH,
		unsafe.Pointer(attr), int(unsafe.Sizeof(*attr)))
	clone := g.clone(g.from, "0", 0)
	const remount = unix.MS_REMOUNT | unix.MS_BIND | unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV
	readOnly.May, clone.May, clone.Skip = true, true, 2
	return append(calls,
		nsenter.New(unix.SYS_DUP3, g.dir, g.tree, unix.O_CLOEXEC), // none is open for writing any more
		readOnly, clone,
		nsenter.New(unix.SYS_MOVE_MOUNT, g.from, "", unix.AT_FDCWD, filesAt, unix.MOVE_MOUNT_F_EMPTY_PATH),
		nsenter.New(unix.SYS_MOUNT, "none", filesAt, 0, remount, 0)), names, nil
}
