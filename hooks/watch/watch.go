// Package watch tells when profiles are saved, for `inner watch`.
//
//	err := watch.Watch(ctx, func() []string { return folders }, nil, func(paths []string) { … })
package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/enr/inner/internal/paths"
)

// How long Watch waits for more after a change, and how long at most: one save
// is several events, and a program that never stops writing must not hide what
// it does.
const (
	settle    = 50 * time.Millisecond
	settleMax = 500 * time.Millisecond
)

// Watch calls onChange, from one goroutine and with sorted paths, whenever a
// *.toml file directly in one of the folders of dirs changed, came or went, and
// whenever one of those folders itself came, went or was replaced. It returns
// nil when ctx ends, and an error when the system cannot watch.
//
// It watches folders and never files: editors save by renaming, after which a
// watch on the old file sees nothing. The folders need not exist: the nearest
// ancestor that does is watched until they appear. dirs is asked again after
// each change, so it may give other folders then.
//
// Two things it cannot see: changes made on another machine to a network file
// system, and what a file that is linked to holds. Nothing that decides what may
// run depends on it.
//
// It calls ready, from the same goroutine, once it watches: a change made after that
// is seen, so what is to be compared with must be read in there and not before.
func Watch(ctx context.Context, dirs func() []string, ready func(), onChange func(paths []string)) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return watchError(err)
	}
	defer w.Close()
	f := folders{w: w, on: map[string]os.FileInfo{}}
	if _, err := f.follow(dirs()); err != nil {
		return err
	}
	ready()

	var pending []string
	var first time.Time // when the oldest pending change was seen
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	timer.Stop()
	add := func(paths ...string) {
		if len(paths) == 0 {
			return
		}
		if len(pending) == 0 {
			first = time.Now()
		}
		pending = append(pending, paths...)
		timer.Reset(min(settle, time.Until(first.Add(settleMax))))
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case ev, ok := <-w.Events:
			if !ok {
				return errors.New("cannot watch for changes: the watcher ended")
			}
			if f.concerns(ev) {
				add(ev.Name)
			}
		case err := <-w.Errors:
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				return watchError(err)
			}
			// Events were lost: anything may have changed.
			add(f.dirs...)
		case <-timer.C:
			more, err := f.follow(dirs())
			if err != nil {
				return err
			}
			changed := append(pending, more...)
			pending = nil
			slices.Sort(changed)
			onChange(slices.Compact(changed))
		}
	}
}

// A LimitError says that a limit of the system on watches is reached.
type LimitError struct {
	Limit string // name of the sysctl
	Err   error
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("cannot watch for changes: the limit %s is reached: %v", e.Limit, e.Err)
}

func (e *LimitError) Unwrap() error { return e.Err }

// Hint is something to type against it.
func (e *LimitError) Hint() string {
	value := "1024"
	if strings.HasSuffix(e.Limit, "watches") {
		value = "524288"
	}
	return fmt.Sprintf("sudo sysctl %s=%s", e.Limit, value)
}

// watchError words what adding a watch may fail with (inotify(7), "limits").
func watchError(err error) error {
	switch {
	case errors.Is(err, syscall.EMFILE):
		return &LimitError{"fs.inotify.max_user_instances", syscall.EMFILE}
	case errors.Is(err, syscall.ENOSPC):
		return &LimitError{"fs.inotify.max_user_watches", syscall.ENOSPC}
	}
	return fmt.Errorf("cannot watch for changes: %w", err)
}

// folders is what is watched for the sake of which folders.
type folders struct {
	w    *fsnotify.Watcher
	dirs []string               // wanted, clean and absolute
	on   map[string]os.FileInfo // watched: the wanted ones and their nearest existing ancestors
}

// follow watches the wanted folders that exist, each one's parent, and for a
// missing one the nearest ancestor. A folder that is another one than the one
// watched under that name is watched anew, and what is in it is returned: it
// came without events of its own.
//
// It looks until it finds nothing new: what was made below a folder before the
// watch on it was in place sends no event. Not for ever: of two names of one
// folder, the system knows only the one added last.
func (f *folders) follow(dirs []string) (found []string, err error) {
	for range 10 {
		more, added, err := f.once(dirs)
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
		if !added {
			break
		}
	}
	return found, nil
}

func (f *folders) once(dirs []string) (found []string, added bool, err error) {
	want, err := f.want(dirs)
	if err != nil {
		return nil, false, err
	}
	for path := range f.on {
		if !want[path] {
			f.drop(path)
		}
	}
	for path := range want {
		is, err := f.watch(path)
		switch {
		case err != nil:
			return nil, false, err
		case is && slices.Contains(f.dirs, path):
			found = append(found, tomlFiles(path)...)
		}
		added = added || is
	}
	return found, added, nil
}

// want is what is to be watched for the sake of dirs.
func (f *folders) want(dirs []string) (map[string]bool, error) {
	f.dirs = f.dirs[:0]
	want := map[string]bool{}
	for _, dir := range dirs {
		dir = filepath.Clean(dir)
		if !filepath.IsAbs(dir) {
			return nil, fmt.Errorf("cannot watch %q: the path is not absolute", dir)
		}
		f.dirs = append(f.dirs, dir)
		if isDir(dir) {
			want[dir] = true
		}
		up := filepath.Dir(dir)
		for up != "/" && !isDir(up) {
			up = filepath.Dir(up)
		}
		if up != dir {
			want[up] = true
		}
	}
	return want, nil
}

// watch watches a folder, and reports whether it is another one than what was watched there.
// One that is gone again is no error: its parent tells when it is back. Nor is one that may
// not be read, which is its owner's business.
func (f *folders) watch(path string) (added bool, err error) {
	info, err := os.Stat(path)
	if err == nil && f.on[path] != nil && os.SameFile(info, f.on[path]) && slices.Contains(f.w.WatchList(), path) {
		return false, nil
	}
	f.drop(path)
	if err == nil {
		err = f.w.Add(path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrPermission):
		return false, nil
	case err != nil:
		return false, watchError(err)
	}
	f.on[path] = info
	return true, nil
}

func (f *folders) drop(path string) {
	delete(f.on, path)
	// An error says that the watch went with its folder.
	_ = f.w.Remove(path)
}

// concerns reports whether an event is about a profile or about a wanted
// folder or one of its ancestors.
func (f *folders) concerns(ev fsnotify.Event) bool {
	name := filepath.Clean(ev.Name)
	if isProfileName(filepath.Base(name)) && slices.Contains(f.dirs, filepath.Dir(name)) {
		return true
	}
	// Changed attributes, and writes, of a folder say nothing about it.
	if !ev.Has(fsnotify.Create) && !ev.Has(fsnotify.Remove) && !ev.Has(fsnotify.Rename) {
		return false
	}
	return slices.ContainsFunc(f.dirs, func(dir string) bool {
		return paths.Below(name, dir)
	})
}

// isProfileName leaves out what editors put beside a file while it is edited:
// .#x.toml (emacs), .x.toml.swp and 4913 (vim), x.toml~, .x.toml.XXXX (renames).
func isProfileName(base string) bool {
	return strings.HasSuffix(base, ".toml") && !strings.HasPrefix(base, ".") && !strings.HasPrefix(base, "#")
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func tomlFiles(dir string) []string {
	entries, _ := os.ReadDir(dir)
	var out []string
	for _, e := range entries {
		if isProfileName(e.Name()) {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out
}
