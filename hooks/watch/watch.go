// Package watch tells when profiles may have been saved, for `inner watch`.
//
//	watch.Watch(ctx, func() []string { return folders }, func() { … })
package watch

import (
	"context"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	settle = 100 * time.Millisecond // after an event, since one save is several
	always = time.Second            // without any: what sends none is seen then
)

// Watch calls look, from one goroutine: at once, whenever something changed in one of the folders of
// dirs, and once a second. It returns when ctx ends.
//
// What changed is told by looking, which is the caller's. That the system says when makes it
// fast, and nothing depends on it: where there can be no more watches, or another machine
// writes to a network file system, a change is seen a second later. The folders need not
// exist. dirs is asked before each look, so it may give other folders then, and what changes
// from the beginning of a look on leads to another one.
func Watch(ctx context.Context, dirs func() []string, look func()) {
	var events chan fsnotify.Event
	var faults chan error
	w, err := fsnotify.NewWatcher()
	if err == nil {
		defer w.Close()
		events, faults = w.Events, w.Errors
	}
	tick := time.NewTicker(always)
	defer tick.Stop()
	for {
		follow(w, dirs())
		look()
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
