// Package review is what a person does with a kept run of package changes: finds it, reads what is
// different, and applies what is wanted of it.
//
// It promises that nothing of an original is written but by Apply, which writes each file
// whole or not at all, follows no link, and does not touch a file that is
// not what it was when it was compared. A file with several hard links becomes one of its
// own when it is applied.
package review

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/changes"
	"github.com/enr/inner/isolator/copytree"
)

// ErrMoved says that an original changed after it was compared and before it was
// written.
var ErrMoved = errors.New("the original changed just now")

// ErrBusy says that another process is applying the kept run.
var ErrBusy = errors.New("it is being applied by another process")

// Apply writes changes of the run to their originals, and returns those that were
// written. It stops at the first error. Each file is written beside its original and
// renamed, so that the original is old or new, never half; a folder that is not
// empty is not deleted.
//
// Only one process at a time can apply a run. Tidy, or the next Apply, removes the
// file that an Apply was writing when it was killed.
func Apply(ctx context.Context, k *changes.Kept, list []changes.Change) (done []changes.Change, err error) {
	lock, err := os.OpenFile(filepath.Join(k.Dir, "lock"), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, ErrBusy
	}
	if err := Tidy(k); err != nil {
		return nil, err
	}
	k.Record.Applying = rand.Text()
	_ = k.Record.Write(k.Dir) // on a full disk what makes room must still be possible
	done, err = apply(ctx, list, k.Record.Applying)
	k.Record.Applying = ""
	return done, errors.Join(err, Applied(k, done))
}

// Applied records changes that were applied.
func Applied(k *changes.Kept, list []changes.Change) error {
	for _, c := range list {
		k.Record.Applied = append(k.Record.Applied, c.Full())
	}
	slices.Sort(k.Record.Applied)
	k.Record.Applied = slices.Compact(k.Record.Applied)
	return k.Record.Write(k.Dir)
}

// Tidy removes the files that an Apply that was killed left beside the originals.
func Tidy(k *changes.Kept) error {
	if k.Record.Applying == "" {
		return nil
	}
	list, err := k.Compare() // the change that was being written is still among them
	if err != nil {
		return err
	}
	a := &applier{roots: map[string]int{}}
	defer a.close()
	seen := map[string]bool{}
	for _, c := range list {
		if where := filepath.Dir(c.Full()); !seen[where] {
			seen[where] = true
			a.tidy(c, k.Record.Applying)
		}
	}
	return nil
}

// tidy removes the file that is left beside one original.
func (a *applier) tidy(c changes.Change, token string) {
	to, err := a.root(c.Root)
	if err != nil {
		return
	}
	if dir, err := copytree.Open(to, path.Dir(c.Path), unix.O_RDONLY|unix.O_DIRECTORY); err == nil {
		_ = unix.Unlinkat(dir, nextName(token), 0)
		unix.Close(dir)
	}
}

// nextName returns the name under which the new content of an original is written.
func nextName(token string) string { return ".inner-apply-" + token }

func apply(ctx context.Context, list []changes.Change, token string) (done []changes.Change, err error) {
	a := &applier{roots: map[string]int{}, token: token}
	defer a.close()
	for _, c := range order(list) {
		if err := ctx.Err(); err != nil {
			return done, err
		}
		if err := a.one(c); err != nil {
			return done, fmt.Errorf("%q: %w", c.Full(), err)
		}
		done = append(done, c)
	}
	return done, a.sync()
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
	roots map[string]int
	token string
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
	to, err := a.root(c.Root)
	if err != nil {
		return err
	}
	from, err := a.root(c.Tree)
	if err != nil {
		return err
	}
	dir, err := parent(to, from, c.Path, c.Kind != changes.Deleted)
	if c.Kind == changes.Deleted && errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	p := place{dir: dir, name: path.Base(c.Path), next: nextName(a.token), change: c}
	switch {
	case c.Kind == changes.Deleted:
		return p.remove()
	case c.Kind == changes.Mode:
		return p.chmod()
	case c.Kind == changes.Type && (c.Old.IsDir() || c.New.IsDir()): // no rename puts one over the other
		if err := p.makeRoom(); err != nil {
			return err
		}
	}
	switch {
	case c.New.IsDir():
		return p.mkdir()
	case c.New&fs.ModeSymlink != 0:
		return p.put(func(name string) error { return unix.Symlinkat(c.Target, dir, name) })
	}
	return p.file(from)
}

// parent opens the folder a path of the original lies in. Folders that are
// missing are made as they are in the copy.
func parent(to, from int, rel string, make bool) (int, error) {
	dir := path.Dir(rel)
	fd, err := copytree.Open(to, dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err == nil || !make || !errors.Is(err, unix.ENOENT) || dir == "." {
		return fd, err
	}
	up, err := parent(to, from, dir, true)
	if err != nil {
		return -1, err
	}
	defer unix.Close(up)
	st, err := copytree.Lstat(from, dir)
	if err != nil {
		return -1, err
	}
	if err := unix.Mkdirat(up, path.Base(dir), st.Mode&0o777|0o700); err != nil {
		return -1, err
	}
	return copytree.Open(up, path.Base(dir), unix.O_RDONLY|unix.O_DIRECTORY)
}

// place is the original that one change is written to.
type place struct {
	dir    int
	name   string
	next   string
	change changes.Change
}

func (p place) there() bool {
	var st unix.Stat_t
	return unix.Fstatat(p.dir, p.name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
}

// asCompared returns an error unless the original is still as it was when it was compared.
func (p place) asCompared() error {
	var st unix.Stat_t
	err := unix.Fstatat(p.dir, p.name, &st, unix.AT_SYMLINK_NOFOLLOW)
	now := changes.State{}
	switch {
	case err == nil:
		now = changes.StateOf(st)
	case !errors.Is(err, unix.ENOENT):
		return err
	}
	want := p.change.Current
	if want.Mode.IsDir() && now.Mode.IsDir() {
		return nil
	}
	if now != want {
		return ErrMoved
	}
	return nil
}

func (p place) remove() error {
	if err := p.asCompared(); err != nil {
		return err
	}
	if !p.change.Old.IsDir() {
		return unix.Unlinkat(p.dir, p.name, 0)
	}
	err := unix.Unlinkat(p.dir, p.name, unix.AT_REMOVEDIR)
	if errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST) {
		return nil // it holds what the copy knew nothing of
	}
	return err
}

// makeRoom removes the original for something of another kind.
func (p *place) makeRoom() error {
	if err := p.remove(); err != nil {
		return err
	}
	if p.there() {
		return errors.New("the folder is not empty, and is to become something else")
	}
	p.change.Current = changes.State{}
	return nil
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
	return os.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), p.change.New.Perm())
}

func (p place) mkdir() error {
	err := unix.Mkdirat(p.dir, p.name, uint32(p.change.New.Perm())|0o700)
	if errors.Is(err, unix.EEXIST) { // made for what is in it
		var st unix.Stat_t
		if err := unix.Fstatat(p.dir, p.name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
		if st.Mode&unix.S_IFMT != unix.S_IFDIR {
			return ErrMoved
		}
		return nil
	}
	return err
}

// file writes a file of the copy beside the original, and then gives it the original's name. What is left when
// that is killed Tidy removes.
func (p place) file(from int) error {
	f, _, err := copytree.Closed(from, p.change.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	return p.put(func(name string) error {
		fd, err := unix.Openat(p.dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return p.fill(fd, int(f.Fd()))
	})
}

// fill writes the new content, and syncs it to the disk when it replaces an old file.
func (p place) fill(to, from int) error {
	if err := copytree.Fill(to, from); err != nil {
		return err
	}
	if err := unix.Fchmod(to, uint32(p.change.New.Perm())); err != nil {
		return err
	}
	if p.change.Old == 0 {
		return nil
	}
	return unix.Fdatasync(to)
}

// put makes something under a temporary name and renames it to the original's: what is
// new never over something that exists, what is changed only over what was compared.
func (p place) put(makeIt func(name string) error) error {
	name := p.next
	err := makeIt(name)
	if err == nil {
		err = p.asCompared()
	}
	if err == nil {
		flags := uint(0)
		if p.change.Current == (changes.State{}) {
			flags = unix.RENAME_NOREPLACE
		}
		err = unix.Renameat2(p.dir, name, p.dir, p.name, flags)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // a file system without it
			err = unix.Renameat(p.dir, name, p.dir, p.name)
		}
	}
	if err != nil {
		_ = unix.Unlinkat(p.dir, name, 0)
	}
	return err
}
