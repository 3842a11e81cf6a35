package launch

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/launch/nsenter"
	"github.com/enr/inner/isolator/launch/wire"
	"github.com/enr/inner/isolator/plan"
)

// A box that runs may be given more: who says so speaks to the door of its launcher (join.go), and what is given is
// decided by Options.Grant. Here is how a folder and a port get into the box.

// Running is a box whose program runs. Any goroutine but the loop's may call its methods.
type Running struct{ s *session }

// grant has a request answered on the connection that it came by, which may be gone by then.
func (s *session) grant(client, file int) {
	request, err := wire.Content(file)
	answer, errDup := unix.FcntlInt(uintptr(client), unix.F_DUPFD_CLOEXEC, 0)
	if err = errors.Join(err, errDup); err != nil {
		return
	}
	go func() {
		defer unix.Close(answer)
		m := wire.Msg{Kind: wire.Grant}
		words, err := s.o.Grant(request, Running{s})
		if err != nil {
			m.Kind, words = wire.Failed, err.Error()
		}
		m.Text = wire.Line(words)
		_ = wire.Send(answer, m)
	}()
}

// Mount shows a folder of the host in the box. looks is called when what is hidden in it is covered, and the box has
// nothing of it yet.
func (r Running) Mount(f plan.Live, looks func() error) error {
	done := make(chan error, 1)
	r.s.inbox.do(func() {
		if r.s.over() {
			done <- errNoBox
			return
		}
		err := r.s.mounts.show(r.s.first, f, looks)
		if r.s.mounts.covered.table >= 0 {
			r.s.coverAgain()
		}
		done <- err
	})
	select {
	case err := <-done:
		return err
	case <-r.s.network.over:
		return errNoBox
	}
}

// opening opens a path below a folder, through no link, in the namespaces that the calls are made in.
func opening(at, dir int, path string) nsenter.Call {
	how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | unix.O_NOFOLLOW, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	return nsenter.Opens(at, unix.SYS_OPENAT2, dir, path, unsafe.Pointer(how), int(unsafe.Sizeof(*how)))
}

// show shows a folder of the host in the box of this process, read-only, as bwrap would have at the start: what is
// hidden in it is covered before the box sees any of it. No process of the box's owner may take a mount of the host's
// namespace, so all is put together in a copy of that: there the places are covered, and of the result a clone
// is taken, which is looked at before it goes into the box.
func (m *mounts) show(box int, f plan.Live, looks func() error) error {
	c := &m.covered
	if err := c.open(box); err != nil {
		return err
	}
	g, err := m.mounting(box)
	defer g.owned.close()
	for _, fd := range []*int{&g.from, &g.dir} {
		if err == nil {
			*fd, err = g.owned.add(wire.OpenNull())
		}
	}
	if err == nil {
		err = g.take(f, m.empty)
	}
	if err == nil && looks != nil {
		err = looks()
	}
	if err != nil {
		return fmt.Errorf("%q cannot be mounted from outside: %w", f.Source, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(g.tree, &st); err != nil || st.Dev != f.ID.Dev || st.Ino != f.ID.Ino {
		return fmt.Errorf("%q %w", f.Source, ErrReplaced)
	}
	before := c.hidden
	c.hidden = slices.Concat(before, f.Masked)
	if err = c.follow(box); err == nil {
		err = g.place(f)
	}
	if err != nil {
		c.hidden = before
		return fmt.Errorf("%q cannot be mounted in the box: %w", f.Dest, err)
	}
	return nil
}

// take makes the tree of what is to be shown, in a copy of the host's mounts. What is covered is what was found when the
// host was looked at, and its place shows the cover, as in hide.
func (g *mounting) take(f plan.Live, empty string) error {
	calls := []nsenter.Call{
		nsenter.Owner(g.User), nsenter.New(unix.SYS_UNSHARE, unix.CLONE_NEWNS), nsenter.Bound(),
		// For root they would be the host's: nothing of what follows may get there.
		nsenter.New(unix.SYS_MOUNT, "none", "/", 0, unix.MS_REC|unix.MS_PRIVATE, 0),
		opening(g.from, unix.AT_FDCWD, f.Source),
	}
	looks := make([]looked, len(f.Covered))
	for i, h := range f.Covered {
		calls = append(calls, opening(g.dir, g.from, h.Path), look(g.dir, &looks[i].was))
		if h.Folder {
			calls = append(calls, g.empty()...)
		} else {
			calls = append(calls, g.clone(unix.AT_FDCWD, empty, unix.AT_SYMLINK_NOFOLLOW))
		}
		calls = append(calls, g.onto(g.dir, "", unix.MOVE_MOUNT_T_EMPTY_PATH), look(g.tree, &looks[i].is))
	}
	for i, h := range f.Covered {
		calls = append(calls, opening(g.dir, g.from, h.Path), look(g.dir, &looks[i].now))
	}
	err := do(append(calls,
		g.clone(g.from, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE),
		g.change(&unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}, unix.AT_RECURSIVE),
	))
	for i, h := range f.Covered {
		if l := &looks[i]; err == nil && (id(&l.was) != h.ID || id(&l.now) != id(&l.is)) {
			err = fmt.Errorf("%q %w", h.Path, ErrReplaced)
		}
	}
	return err
}

// place mounts the tree in the box. Folders on the way that are missing are made where the plan says that all is the
// box's own, and those that it could move are bound onto themselves.
func (g *mounting) place(f plan.Live) error {
	tree := g.tree
	g.tree = g.from
	if f.Base != "" {
		dir, err := g.open(f.Base, unix.O_NOFOLLOW|unix.O_DIRECTORY)
		if err != nil {
			return err
		}
		// The clone has no other mount in it, and no link of the box is followed: what is made is where the plan has
		// nothing of the host. What is sealed is so for the box alone.
		calls := []nsenter.Call{g.clone(dir, "", unix.AT_EMPTY_PATH), g.change(&unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}, 0)}
		rest, _ := paths.Rest(f.Base, f.Dest)
		for name := range strings.SplitSeq(rest, "/") {
			there := nsenter.New(unix.SYS_MKDIRAT, g.tree, name, 0o755)
			there.May = true
			calls = append(calls, there, opening(g.tree, g.tree, name))
		}
		if err := g.make(calls); err != nil {
			return err
		}
	}
	for _, p := range f.Pins {
		dir, err := g.open(p, unix.O_NOFOLLOW)
		if err == nil {
			err = g.make(g.onItself(dir, 0))
		}
		if err != nil {
			return err
		}
	}
	g.tree = tree
	at, err := g.open(f.Dest, unix.O_NOFOLLOW|unix.O_DIRECTORY)
	if err == nil {
		err = g.make([]nsenter.Call{g.onto(at, "", unix.MOVE_MOUNT_T_EMPTY_PATH)})
	}
	return err
}
