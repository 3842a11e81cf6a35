package caller

import (
	"fmt"
	"sync"

	"github.com/enr/inner/internal/visible"
)

// Notes is a Teller that keeps what a person would be told of a run: its warnings.
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

func (n *Notes) List() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.texts
}

// Say tells how a call went, which its answer says.
func (n *Notes) Say(string, ...any) {}

func (n *Notes) Warn(format string, args ...any) { n.add(fmt.Sprintf(format, args...)) }

func (n *Notes) Hint(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if last := len(n.texts) - 1; last >= 0 { // it goes with what was said before
		n.texts[last] += " (" + visible.Text(fmt.Sprintf(format, args...)) + ")"
	}
}

func (n *Notes) Fail(err error) { n.add(err.Error()) }

func (n *Notes) Progress(string, func() int64, func() int64) (stop func()) { return func() {} }
