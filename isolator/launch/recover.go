package launch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/proc"
)

// The kernel takes a mask away when somebody on the host removes the file under it or
// renames another one over it, as many editors do when they save: the box would see what
// comes to that place next. So the launcher follows the box's table of mounts (poll(2) of
// proc_pid_mountinfo(5)), and covers the file again, from outside (outside.go). The box
// can see it for the few milliseconds in between.

// absentEvery is how often it is asked whether a removed file has a successor.
const absentEvery = 50 * time.Millisecond

// coverTries is how often in a row a mask may be made, and found gone a moment later.
const coverTries = 100

// masked are the files of the box that are masked.
type masked struct {
	places  []string // box paths, see plan.Plan.Masked
	table   int      // the table of mounts, for poll; -1 when it is not followed
	root    int      // the box's root folder
	absent  []string // where nothing is now
	tries   int      // to cover what is lost, in a row
	again   []string // those that were covered again
	failure error    // why one could not be
}

// follow begins to follow the table of a box that is made, and whose program does not run yet.
func (m *masked) follow(pid int) error {
	if len(m.places) == 0 {
		return nil
	}
	table, err := unix.Open(fmt.Sprintf("/proc/%d/mountinfo", pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("%s the box's table of mounts: %w", OutsideFailed, err)
	}
	root, err := unix.Open(fmt.Sprintf("/proc/%d/root", pid), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		unix.Close(table)
		return fmt.Errorf("%s the box's root folder: %w", OutsideFailed, err)
	}
	m.table, m.root = table, root
	return nil
}

func (m *masked) close() {
	for _, fd := range []*int{&m.table, &m.root} {
		if *fd >= 0 {
			unix.Close(*fd)
			*fd = -1
		}
	}
}

// exists reports whether something is at a place of the box.
func (m *masked) exists(p string) bool {
	fd, err := unix.Openat2(m.root, strings.TrimPrefix(p, "/"), &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err == nil {
		unix.Close(fd)
	}
	return err != unix.ENOENT
}

// lost returns the places whose mask is gone: those where something is now, and the others.
func (m *masked) lost(pid int) (lost, absent []string) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", pid))
	if err != nil {
		return nil, nil // the box has ended
	}
	there := map[string]bool{}
	for _, mount := range proc.Mounts(text) {
		there[mount.At] = true
	}
	for _, p := range m.places {
		switch {
		case there[p]:
		case m.exists(p):
			lost = append(lost, p)
		default:
			absent = append(absent, p)
		}
	}
	return lost, absent
}

// coverAgain masks what has lost its mask. A box in which that fails ends.
func (s *session) coverAgain() {
	if s.over() {
		return
	}
	m := &s.masked
	var lost []string
	lost, m.absent = m.lost(s.boxPid)
	switch {
	case len(lost) > 0:
		err := s.mountFrom(mountList{Again: lost})
		if m.tries++; err == nil && m.tries > coverTries {
			err = errors.New("it is replaced all the time")
		}
		if err != nil {
			m.failure = fmt.Errorf("%q was replaced on the host, and cannot be hidden again: %w", lost[0], err)
			s.killBox()
			return
		}
		m.again, m.absent = append(m.again, lost...), nil
		s.alarms.in(lookForAbsent, time.Millisecond) // was it done? While a rename goes on nothing can be mounted there
	case len(m.absent) > 0:
		m.tries = 0
		s.alarms.in(lookForAbsent, absentEvery)
	default:
		m.tries = 0
	}
}

// coverAbsent asks for the successor of what was removed, without reading the table again.
func (s *session) coverAbsent() {
	m := &s.masked
	if len(m.absent) > 0 && !slices.ContainsFunc(m.absent, m.exists) {
		s.alarms.in(lookForAbsent, absentEvery)
		return
	}
	s.coverAgain()
}

// coverAll covers what the host has put into the place of masked files, by the box's /dev/null.
func (l mountList) coverAll() error {
	if len(l.Again) == 0 {
		return nil
	}
	null, err := openPlain("/dev/null")
	if err != nil {
		return fmt.Errorf("/dev/null: %w", err)
	}
	defer unix.Close(null)
	for _, p := range l.Again {
		if err := coverPlace(null, p); err != nil && !errors.Is(err, unix.ENOENT) { // it is gone again, or is being renamed over
			return fmt.Errorf("%q: %w", p, err)
		}
	}
	return nil
}

// coverPlace mounts a clone of the mount of from on a file, or on a link itself.
func coverPlace(from int, p string) error {
	dir, err := openPlain(filepath.Dir(p))
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	tree, err := unix.OpenTree(from, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
	if err != nil {
		return fmt.Errorf("open_tree: %w", err)
	}
	defer unix.Close(tree)
	if err := unix.MoveMount(tree, "", dir, filepath.Base(p), unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("move_mount: %w", err)
	}
	return nil
}

// recovered are the files that were covered again, each once.
func (m *masked) recovered() []string { return slices.Compact(slices.Sorted(slices.Values(m.again))) }
