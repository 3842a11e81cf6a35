package isolator

import (
	"fmt"
	"sync"

	"github.com/enr/inner/internal/visible"
)

// Notes is a caller.Teller that collects the warnings of a run.
type Notes struct {
	mu    sync.Mutex
	lists [2][]string // of the set-up, and of the run
	now   int         // the one that grows
}

// mostNotes bounds the warnings of one call.
const mostNotes = 20

func (n *Notes) add(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.lists[0])+len(n.lists[1]) < mostNotes {
		n.lists[n.now] = append(n.lists[n.now], visible.Text(text))
	}
}

// Began says that the set-up is over: what comes now is about what the program has done.
func (n *Notes) Began() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.now = 1
}

// Take returns the notes since it was last called: those of the set-up, which the next run of the profile
// would give again, and those of the run itself.
func (n *Notes) Take() (setUp, run []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	setUp, run = n.lists[0], n.lists[1]
	n.lists = [2][]string{}
	return setUp, run
}

// Say does nothing: what it would tell is in the answer to the call.
func (n *Notes) Say(string, ...any) {}

// Warn adds a note.
func (n *Notes) Warn(format string, args ...any) { n.add(fmt.Sprintf(format, args...)) }

// Hint appends a hint to the last note, in parentheses. Without a note it is dropped.
func (n *Notes) Hint(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if l := n.lists[n.now]; len(l) > 0 {
		l[len(l)-1] += " (" + visible.Text(fmt.Sprintf(format, args...)) + ")"
	}
}

// Fail adds an error as a note.
func (n *Notes) Fail(err error) { n.add(err.Error()) }
