// Package review is what a person does with a kept run of package changes: finds it, reads what is
// different, and applies what is wanted of it.
//
// It promises that nothing of an original is written but by Apply, which puts each file there
// whole or not at all, follows no link, and does not touch a file that is
// not what it was when it was compared.
package review

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/changes"
	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/isolator/owned"
)

// ErrMoved says that an original changed after it was compared and before it was
// written.
var ErrMoved = errors.New("it changed just now")

// ErrBusy says that another process is applying the kept run.
var ErrBusy = errors.New("it is being applied by another process")

// Apply writes changes of the run to their originals, and returns those that were
// written. It stops at the first error. A file of the copy gets the original's name as well, or is
// copied where that is on another disk, so that the original is old or new, never half; a folder that
// is not empty is not deleted.
//
// Only one process at a time can apply a run.
func Apply(ctx context.Context, k *changes.Kept, list []changes.Change) (done []changes.Change, err error) {
	lock, err := owned.Lock(filepath.Join(k.Dir, "lock"), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, ErrBusy
	}
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	a := &applier{ctx: ctx, roots: map[string]int{}, own: map[copytree.State]copytree.State{}, next: filepath.Join(k.Dir, "next")}
	defer a.close()
	done, err = a.all(list)
	return done, errors.Join(err, Applied(k, done))
}

// Applied records changes that were applied.
func Applied(k *changes.Kept, list []changes.Change) error {
	for _, c := range list {
		k.Record.Applied = append(k.Record.Applied, changes.Path(c.Full()))
	}
	slices.Sort(k.Record.Applied)
	k.Record.Applied = slices.Compact(k.Record.Applied)
	return k.Record.Write(k.Dir)
}

func (a *applier) all(list []changes.Change) (done []changes.Change, err error) {
	var folders []changes.Change
	for _, c := range order(list) {
		if err := a.ctx.Err(); err != nil {
			return done, err
		}
		if c.New.IsDir() {
			folders = append(folders, c)
		}
		if c.New.IsDir() && c.Kind == changes.Mode {
			continue
		}
		if err := a.one(c); err != nil {
			return done, fmt.Errorf("%q: %w", c.Full(), err)
		}
		done = append(done, c)
	}
	for _, c := range slices.Backward(folders) { // what is in a folder is there, and the umask has no say
		set := c
		if c.Kind != changes.Mode {
			set.Kind, set.Current = changes.Mode, copytree.State{Mode: fs.ModeDir}
		}
		if err := a.one(set); err != nil {
			return done, fmt.Errorf("%q: %w", c.Full(), err)
		}
		if c.Kind == changes.Mode {
			done = append(done, c)
		}
	}
	return done, a.sync()
}

// open has a folder of the user's that is closed for writing be open until shut, which gives it its mode again.
func open(dir int) (shut func(), err error) {
	var st unix.Stat_t
	if err := unix.Fstat(dir, &st); err != nil || st.Mode&0o300 == 0o300 || int(st.Uid) != os.Geteuid() {
		return func() {}, err
	}
	return func() { _ = unix.Fchmod(dir, st.Mode&0o7777) }, unix.Fchmod(dir, st.Mode&0o7777|0o700)
}

// order sorts changes: first what is new or changed, then what is deleted (the
// deepest first), then what replaces a thing of another kind, with its content.
func order(list []changes.Change) []changes.Change {
	var turned []string
	for _, c := range list {
		if c.Kind == changes.Type {
			turned = append(turned, c.Full())
		}
	}
	rank := func(c changes.Change) int {
		switch {
		case c.Kind == changes.Deleted:
			return 2
		case slices.ContainsFunc(turned, func(p string) bool { return paths.Below(p, c.Full()) }):
			return 3
		}
		return 1
	}
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(x, y changes.Change) int {
		rx, ry := rank(x), rank(y)
		if rx == 2 && ry == 2 {
			return cmp.Compare(y.Full(), x.Full())
		}
		return cmp.Or(cmp.Compare(rx, ry), cmp.Compare(x.Full(), y.Full()))
	})
	return out
}

type applier struct {
	ctx   context.Context
	roots map[string]int
	own   map[copytree.State]copytree.State // what Apply made of one of several names of a file, for the others
	next  string                            // what is about to get the name of an original, beside the copies
}

func (a *applier) close() {
	for _, fd := range a.roots {
		unix.Close(fd)
	}
}

// sync waits until everything written is on the disk, because the copies may be
// deleted next.
func (a *applier) sync() error {
	for root, fd := range a.roots {
		if err := unix.Syncfs(fd); err != nil {
			return &fs.PathError{Op: "sync", Path: root, Err: err}
		}
	}
	return nil
}

func (a *applier) root(dir string) (int, error) {
	if fd, ok := a.roots[dir]; ok {
		return fd, nil
	}
	fd, err := changes.OpenDir(dir)
	if err == nil {
		a.roots[dir] = fd
	}
	return fd, err
}

// one applies one change.
func (a *applier) one(c changes.Change) error {
	root, err := a.root(c.Root)
	if err != nil {
		return err
	}
	from, err := a.root(c.Tree)
	if err != nil {
		return err
	}
	dir, err := folder(root, from, path.Dir(c.Path), c.Kind != changes.Deleted)
	if c.Kind == changes.Deleted && errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	to := os.NewFile(uintptr(dir), c.Full())
	defer to.Close()
	if c.Kind != changes.Mode && c.Source == c.Root { // else one file was copied, and its folder is none of the copy
		shut, err := open(dir)
		if err != nil {
			return err
		}
		defer shut()
	}
	p := place{dir: dir, name: path.Base(c.Path), change: c}
	if was := c.Current; !was.Mode.IsDir() && was != (copytree.State{}) {
		if now, ok := a.own[was]; ok {
			p.change.Current = now
		}
		if old, err := unix.Openat(dir, p.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0); err == nil {
			defer unix.Close(old)
			defer a.others(old, was)
		}
	}
	switch {
	case c.Kind == changes.Deleted:
		return p.remove(false)
	case c.Kind == changes.Mode:
		return p.chmod()
	case c.Kind == changes.Type && (c.Old.IsDir() || c.New.IsDir()): // no rename puts one over the other
		if err := p.remove(true); err != nil {
			return err
		}
		p.change.Current = copytree.State{}
	}
	if c.New.IsDir() { // it may be made already, for what is in it
		p.change.Current = copytree.State{Mode: fs.ModeDir}
		if err = unix.Mkdirat(dir, p.name, uint32(c.New.Perm())|0o700); errors.Is(err, unix.EEXIST) {
			err = p.asCompared()
		}
		return err
	}
	if err := a.take(from, c); err != nil {
		return err
	}
	over := p.asCompared
	if p.change.Current == (copytree.State{}) {
		over = nil
	}
	if err = copytree.Move(a.ctx, a.next, to, p.name, over); errors.Is(err, fs.ErrExist) {
		err = ErrMoved
	}
	return err
}

// others notes what a file is that had several names, since one of them was written: the time of its state is another.
func (a *applier) others(fd int, was copytree.State) {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Nlink == 0 {
		return
	}
	if now := copytree.StateOf(st); now.Ino == was.Ino && now.Size == was.Size && now.Mtime == was.Mtime {
		a.own[was] = now
	}
}

// take makes what is moved of a file or link of the copy. It is a file of its own: another box may have the
// one that the box wrote open.
func (a *applier) take(from int, c changes.Change) error {
	if err := os.Remove(a.next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := copytree.In(from, c.Path, func(dir int, name string) error {
		if c.New&fs.ModeSymlink != 0 {
			return unix.Linkat(dir, name, unix.AT_FDCWD, a.next, 0)
		}
		_, err := copytree.Copy(a.ctx, fmt.Sprintf("/proc/self/fd/%d/%s", dir, name), a.next, copytree.Options{})
		return err
	})
	if err != nil || c.New&fs.ModeSymlink != 0 {
		return err
	}
	fi, err := os.Lstat(a.next)
	switch {
	case err != nil:
		return err
	case !fi.Mode().IsRegular():
		return files.ErrNotRegular
	}
	return os.Chmod(a.next, c.New.Perm()) // no set-id bits
}

// folder opens a folder of the original. It and those above that are missing are made as they are in the copy.
func folder(to, from int, rel string, make bool) (int, error) {
	fd, err := copytree.Open(to, rel, unix.O_RDONLY|unix.O_DIRECTORY)
	if err == nil || !make || !errors.Is(err, unix.ENOENT) || rel == "." {
		return fd, err
	}
	up, err := folder(to, from, path.Dir(rel), true)
	if err != nil {
		return -1, err
	}
	defer unix.Close(up)
	st, _ := copytree.Lstat(from, rel)
	if err := unix.Mkdirat(up, path.Base(rel), st.Mode&0o777|0o700); err != nil {
		return -1, err
	}
	return copytree.Open(up, path.Base(rel), unix.O_RDONLY|unix.O_DIRECTORY)
}

// place is the original that one change is written to.
type place struct {
	dir    int
	name   string
	change changes.Change
}

// asCompared returns an error unless the original is still as it was when it was compared.
func (p place) asCompared() error {
	st, err := copytree.Lstat(p.dir, p.name)
	now, want := copytree.StateOf(st), p.change.Current
	switch {
	case errors.Is(err, unix.ENOENT):
		now = copytree.State{}
	case err != nil:
		return err
	}
	if now != want && !(want.Mode.IsDir() && now.Mode.IsDir()) {
		return ErrMoved
	}
	return nil
}

// remove removes the original. A folder that holds what the copy knew nothing of stays, and is an error where
// something else is to come into its place.
func (p place) remove(room bool) error {
	if err := p.asCompared(); err != nil {
		return err
	}
	if !p.change.Old.IsDir() {
		return unix.Unlinkat(p.dir, p.name, 0)
	}
	err := unix.Unlinkat(p.dir, p.name, unix.AT_REMOVEDIR)
	switch full := errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST); {
	case full && room:
		return errors.New("the folder is not empty, and is to become something else")
	case full:
		return nil
	}
	return err
}

func (p place) chmod() error {
	if err := p.asCompared(); err != nil {
		return err
	}
	fd, err := unix.Openat(p.dir, p.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	// A descriptor of O_PATH cannot be changed itself; its name in /proc can,
	// and leads nowhere else.
	mode := p.change.New.Perm()
	if p.change.New.IsDir() { // of a file none of these
		mode |= p.change.New & (fs.ModeSetgid | fs.ModeSticky)
	}
	return os.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), mode)
}
