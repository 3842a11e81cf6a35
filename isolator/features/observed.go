package features

import (
	"os"

	"github.com/enr/inner/isolator/launch"
)

// Observe has every access of the program to files looked at: the kernel tells of each
// call that names a file, and waits for an answer.
type Observe struct {
	Observer
	Hosts bool                       // hosts are learned, too: every public one is allowed
	Done  func(*Run, *Outcome) error // after the program has ended
}

// Observer looks at accesses: package learn has one.
type Observer interface {
	Listen(listener *os.File) // answers the kernel from now on
	End()                     // the program has ended
}

// learning reports whether hosts are learned.
func (o *Observe) learning() bool { return o != nil && o.Hosts }

// observed looks at the accesses of the program, for inner learn and --explain-denials.
func observed() Feature {
	return Feature{
		Name: "observed accesses",
		Start: func(run *Run, o *launch.Options) {
			if run.Observe != nil {
				o.Observe = run.Observe.Listen
			}
		},
		Finish: func(run *Run, o *Outcome) error {
			if run.Observe == nil {
				return nil
			}
			run.Observe.End()
			return run.Observe.Done(run, o)
		},
	}
}
