package git

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/enr/inner/isolator/copytree"
)

// Left is a copy whose run is gone.
type Left struct {
	Dir    string // the copy's folder
	Run    string
	Repos  []string // the host's repositories
	Report Report
	Err    error // why it did not cross
	Gone   bool  // everything crossed, and the copy was removed
}

// Remove removes the folder of a copy that was closed.
func Remove(dir string) error { return copytree.Remove(dir) }

// Reopen opens a copy that a run left. It fails while the run lives.
func Reopen(dir string, roots []string) (*Copy, error) {
	c := &Copy{path: dir, roots: roots}
	if err := c.openFolders(false); err != nil {
		c.Close()
		return nil, err
	}
	data, err := c.state.read(metaFile, 64<<20)
	if err == nil {
		err = json.Unmarshal(data, &c.meta)
	}
	if err == nil && c.meta.Version != 1 {
		err = fmt.Errorf("it is of version %d", c.meta.Version)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Recover crosses what killed runs left in the copies in a folder, and removes the copies from which
// everything has crossed. It skips copies of live runs, and those for which skip, which may be nil,
// reports true. Each copy remembers its own roots, in which worktrees have to lie.
func Recover(ctx context.Context, base string, o Crossing, skip func(dir string) bool) ([]Left, error) {
	entries, err := os.ReadDir(base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Left
	for _, e := range entries {
		if !e.IsDir() || skip != nil && skip(filepath.Join(base, e.Name())) {
			continue
		}
		if l, found := recoverOne(ctx, filepath.Join(base, e.Name()), o); found {
			out = append(out, l)
		}
	}
	return out, nil
}

func recoverOne(ctx context.Context, dir string, o Crossing) (l Left, found bool) {
	c, err := Reopen(dir, nil)
	switch {
	case errors.Is(err, errBusy):
		return l, false
	case errors.Is(err, fs.ErrNotExist): // killed before it was whole: the box never ran
		if fi, err := os.Lstat(dir); err != nil || time.Since(fi.ModTime()) < beingMade {
			return l, false // or it is being made
		}
		return Left{Dir: dir, Gone: true, Err: Remove(dir)}, true
	case err != nil:
		return Left{Dir: dir, Err: err}, true
	}
	l = Left{Dir: dir, Run: c.meta.Run, Repos: c.Repositories()}
	c.roots = c.meta.Roots
	l.Err = c.unlockAll(ctx)
	if l.Err == nil {
		o.Final = true
		l.Report, l.Err = c.Cross(ctx, o)
	}
	c.Close()
	if l.Err == nil && !l.Report.Kept() {
		l.Err = Remove(dir)
		l.Gone = l.Err == nil
	}
	return l, true
}

// beingMade is how long it may take to make a copy before its folder counts as left by a crash.
const beingMade = 10 * time.Second

// errBusy is the error for a copy whose run is alive.
var errBusy = errors.New("its run is still going on")

// staleLock is how old the lock of a ref must be to count as left by the git of a killed run.
const staleLock = 2 * time.Second

// unlockAll removes the locks that a killed run left in the host's repositories: inner's own, which
// say whose they are, and those of a git that it had started, which are on refs that the run was
// about to move and hold the value that it was about to write.
func (c *Copy) unlockAll(ctx context.Context) error {
	var errs []error
	for _, u := range c.meta.Units {
		host, box, err := c.openUnit(u)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		box.close()
		names := []string{"config", stashRef, "logs/" + stashRef}
		for _, v := range u.Views {
			names = append(names, v.file("HEAD"), v.file("index"))
			for _, m := range mergeFiles() {
				names = append(names, v.file(m))
			}
		}
		for _, name := range names {
			errs = append(errs, host.unlock(name, c.meta.Run))
		}
		b, err := c.loadBase(u)
		if err != nil {
			errs = append(errs, err)
		} else {
			for name := range b.meant {
				errs = append(errs, host.unlock(name, c.meta.Run))
			}
			errs = append(errs, c.unlockRefs(ctx, host, b))
			b.log.Close()
		}
		host.close()
	}
	return errors.Join(errs...)
}

// unlockRefs removes the locks of refs that a killed git of this run left. No git of the run is at work when this is
// called, since each holds the lock of the copy. Locks below refs/inner/RUN are nobody else's. For a lock that may be
// another git's it waits some seconds: later nobody could tell that it was the run's.
func (c *Copy) unlockRefs(ctx context.Context, host *folder, b *base) error {
	ctx, cancel := context.WithTimeout(ctx, stalePacked+time.Second)
	defer cancel()
	var errs []error
	deleted := false
	for name, value := range b.meant {
		errs = append(errs, staleRefLock(ctx, host, name, value))
		deleted = deleted || value == ""
	}
	if deleted {
		errs = append(errs, staleLockOf(ctx, host, "packed-refs", stalePacked, func(data []byte) bool { return len(data) == 0 }))
	}
	own := "refs/inner/" + c.meta.Run
	if host.isDir(own) {
		errs = append(errs, host.walk(own, maxRefs, func(name string, dir bool) error {
			if !dir && strings.HasSuffix(name, ".lock") {
				return host.remove(name)
			}
			return nil
		}))
	}
	return errors.Join(errs...)
}

// stalePacked is how old the lock of the packed refs must be: another git takes a while to write a
// hundred thousand refs, and the lock does not say whose it is.
const stalePacked = 5 * time.Second

func staleRefLock(ctx context.Context, host *folder, name, value string) error {
	return staleLockOf(ctx, host, name, staleLock, func(data []byte) bool { return len(data) == 0 || strings.TrimSpace(string(data)) == value })
}

// staleLockOf removes the lock of a file once it is old, if its content is what ours would be.
func staleLockOf(ctx context.Context, host *folder, name string, age time.Duration, ours func([]byte) bool) error {
	lock := name + ".lock"
	for {
		st, err := host.stat(lock)
		if err != nil {
			return nil
		}
		data, err := host.read(lock, maxLoose)
		if err != nil || !ours(data) {
			return nil
		}
		if time.Since(time.Unix(st.Mtim.Unix())) >= age {
			return host.remove(lock)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(100 * time.Millisecond):
		}
	}
}
