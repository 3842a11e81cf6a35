package launch

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/launch/wire"
	"github.com/enr/inner/isolator/proc"
)

// The kernel takes a mount away when somebody on the host removes what it is on or renames
// something over it, as many editors do when they save, and moves it along when that is renamed
// itself: the box would see, or write, what comes to that place next. The table of mounts raises
// an event for the first (poll(2) of proc_pid_mountinfo(5)), and none for the second. So the
// launcher follows the table, reads it once a second, too, and hides or protects the place again,
// from outside (outside.go). Until then it is open to the box.

const (
	// coversEvery is how often the table is read when it has raised no event.
	coversEvery = time.Second
	// firstLook is when it is read first.
	firstLook = 100 * time.Millisecond
	// absentEvery is how often while a removed file has no successor yet.
	absentEvery = 50 * time.Millisecond
)

// coverTries is how often in a row a place may be covered, and found open a moment later.
const coverTries = 100

// covered are the places of the box that are hidden or protected. Each is a box path.
type covered struct {
	hidden    []string // see plan.Plan.Masked
	protected []string // see plan.Plan.protected
	table     int      // the table of mounts, for poll; -1 when it is not followed
	root      boxRoot  // -1 when nothing is looked at
	tries     int      // to cover what is lost, in a row
	again     places   // those that were replaced
	failure   error    // why one could not be

	quiet   activity // at the last look at which none was lost
	pending places   // those that were lost since
	saved   func(place, identity string)
}

// places are those that have lost their mount.
type places struct{ hide, protect []string }

func (p *places) add(more places) {
	p.hide, p.protect = append(p.hide, more.hide...), append(p.protect, more.protect...)
}

// follow begins to follow the table of a box that is made, unless it does.
func (c *covered) follow(pid int) error {
	if c.table >= 0 || len(c.hidden)+len(c.protected) == 0 {
		return nil
	}
	table, err := unix.Open(fmt.Sprintf("/proc/%d/mountinfo", pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("the box's table of mounts: %w", means(err))
	}
	c.table = table
	return nil
}

// open opens the root folder of the box of this process, once.
func (c *covered) open(box int) error {
	if c.root >= 0 {
		return nil
	}
	root, err := unix.Open(fmt.Sprintf("/proc/%d/root", box), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("the box's root folder: %w", means(err))
	}
	c.root = boxRoot(root)
	return nil
}

// close lets go of the mounts of the box. Who is the last takes them all apart: that may be done while the run ends.
func (c *covered) close() {
	table, root := c.table, int(c.root)
	if c.table, c.root = -1, -1; table >= 0 || root >= 0 {
		go closeFds(&table, &root)
	}
}

// exists reports whether something is at a place of the box.
func (c *covered) exists(p string) bool {
	fd, err := c.root.at(p, unix.O_NOFOLLOW)
	closeFds(&fd)
	return !absent(err)
}

func absent(err error) bool { return err == unix.ENOENT || err == unix.ENOTDIR }

// seen reports that of something hidden. Where the host has put a link on the way, that may lead to nothing, or to
// what is covered, as to the folder that was there.
func (c *covered) seen(p string) bool {
	how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | unix.O_NOFOLLOW, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	fd, err := unix.Openat2(int(c.root), "."+p, how)
	if err != nil {
		return !absent(err)
	}
	defer unix.Close(fd)
	var st unix.Statx_t
	err = unix.Statx(fd, "", unix.AT_EMPTY_PATH, 0, &st)
	return err != nil || st.Attributes&unix.STATX_ATTR_MOUNT_ROOT == 0
}

// mounts reads the box's table of mounts. It opens nothing: who keeps us from opening files, by
// as many connections as we may have, must not keep us from seeing what is lost.
func (c *covered) mounts() (text []byte, err error) {
	for chunk := make([]byte, 4<<10); ; { // the kernel gives no more at once
		n, err := wire.ReadAt(c.table, chunk, int64(len(text)))
		if err != nil || n == 0 {
			return text, err
		}
		text = append(text, chunk[:n]...)
	}
}

// lost returns the places whose mount is gone and where something is now. wait is how long the
// next look can wait.
func (c *covered) lost() (lost places, wait time.Duration, err error) {
	text, err := c.mounts()
	if err != nil {
		return lost, 0, fmt.Errorf("the box's table of mounts: %w", err)
	}
	there := proc.Points(text)
	wait = coversEvery
	open := func(places []string, exists func(string) bool) (open []string) {
		for _, p := range places {
			switch {
			case there[p]:
			case exists(p):
				open = append(open, p)
			default:
				wait = absentEvery
			}
		}
		return open
	}
	lost.protect, lost.hide = open(c.protected, c.exists), open(c.hidden, c.seen)
	return lost, wait, nil
}

// coverNow covers all that the host has replaced until now.
func (s *session) coverNow() {
	if s.mounts.covered.table < 0 {
		return
	}
	for s.coverAgain(); s.mounts.covered.tries > 0 && !s.over(); {
		s.coverAgain()
	}
}

// coverAgain hides and protects what has lost its mount. A box in which that fails ends.
func (s *session) coverAgain() {
	if s.over() {
		return
	}
	var st unix.Stat_t
	if unix.Stat(fmt.Sprintf("/proc/%d/ns/mnt", s.first), &st) == unix.ENOENT { // the box has ended
		return
	}
	c := &s.mounts.covered
	came := c.came()
	lost, wait, err := c.lost()
	if open := slices.Concat(lost.protect, lost.hide); len(open) > 0 {
		c.pending.add(lost)
		wait = time.Millisecond // was it done? While a rename goes on nothing can be mounted there
		if err = s.mounts.again(s.first, lost); err == nil && c.tries == coverTries {
			err = errors.New("it is replaced all the time")
		}
		if err != nil {
			err = fmt.Errorf("%q was replaced on the host, and cannot be hidden or protected again: %w", open[0], err)
		}
		c.tries++
	} else if err == nil {
		c.tries = 0
		// To look at all processes costs more than to read the table: where a removed file has no successor
		// that is done more often.
		if len(c.pending.protect)+len(c.pending.hide) > 0 || time.Since(c.quiet.at) >= coversEvery-absentEvery {
			c.settle(activityOf(s.child.pid), came)
		}
	}
	if err != nil {
		c.failure = err
		s.killBox()
		return
	}
	s.alarms.in(lookAtCovers, wait, s.coverAgain)
}

// came returns the identity of what is at the places that were lost, "" where it may be older than the
// last quiet look. It comes before the look that finds them covered: what comes later uncovers them.
func (c *covered) came() map[string]string {
	came := map[string]string{}
	for _, p := range c.pending.protect {
		if fd, err := c.root.at(p, unix.O_NOFOLLOW); err == nil {
			if files.BornAfter(fd, "", c.quiet.at) {
				came[p] = files.Identity(fd, "")
			}
			unix.Close(fd)
		}
	}
	return came
}

// settle decides about the places that were lost, now that all are covered: what came there is the
// host's alone when nothing in the box has run since before it was made.
func (c *covered) settle(now activity, came map[string]string) {
	if now.idleSince(c.quiet) {
		c.pending.hide = nil
		c.pending.protect = slices.DeleteFunc(c.pending.protect, func(p string) bool {
			c.saved(p, came[p])
			return came[p] != ""
		})
	}
	c.note(c.pending)
	c.pending, c.quiet = places{}, now
}

// note keeps places at which the box could see or write what came.
func (c *covered) note(lost places) {
	for _, p := range lost.protect {
		c.saved(p, "")
	}
	c.again.add(lost)
}

// last looks at the places for the last time, once nothing in the box runs any more. The table that is open shows those
// of a box that has ended, too.
func (c *covered) last() {
	if c.table >= 0 {
		lost, _, _ := c.lost()
		c.note(c.pending)
		c.note(lost)
	}
	c.close()
}

// tell says in the result of the run what became of the places, each once.
func (c *covered) tell(r *Result) {
	c.last()
	once := func(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }
	r.Replaced, r.Recovered = once(c.again.protect), once(c.again.hide)
	if c.failure != nil {
		r.Uncovered = wire.Line(c.failure.Error())
	}
}
