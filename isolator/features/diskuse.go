package features

// limits.disk holds for what a box stores on the disk: its git directories, and a home of its
// own. No kernel gives a plain user a folder on the disk with a size, so it is looked at while
// the box runs, and the box is ended.

import (
	"sync"
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

// disks are what a box stores on the disk, while it is looked at.
type disks struct {
	watched map[string]bool
	full    atomic.Pointer[string] // what grew beyond the limit, for people
	stop    chan struct{}
	looking sync.WaitGroup
}

// watchDisk begins to look at the size of something in dir, where the profile has a limit. It
// may be called again, for another try to start.
func (run *Run) watchDisk(what, dir string, used func() uint64, o *launch.Options) {
	if run.Plan.Limits == nil || run.Plan.Limits.Disk == 0 {
		return
	}
	if run.disks == nil {
		run.disks = &disks{watched: map[string]bool{}, stop: make(chan struct{})}
		run.Undo(run.endDisks)
	}
	d := run.disks
	o.Over = func() string {
		if run.fullDisk() == "" {
			return ""
		}
		return limits.DiskKey
	}
	if !d.watched[what] {
		d.watched[what] = true
		most := used() + run.Plan.Limits.Disk // beside what was there at the start
		d.looking.Go(func() {
			if grows(dir, used, most, d.stop) {
				d.full.CompareAndSwap(nil, &what)
			}
		})
	}
}

// grows reports whether more than most is used before it is to stop. It counts when so much was written to the
// disk, by whomever, that it may be.
func grows(dir string, used func() uint64, most uint64, stop <-chan struct{}) bool {
	var left uint64 // what the box could still write when it was counted
	var room uint64 // what was free on the disk then
	var next, latest time.Time
	tick := time.NewTicker(diskEvery)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return false
		case now := <-tick.C:
			free := freeRoom(dir)
			if now.Before(next) || now.Before(latest) && free+left > room {
				continue
			}
			n := used()
			if n > most {
				return true
			}
			took := time.Since(now)
			left, room = most-n, free
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

// fullDisk is what grew beyond the limit; "" for nothing.
func (run *Run) fullDisk() string {
	if run.disks != nil {
		if what := run.disks.full.Load(); what != nil {
			return *what
		}
	}
	return ""
}

// endDisks stops looking: what is looked at is about to change.
func (run *Run) endDisks() {
	if d := run.disks; d != nil && d.watched != nil {
		close(d.stop)
		d.looking.Wait()
		d.watched = nil
	}
}
