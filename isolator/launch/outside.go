package launch

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/nsenter"
	"github.com/enr/inner/isolator/launch/outside"
	"github.com/enr/inner/isolator/launch/wire"
)

// Some mounts of a box are made after bwrap's, and from outside (package outside). The program
// does not start before every one of them is there, and has been looked at: the supervisor waits
// for the launcher's word until then.

// OutsideFailed begins the reason of a result when a mount cannot be made from outside.
const OutsideFailed = "a mount of the sandbox cannot be made from outside:"

// mounts are those that are made in the box from outside.
type mounts struct {
	first      outside.List // before the program starts
	covered    covered      // made again when the host replaces what is under them, see recover.go
	supervisor string       // the binary that supervises the box, and mounts in it from outside
	others     func(Inside) error
}

// Inside are the namespaces of a box, as descriptors.
type Inside struct {
	Mounts int
	User   int // that of who made the mounts, -1 when it is our own
}

// inside opens the namespaces of the box of this process.
func inside(box int, owned *descriptors) (in Inside, err error) {
	if in.Mounts, err = owned.add(unix.Open(fmt.Sprintf("/proc/%d/ns/mnt", box), unix.O_RDONLY|unix.O_CLOEXEC, 0)); err != nil {
		return in, fmt.Errorf("the mounts of the box: %w", err)
	}
	if in.User, err = owned.add(unix.IoctlRetInt(in.Mounts, unix.NS_GET_USERNS)); err != nil {
		return in, fmt.Errorf("the owner of the mounts of the box: %w", err)
	}
	if ownNamespace(in.User) {
		in.User = -1
	}
	return in, nil
}

// complete mounts what is missing in the box of this process, and begins to follow its table.
func (m *mounts) complete(box int) error {
	if len(m.first.Pins) > 0 || len(m.first.Masks) > 0 {
		if err := m.make(box, m.first); err != nil {
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
			return fmt.Errorf("%s %w", OutsideFailed, err)
		}
	}
	return m.covered.follow(box)
}

// make has something mounted in the box of this process.
func (m *mounts) make(box int, list outside.List) error {
	var owned descriptors
	defer owned.close()
	data, err := owned.add(wire.Memfd(list.Encode()))
	if err != nil {
		return err
	}
	in, err := inside(box, &owned)
	if err != nil {
		return err
	}
	exe, err := owned.add(unix.Open(m.supervisor, unix.O_PATH|unix.O_CLOEXEC, 0))
	if err != nil {
		return fmt.Errorf("%s: %w", m.supervisor, err)
	}
	null, err := owned.add(wire.OpenNull())
	if err != nil {
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	calls := []nsenter.Call{}
	if in.User >= 0 {
		calls = append(calls, nsenter.Setns(in.User, unix.CLONE_NEWUSER))
	}
	program := fmt.Sprintf("/proc/self/fd/%d", outside.FdExe)
	err = nsenter.Exec(program, []string{program, outside.Word}, []int{null, null, int(w.Fd()), outside.FdExe: exe, outside.FdMounts: in.Mounts, outside.FdList: data}, calls...)
	w.Close()
	said, _ := io.ReadAll(io.LimitReader(r, 4096))
	if err != nil || string(said) != outside.Done {
		return fmt.Errorf("%s %s", OutsideFailed, wire.Line(cmp.Or(strings.TrimSpace(string(said)), fmt.Sprint(err))))
	}
	return nil
}

// ownNamespace reports whether a user namespace is the one we are in.
func ownNamespace(fd int) bool {
	var a, b unix.Stat_t
	return unix.Fstat(fd, &a) == nil && unix.Stat("/proc/self/ns/user", &b) == nil && a.Ino == b.Ino && a.Dev == b.Dev
}
