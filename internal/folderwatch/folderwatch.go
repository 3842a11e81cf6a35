// Package folderwatch watches folders for changes, and is the only user of fsnotify: the prompt
// hooks watch profiles, and a run watches the git directories of its box.
package folderwatch

import "github.com/fsnotify/fsnotify"

// A Watcher tells of changes in folders.
type Watcher = fsnotify.Watcher

// An Event is one change.
type Event = fsnotify.Event

// What a change can be.
const (
	Create = fsnotify.Create
	Remove = fsnotify.Remove
	Rename = fsnotify.Rename
)

// ErrOverflow says that events were lost, so anything may have changed.
var ErrOverflow = fsnotify.ErrEventOverflow

// New returns a watcher that watches nothing yet. It fails when the user has reached the
// limit of watchers (inotify(7), max_user_instances).
func New() (*Watcher, error) { return fsnotify.NewWatcher() }
