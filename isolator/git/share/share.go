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

	"github.com/enr/inner/isolator/git/server"
)

// Gate decides what enters.
type Gate interface {
	// Bring returns when the host has objects, by their ids in hex, and all that they name, or why it may not.
	Bring(ids ...string) error
	// Enter makes an index that a box wrote into what the host's is to be. name is relative to the git
	// directory, old the host's present one, nil without one. done follows once it is there; it may be nil.
	Enter(name string, data, old []byte) (entered []byte, done func(), err error)
	// Served makes the host's index into what a box reads.
	Served(name string, data []byte) ([]byte, error)
}

// Say tells the person what was refused or passed.
func (r *Server) Say(format string, args ...any) { r.tell(server.Say(format, args...)) }

// Server serves one repository to one box.
type Server struct {
	server.Repository
	Gate
	tell          func(server.Message)
	root, private int             // folders
	exclude       bool            // the box has an info/exclude of its own
	worktrees     map[string]bool // those that were there at the start; true: outside the project
	locks         *locks
	watch         *watch
	views         views
	pins          pins
	settings      settings
	begin         sync.Once    // at the first look of the box
	fill          func() error // makes what the box has of its own, once
	unset         bool         // its settings could not be made then
	names         sync.Mutex   // one name is made, renamed or removed at a time
	packed        struct {     // of packed-refs
		of   stamp
		refs map[string]string
	}
}
