package calls

import (
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/runlog"
)

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
func (r *Runner) auditRefusal(l *loaded, asked isolator.Asked, err error) {
	e := runlog.Event{Type: runlog.EventRefused, Profile: r.o.Profile, Command: "exec", Cwd: r.o.Dir, Code: fault.Code(err), Reason: err.Error(), By: l.Role.By(asked.Actor, asked.Session)}
	if l.Profile != nil {
		e.Profile, e.Path = l.Profile.Name, l.Profile.Path
	}
	r.callerOf(new(caller.Notes)).Audit(e)
}
