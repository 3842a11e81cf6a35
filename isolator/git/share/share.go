// Package share serves the git directory of a project to a box: the same files, through a gate.
//
// A box and the person outside work on one repository, as two terminals do, with git's own locks. What
// the host's git trusts (HEAD, refs, packed-refs, the index) is decided about when it is renamed into
// place: it is read once, looked at, and written anew into a file that no box ever had open. What only
// this box should see (its settings, a rebase that is half done) lies in a folder of its own. Objects
// are no part of it: the box writes them into a store, and what a name is about to need comes over
// first (Objects).
//
// It is a file system of FUSE, in a process of its own: whoever waits in a stopped server cannot be
// killed. The kernel's messages are those of a hostile box. Names are relative to the git directory,
// and are opened beneath it without following links.
package share

import (
	"sync"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/profile/gitconfig"
)

// Options are what is shared, and how.
type Options struct {
	Dir     string // the git directory
	Project string // the work tree that the box works in
	Tree    string // of a linked one its name in worktrees, "" for the main one
	Private string // a folder of what is the box's own, kept between runs
	// Hidden are the names of the host's that the box does not see, with all that is below them.
	Hidden []string

	Objects Objects
	Index   Index

	// Settings are those of the host's that the box sees, of the work tree's config.worktree as well, and
	// inner's, which come after them. It is called when the box looks at the repository for the first time, and when
	// the host's have changed.
	Settings func() (host, ours []gitconfig.Entry, err error)
	// Branch sets, or with value nil removes, a setting of a branch in the host's file.
	Branch func(key string, value *string) error

	// Moved is told of a ref in refs that the box has moved or, with now "", removed, and has not made itself. The values
	// are ids in hex, or "ref: " and a name. It may be nil.
	Moved func(ref, old, now string)

	// Say tells the person what was refused or passed.
	Say func(format string, args ...any)
}

// Objects brings over what the box has stored. Ids are in hex.
type Objects interface {
	// Bring returns when the host has these, and all that they name, or why it may not.
	Bring(ids ...string) error
}

// Index is the gate of an index.
type Index interface {
	// Enter makes what a box wrote into what the host's is to be. name is relative to the git
	// directory, old the host's present one, nil without one. done follows once it is there; it may be nil.
	Enter(name string, data, old []byte) (entered []byte, done func(), err error)
	// Served makes the host's into what a box reads.
	Served(name string, data []byte) ([]byte, error)
}

// repository is what is served.
type repository struct {
	Options
	root, private int             // folders
	exclude       bool            // the box has an info/exclude of its own
	worktrees     map[string]bool // those that were there at the start; true: outside the project
	locks         *locks
	watch         *watch
	views         views
	settings      settings
	begin         sync.Once         // at the first look of the box
	unset         bool              // its settings could not be made then
	names         sync.Mutex        // one name is made, renamed or removed at a time
	made          map[string]string // refs that the box has made, and what they were when it last wrote them
	packed        struct {          // of packed-refs
		of   stamp
		refs map[string]string
	}
}

// beneath is how everything is opened: below a folder, through no link.
const beneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS
