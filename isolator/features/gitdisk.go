package features

// limits.disk holds for what the box's git stores. No kernel gives a plain user a folder on
// the disk with a size, so it is looked at while the box runs, and the box is ended.

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/limits"
)

const (
	// How often the room on the disk is looked at: one system call.
	gitDiskEvery = 50 * time.Millisecond
	// How often the git directories are at least, for what others free on the disk meanwhile hides
	// what the box takes.
	gitDiskLook = time.Second
)

// gitDisk is what the git directories of a box may take on the disk beside what they began with.
type gitDisk struct {
	size  uint64
	begin uint64 // what they took at the start
	over  atomic.Bool
	stop  chan struct{}
	ended chan struct{}
}

// limit begins to look at the size of the box's git directories. It returns the question for
// launch.Options.Over, nil where there is no limit.
func (b *boxGits) limit(size uint64) func() string {
	if b == nil || len(b.copies) == 0 || size == 0 {
		return nil
	}
	b.disk = &gitDisk{size: size, begin: b.used(), stop: make(chan struct{}), ended: make(chan struct{})}
	go b.disk.follow(b.used, b.dir)
	return func() string {
		if b.disk.over.Load() {
			return limits.DiskKey
		}
		return ""
	}
}

// used is what the box's git directories take on the disk.
func (b *boxGits) used() uint64 {
	var n uint64
	for _, g := range b.copies {
		n += g.copy.Used()
	}
	return n
}

// follow counts when so much was written to the disk, by whomever, that the limit may be reached.
func (g *gitDisk) follow(used func() uint64, dir string) {
	defer close(g.ended)
	var left uint64 // what the box could still write when it was counted
	var room uint64 // what was free on the disk then
	var next, latest time.Time
	tick := time.NewTicker(gitDiskEvery)
	defer tick.Stop()
	for {
		select {
		case <-g.stop:
			return
		case now := <-tick.C:
			free := freeRoom(dir)
			if now.Before(next) || now.Before(latest) && free+left > room {
				continue
			}
			n := used()
			if n > g.begin+g.size {
				g.over.Store(true)
				return
			}
			took := time.Since(now)
			left, room = g.begin+g.size-n, free
			next, latest = now.Add(4*took), now.Add(max(gitDiskLook, 20*took))
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

// end stops looking; it is safe on nil.
func (g *gitDisk) end() {
	if g != nil {
		close(g.stop)
		<-g.ended
	}
}
