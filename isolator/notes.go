package isolator

import (
	"fmt"
	"slices"
	"sync"

	"github.com/enr/inner/internal/visible"
)

// Notes is a caller.Teller that collects the warnings of a run.
type Notes struct {
	mu         sync.Mutex
	setUp, run []string
	began      bool
}

// mostNotes bounds the warnings of one call.
const mostNotes = 20

func (n *Notes) add(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.setUp)+len(n.run) < mostNotes {
		n.change(func(l []string) []string { return append(l, visible.Text(text)) })
	}
}

// change changes the list that grows now.
func (n *Notes) change(list func([]string) []string) {
	if n.began {
		n.run = list(n.run)
	} else {
		n.setUp = list(n.setUp)
	}
}

// Began says that the set-up is over: what comes now is about what the program has done.
func (n *Notes) Began() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.began = true
}

// Parts returns the notes of the set-up, which the next run of the profile would give again,
// and those of the run itself.
func (n *Notes) Parts() (setUp, run []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.setUp), slices.Clone(n.run)
}

// List returns the notes so far.
func (n *Notes) List() []string { return slices.Concat(n.Parts()) }

// Take is Parts of the notes since it was last called.
func (n *Notes) Take() (setUp, run []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	setUp, run = n.setUp, n.run
	n.setUp, n.run = nil, nil
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
	n.change(func(l []string) []string {
		if last := len(l) - 1; last >= 0 {
			l[last] += " (" + visible.Text(fmt.Sprintf(format, args...)) + ")"
		}
		return l
	})
}

// Fail adds an error as a note.
func (n *Notes) Fail(err error) { n.add(err.Error()) }
