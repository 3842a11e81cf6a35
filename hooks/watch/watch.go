// Package watch tells when profiles are saved, for `inner watch`.
//
//	err := watch.Watch(ctx, func() []string { return folders }, ready, func(paths []string) { … })
package watch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	settle = 100 * time.Millisecond // after an event, since one save is several
	always = time.Second            // without any: what sends none is seen then
)

// Watch calls onChange, from one goroutine and with sorted paths, whenever a
// *.toml file directly in one of the folders of dirs changed, came or went, and
// whenever one of those folders itself came, went or was replaced. It returns when ctx ends.
//
// What changed is told by looking at the files. That the system says when to look makes it
// fast, and nothing depends on it: where there can be no more watches, or another machine
// writes to a network file system, a change is seen a second later. The folders need not
// exist. dirs is asked before each look, so it may give other folders then.
//
// It calls ready, from the same goroutine, once it watches: a change made after that
// is seen, so what is to be compared with must be read in there and not before.
func Watch(ctx context.Context, dirs func() []string, ready func(), onChange func(paths []string)) {
	var events chan fsnotify.Event
	var faults chan error
	w, err := fsnotify.NewWatcher()
	if err == nil {
		defer w.Close()
		events, faults = w.Events, w.Errors
	}
	tick := time.NewTicker(always)
	defer tick.Stop()
	known := look(dirs())
	follow(w, dirs())
	ready()
	for {
		select {
		case <-ctx.Done():
			return
		case <-events:
			select {
			case <-ctx.Done():
				return
			case <-time.After(settle):
			}
		case <-faults: // events were lost
		case <-tick.C:
		}
		follow(w, dirs())
		now := look(dirs())
		var changed []string
		for _, seen := range []map[string]string{known, now} {
			for path := range seen {
				if known[path] != now[path] {
					changed = append(changed, path)
				}
			}
		}
		if known = now; len(changed) > 0 {
			slices.Sort(changed)
			onChange(slices.Compact(changed))
		}
	}
}

// follow has the system tell of changes in folders, and of theirs in the nearest ones above them
// that exist. It watches no files: editors save by renaming, after which a watch on the old file
// sees nothing.
func follow(w *fsnotify.Watcher, dirs []string) {
	if w == nil {
		return
	}
	for _, dir := range dirs {
		_ = w.Add(dir)
		for dir != "/" {
			if dir = filepath.Dir(dir); w.Add(dir) == nil {
				break
			}
		}
	}
}

// look returns what tells one state of the folders and of their profiles from another, by path.
func look(dirs []string) map[string]string {
	out := map[string]string{}
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if err != nil || !info.IsDir() {
			continue
		}
		out[dir] = fmt.Sprint(info.Sys().(*syscall.Stat_t).Ino)
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if info, err := e.Info(); err == nil && isProfileName(e.Name()) {
				st := info.Sys().(*syscall.Stat_t)
				out[filepath.Join(dir, e.Name())] = fmt.Sprint(st.Ino, st.Size, st.Mtim, st.Ctim)
			}
		}
	}
	return out
}

// isProfileName leaves out what editors put beside a file while it is edited:
// .#x.toml (emacs), .x.toml.swp and 4913 (vim), x.toml~, .x.toml.XXXX (renames).
func isProfileName(base string) bool {
	return strings.HasSuffix(base, ".toml") && !strings.HasPrefix(base, ".") && !strings.HasPrefix(base, "#")
}
