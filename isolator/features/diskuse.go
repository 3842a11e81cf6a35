package features

// limits.disk holds for what a box stores on the disk: its git directories, and a home of its
// own. No kernel gives a plain user a folder on the disk with a size, so it is looked at while
// the box runs, and the box is ended.

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/limits"
)

const (
	// diskEvery is how often the free room on the disk is looked at: one system call.
	diskEvery = 50 * time.Millisecond
	// diskLook is how often the folders themselves are counted at least: what others free
	// on the disk meanwhile hides what the box takes.
	diskLook = time.Second
)

// diskUse is what a box may take on the disk in one place, beside what was there at the start.
type diskUse struct {
	what  string // for people
	size  uint64
	begin uint64
	used  func() uint64
	over  atomic.Bool
	stop  chan struct{}
	ended chan struct{}
}

// watchDisk begins to look at the size of something in dir, where the profile has a limit. It
// may be called again, for another try to start.
func (run *Run) watchDisk(what, dir string, used func() uint64, o *launch.Options) {
	if run.Plan.Limits == nil || run.Plan.Limits.Disk == 0 {
		return
	}
	o.Over = run.overDisk
	for _, u := range run.disks {
		if u.what == what {
			return
		}
	}
	u := &diskUse{what: what, size: run.Plan.Limits.Disk, begin: used(), used: used, stop: make(chan struct{}), ended: make(chan struct{})}
	if run.disks = append(run.disks, u); len(run.disks) == 1 {
		run.Undo(run.endDisks)
	}
	go u.follow(dir)
}

// overDisk is for launch.Options.Over.
func (run *Run) overDisk() string {
	if run.fullDisk() != "" {
		return limits.DiskKey
	}
	return ""
}

// fullDisk is what grew beyond the limit; "" for nothing.
func (run *Run) fullDisk() string {
	for _, u := range run.disks {
		if u.over.Load() {
			return u.what
		}
	}
	return ""
}

// follow counts when so much was written to the disk, by whomever, that the limit may be reached.
func (u *diskUse) follow(dir string) {
	defer close(u.ended)
	var left uint64 // what the box could still write when it was counted
	var room uint64 // what was free on the disk then
	var next, latest time.Time
	tick := time.NewTicker(diskEvery)
	defer tick.Stop()
	for {
		select {
		case <-u.stop:
			return
		case now := <-tick.C:
			free := freeRoom(dir)
			if now.Before(next) || now.Before(latest) && free+left > room {
				continue
			}
			n := u.used()
			if n > u.begin+u.size {
				u.over.Store(true)
				return
			}
			took := time.Since(now)
			left, room = u.begin+u.size-min(n, u.begin+u.size), free
			next, latest = now.Add(4*took), now.Add(max(diskLook, 20*took))
		}
	}
}

// freeRoom is what is free on the disk that a folder is on.
func freeRoom(dir string) uint64 {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return 0
	}
	return st.Bfree * uint64(st.Bsize)
}

// end stops looking.
func (u *diskUse) end() {
	close(u.stop)
	<-u.ended
}

// endDisks stops looking at all of them: what they look at is about to change.
func (run *Run) endDisks() {
	for _, u := range run.disks {
		u.end()
	}
	run.disks = nil
}
