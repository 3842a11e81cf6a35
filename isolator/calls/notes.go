package calls

import (
	"fmt"
	"sync"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/runlog"
)

// notes keeps what a person would be told of a call: its warnings. It is a caller.Teller.
type notes struct {
	mu    sync.Mutex
	texts []string
}

// mostNotes bounds the warnings of one call.
const mostNotes = 20

func (n *notes) add(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.texts) < mostNotes {
		n.texts = append(n.texts, visible.Text(text))
	}
}

func (n *notes) list() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.texts
}

// Say tells how a call went, which its answer says.
func (n *notes) Say(string, ...any) {}

func (n *notes) Warn(format string, args ...any) { n.add(fmt.Sprintf(format, args...)) }

func (n *notes) Hint(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if last := len(n.texts) - 1; last >= 0 { // it goes with what was said before
		n.texts[last] += " (" + visible.Text(fmt.Sprintf(format, args...)) + ")"
	}
}

func (n *notes) Fail(err error) { n.add(err.Error()) }

func (n *notes) Progress(string, func() int64, func() int64) (stop func()) { return func() {} }

// mostWarned bounds what is remembered of warnings.
const mostWarned = 1000

// once keeps the warnings that no call has told before.
func (r *Runner) once(texts []string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, t := range texts {
		if r.warned[t] {
			continue
		}
		if len(r.warned) > mostWarned {
			clear(r.warned)
		}
		r.warned[t] = true
		out = append(out, t)
	}
	return out
}

// auditRefusal notes a call that had no profile it may run in; what isolator.Run refuses it
// notes itself.
func (r *Runner) auditRefusal(l *loaded, q Request, err error) {
	e := runlog.Event{Type: runlog.EventRefused, Profile: r.o.Profile, Command: "exec", Cwd: r.o.Dir, Code: fault.Code(err), Reason: err.Error(), By: l.role.By(orElse(q.Actor, r.o.Actor), orElse(q.Session, r.o.Session))}
	if l.profile != nil {
		e.Profile, e.Path = l.profile.Name, l.profile.Path
	}
	r.callerOf(nil, new(notes)).Audit(e)
}
