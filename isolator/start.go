package isolator

import (
	"slices"
	"strings"

	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/plan"
)

// Options are those of the launcher for the program of this run.
func (b *Prepared) Options() launch.Options {
	e := b.Spec.Entrypoint
	return launch.Options{
		Stdin: b.Stdin, Stdout: b.Stdout, Stderr: b.Stderr, Exe: b.Exe,
		Interactive: e.Interactive, Raw: e.TUI, CursorFix: e.CursorFix,
		Clipboard: b.Spec.Clipboard,
		Timeout:   b.Spec.Output.Timeout,
	}
}

// Launch runs the plan, as change returns it when it is not nil. When its /proc or its masks
// are unavailable here, or the host has changed since it was looked at, another plan is run.
func (b *Prepared) Launch(o launch.Options, change func(plan.Plan) plan.Plan) launch.Result {
	for range 4 { // what comes and goes all the time does not keep inner for ever
		p := b.Plan
		if change != nil && p.Container != nil {
			return launch.Result{Code: launch.CodeNoSandbox, Reason: "inner looks from inside at boxes of bwrap alone (sandbox.backend)"}
		}
		if change != nil {
			p = change(p)
		}
		for _, f := range b.features {
			if f.Start != nil {
				f.Start(b.Run, &o)
			}
		}
		b.Result = launch.Run(p, o)
		if !features.OtherProc(b.Run) && !b.hostChanged() && !b.masksFailed() {
			break
		}
	}
	return b.Result
}

// vanished is what is said when a place that was to be covered or shown is gone,
// or another one.
var vanished = []string{"Can't create file", "Can't find source path", "Can't get type of source", "Can't mkdir parents", "Can't bind mount", "was exchanged for", "cannot be seen in the box"}

// hostChanged is called when a run did not start because something that was to
// be covered or shown is gone: a socket whose server has ended. It looks at the
// host again and makes another plan.
func (b *Prepared) hostChanged() bool {
	if b.Result.Started || !slices.ContainsFunc(vanished, func(text string) bool { return strings.Contains(b.Result.Reason, text) }) {
		return false
	}
	facts, err := b.look()
	if err != nil {
		return false
	}
	facts.Proc, facts.Limits = b.Facts.Proc, b.Facts.Limits
	b.Facts = facts
	if b.each(func(f features.Feature) func(*features.Run) error { return f.Refresh }) != nil {
		return false
	}
	return b.build() == nil
}

// masksFailed is called when a run did not start because masks could not be made from
// outside, as where a security module forbids that: bwrap makes all of them then.
func (b *Prepared) masksFailed() bool {
	if b.Result.Started || len(b.Plan.Masks) == 0 || !strings.HasPrefix(b.Result.Reason, launch.OutsideFailed) {
		return false
	}
	b.Facts.MoveMount = false
	p, err := plan.Build(b.Spec, b.Facts, b.Assets)
	if err != nil {
		return false
	}
	b.Plan = p
	return b.each(func(f features.Feature) func(*features.Run) error { return f.Planned }) == nil
}

// finish does what follows the end of the program. What fails is reported and
// changes no exit code: the program has run.
func (b *Prepared) finish(out *features.Outcome) {
	if out.TimedOut {
		b.Say("stopped after %s (timeout)", b.Spec.Output.Timeout)
	}
	for _, f := range b.features {
		if f.Finish != nil {
			if err := f.Finish(b.Run, out); err != nil {
				b.Fail(err)
			}
		}
	}
}

// HandOver gives the host's repositories what the box committed, before the run is closed.
func (b *Prepared) HandOver() {
	for _, f := range b.features {
		if f.Name == features.LastExchange {
			_ = f.Finish(b.Run, new(features.Outcome)) // it tells what fails
		}
	}
}
