package caller

import (
	"fmt"
	"slices"
	"sync"

	"github.com/enr/inner/internal/visible"
)

// Notes is a Teller that collects the warnings of a run.
type Notes struct {
	mu    sync.Mutex
	texts []string
}

// mostNotes bounds the warnings of one call.
const mostNotes = 20

func (n *Notes) add(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.texts) < mostNotes {
		n.texts = append(n.texts, visible.Text(text))
	}
}

// List returns the notes so far.
func (n *Notes) List() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.texts)
}

// Take returns the warnings since it was last called.
func (n *Notes) Take() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := n.texts
	n.texts = nil
	return out
}

// Say does nothing: what it would tell is in the answer to the call.
func (n *Notes) Say(string, ...any) {}

// Warn adds a note.
func (n *Notes) Warn(format string, args ...any) { n.add(fmt.Sprintf(format, args...)) }

// Hint appends a hint to the last note, in parentheses. Without a note it is dropped.
func (n *Notes) Hint(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if last := len(n.texts) - 1; last >= 0 {
		n.texts[last] += " (" + visible.Text(fmt.Sprintf(format, args...)) + ")"
	}
}

// Fail adds an error as a note.
func (n *Notes) Fail(err error) { n.add(err.Error()) }

// Progress does nothing.
func (n *Notes) Progress(string, func() int64, func() int64) (stop func()) { return func() {} }
