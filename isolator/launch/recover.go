package launch

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/outside"
	"github.com/enr/inner/isolator/launch/wire"
	"github.com/enr/inner/isolator/proc"
)

// The kernel takes a mount away when somebody on the host removes what it is on or renames
// something over it, as many editors do when they save: the box would see, or write, what
// comes to that place next. So the launcher follows the box's table of mounts (poll(2) of
// proc_pid_mountinfo(5)) and what is renamed on the way to the place (moves.go), and hides or
// protects it again, from outside (outside.go). It is open to the box for the few milliseconds
// in between.

// absentEvery is how often it is asked whether a removed file has a successor.
const absentEvery = 50 * time.Millisecond

// coverTries is how often in a row a place may be covered, and found open a moment later.
const coverTries = 100

// covered are the places of the box that are hidden or protected. Each is a box path.
type covered struct {
	hidden    []string // see plan.Plan.Masked
	protected []string // see plan.Plan.Protected
	table     int      // the table of mounts, for poll; -1 when it is not followed
	root      int      // the box's root folder
	moves     moves    // of what leads to the places
	absent    []string // where nothing is now
	tries     int      // to cover what is lost, in a row
	again     []string // those that were replaced
	failure   error    // why one could not be
}

// follow begins to follow the table of a box that is made, and whose program does not run yet.
func (c *covered) follow(pid int) error {
	if len(c.hidden)+len(c.protected) == 0 {
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
	c.table, c.root = table, root
	return nil
}

func (c *covered) close() {
	c.moves.close()
	closeFds(&c.table, &c.root)
}

func (c *covered) places() []string { return slices.Concat(c.protected, c.hidden) }

// exists reports whether something is at a place of the box.
func (c *covered) exists(p string) bool {
	fd, err := inBox(c.root, p, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err != unix.ENOENT && err != unix.ENOTDIR
}

// mounts reads the box's table of mounts. It opens nothing: who keeps us from opening files, by
// as many connections as we may have, must not keep us from seeing what is lost.
func (c *covered) mounts() (text []byte, err error) {
	for chunk := make([]byte, 64<<10); ; {
		n, err := wire.ReadAt(c.table, chunk, int64(len(text)))
		if err != nil || n == 0 {
			return text, err
		}
		text = append(text, chunk[:n]...)
	}
}

// lost returns the places whose mount is gone: those where something is now, and the others.
func (c *covered) lost() (lost, absent []string, err error) {
	text, err := c.mounts()
	if err != nil {
		return nil, nil, fmt.Errorf("the box's table of mounts: %w", err)
	}
	there := map[string]bool{}
	for _, mount := range proc.Mounts(text) {
		there[mount.At] = true
	}
	for _, p := range c.places() {
		switch {
		case there[p]:
		case c.exists(p):
			lost = append(lost, p)
		default:
			absent = append(absent, p)
		}
	}
	return lost, absent, nil
}

// note notes what has lost its mount. Where nobody saw how, the box may have made what is there.
func (c *covered) note(lost, absent []string, seen bool) {
	c.absent = absent
	if !seen {
		c.moves.mayBeMade(slices.Concat(c.again, lost, absent)...)
	}
}

// coverAgain hides and protects what has lost its mount. A box in which that fails ends.
func (s *session) coverAgain() {
	if s.over() {
		return
	}
	var st unix.Stat_t
	if unix.Stat(fmt.Sprintf("/proc/%d/ns/mnt", s.channel.pid), &st) == unix.ENOENT { // the box has ended
		return
	}
	c := &s.mounts.covered
	seen := c.moves.whole
	c.moves.watch(c.root, c.places()) // first: what moves from here on is told
	lost, absent, err := c.lost()
	c.note(lost, absent, seen)
	switch {
	case err != nil:
		c.failure = err
		s.killBox()
	case len(lost) > 0:
		isHidden := func(p string) bool { return slices.Contains(c.hidden, p) }
		// What is protected comes first: something in it may be hidden.
		again := outside.List{Protect: slices.DeleteFunc(slices.Clone(lost), isHidden), Hide: slices.DeleteFunc(slices.Clone(lost), func(p string) bool { return !isHidden(p) })}
		err := s.mounts.make(s.channel.pid, again)
		if c.tries++; err == nil && c.tries > coverTries {
			err = errors.New("it is replaced all the time")
		}
		if err != nil {
			c.failure = fmt.Errorf("%q was replaced on the host, and cannot be hidden or protected again: %w", lost[0], err)
			s.killBox()
			return
		}
		c.again, c.absent = append(c.again, lost...), nil
		s.alarms.in(lookForAbsent, time.Millisecond) // was it done? While a rename goes on nothing can be mounted there
	case !c.moves.whole:
		c.tries, c.absent = 0, nil
		s.alarms.in(lookForAbsent, unwatchedEvery)
	case len(c.absent) > 0:
		c.tries = 0
		s.alarms.in(lookForAbsent, absentEvery)
	default:
		c.tries = 0
	}
}

// coverMoved covers again what was open after something was renamed.
func (s *session) coverMoved() {
	if s.mounts.covered.moves.read() {
		s.coverAgain()
	}
	s.alarms.in(leaveMoves, movesRest)
}

// movesToRead is what the loop waits for, unless it has just read of it.
func (s *session) movesToRead() int {
	if s.alarms.set(leaveMoves) {
		return -1
	}
	return s.mounts.covered.moves.fd
}

// coverAbsent asks for the successor of what was removed, without reading the table again.
func (s *session) coverAbsent() {
	c := &s.mounts.covered
	if len(c.absent) > 0 && !slices.ContainsFunc(c.absent, c.exists) {
		s.alarms.in(lookForAbsent, absentEvery)
		return
	}
	s.coverAgain()
}

// tell says in the result of the run what became of the places, each once. The table that is
// open shows those of a box that has ended, too.
func (c *covered) tell(r *Result) {
	if moved := c.moves.fd >= 0 && c.moves.read(); c.table >= 0 && (moved || !c.moves.whole) {
		lost, absent, _ := c.lost()
		c.note(lost, absent, c.moves.whole)
		c.again = append(c.again, lost...)
	}
	again := slices.Compact(slices.Sorted(slices.Values(c.again)))
	r.Removed = slices.Sorted(maps.Keys(c.moves.made))
	for _, p := range again {
		if slices.Contains(c.hidden, p) {
			r.Recovered = append(r.Recovered, p)
		} else {
			r.Replaced = append(r.Replaced, p)
		}
	}
	if c.failure != nil {
		r.Uncovered = wire.Line(c.failure.Error())
	}
}
