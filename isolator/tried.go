package isolator

import (
	"os"
	"time"

	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/run"
)

// Try is box.Launch for those who look at the box from inside: change puts a program of theirs
// into the plan. Where the calls of a session share a box it is such a call, the second one
// of its box, as inner exec --session would start it.
func Try(b *run.Prepared, o launch.Options, change func(plan.Plan) plan.Plan) launch.Result {
	if !b.Spec.SessionBox {
		return b.Launch(o, change)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return launch.Result{Code: launch.CodeNoSandbox, Reason: err.Error()}
	}
	defer null.Close()
	stdio := [3]*os.File{o.Stdin, o.Stdout, o.Stderr}
	for i, f := range stdio {
		if f == nil || caller.IsTerminal(f) { // a call gets none
			stdio[i] = null
		}
	}
	limit, done, ended := o.Timeout, make(chan struct{}), make(chan launch.Result, 1)
	calls := new(launch.Calls)
	o.Stdin, o.Stdout, o.Stderr, o.Interactive, o.Timeout = null, null, null, false, 0
	o.Calls, o.Done = calls, done
	o.Begun = func() {
		go func() {
			defer close(done)
			first := b.Plan
			first.Program, first.Argv = "/bin/sh", []string{"sh", "-c", "sleep 1 &"}
			oneCall(calls, first, [3]*os.File{null, null, null}, limit) // whatever comes of it
			ended <- oneCall(calls, change(b.Plan), stdio, limit)
		}()
	}
	if res := b.Launch(o, func(p plan.Plan) plan.Plan { return p }); !res.Started {
		return res
	}
	return <-ended
}

// oneCall runs the program of a plan in a box that runs calls.
func oneCall(calls *launch.Calls, p plan.Plan, stdio [3]*os.File, limit time.Duration) launch.Result {
	run, err := calls.Start(p, [3]int{launch.RawFd(stdio[0]), launch.RawFd(stdio[1]), launch.RawFd(stdio[2])})
	if err != nil {
		return launch.Result{Code: launch.CodeNoSandbox, Reason: err.Error()}
	}
	res, _ := follow(run, limit, nil)
	return res
}
