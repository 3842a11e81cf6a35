package run

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/stage"
)

// Options returns the launcher's options for the program of this run.
func (b *Prepared) Options() launch.Options {
	e := b.Spec.Entrypoint
	return launch.Options{
		Stdin: b.Stdin, Stdout: b.Stdout, Stderr: b.Stderr, Supervisor: b.begun.supervisor,
		Interactive: e.Interactive, Raw: e.TUI, CursorFix: e.CursorFix,
		Clipboard: b.Spec.Clipboard,
		Timeout:   b.Spec.Output.Timeout,
	}
}

// about is what inner ps shows. word is the command that was typed; where that is one of inner's
// own, the program says more.
func (b *Prepared) about(word string) stage.About {
	switch word {
	case "", "run", "exec", "learn":
		word = filepath.Base(b.Plan.Program)
	}
	return stage.About{Begun: time.Now(), Profile: b.Spec.Name, Command: word, Folder: b.Spec.Cwd, Roots: features.WrittenRoots(b.Spec)}
}

// Launch runs the plan; change, when not nil, alters it first. When the box could not start
// because /proc or the masks are unavailable, or the host has changed since it was probed, it
// makes another plan and tries again.
func (b *Prepared) Launch(o launch.Options, change func(plan.Plan) plan.Plan) launch.Result {
	for range 4 { // something that comes and goes all the time must not keep inner for ever
		p := b.Plan
		if change != nil && p.Container != nil {
			return launch.Result{Code: launch.CodeNoSandbox, Reason: "inner can look at a sandbox from inside only when bwrap makes it (sandbox.backend)"}
		}
		if change != nil {
			p = change(p)
		}
		for _, f := range b.features {
			if f.Start != nil {
				f.Start(b.Run, &o)
			}
		}
		o.Early = b.begun.early
		o.Mounted = b.unmoved
		b.Result = launch.Run(p, o)
		if b.Result.Signal != 0 || !b.learned() || !b.again() {
			break
		}
	}
	return b.Result
}

// learned reports whether a box did not start for a reason that another plan may not have: the
// facts say it then.
func (b *Prepared) learned() bool {
	if b.Unserved {
		return !b.Result.Started && b.each(func(f features.Feature) func(*features.Run) error { return f.Learn }) == nil
	}
	return !b.Result.Started && (features.OtherProc(b.Run) || b.hostChanged() || b.masksFailed())
}

// again makes another plan, and on the host what that one needs.
func (b *Prepared) again() bool {
	err := b.build()
	if err != nil {
		b.Fail(err)
	}
	return err == nil
}

// vanished are texts of bwrap and of the launcher for a place to cover or to show that is gone, or
// has become another one.
var vanished = []string{"Can't create file", "Can't find source path", "Can't get type of source", "Can't mkdir parents", "Can't bind mount", "was replaced", "cannot be seen in the box"}

// hostChanged reports whether a run did not start because the host has changed, such as a socket
// whose server has ended. It probes the host again.
func (b *Prepared) hostChanged() bool {
	if !slices.ContainsFunc(vanished, func(text string) bool { return strings.Contains(b.Result.Reason, text) }) {
		return false
	}
	facts, err := b.look()
	if err != nil {
		return false
	}
	facts.Proc, facts.Limits = b.Facts.Proc, b.Facts.Limits
	b.Facts = facts
	return b.each(func(f features.Feature) func(*features.Run) error { return f.Learn }) == nil
}

// unmoved looks whether what is hidden is all that there was to be hidden, now that it is.
func (b *Prepared) unmoved() error { return b.unmovedSince(b.Facts) }

func (b *Prepared) unmovedSince(look host.Facts) error {
	ours := func(path string) bool {
		made := func(p host.Placeholder) bool { return p.Path == path }
		return paths.Inside(b.Folder.Path, path) || slices.ContainsFunc(b.Facts.Later, made) || slices.ContainsFunc(b.Folder.Places, made)
	}
	if p := look.Moved(ours); p != "" {
		return fmt.Errorf("%q %w", p, launch.ErrReplaced)
	}
	return nil
}

// masksFailed reports whether a run did not start because masks could not be made or followed from
// outside, as where a security module forbids it. In another plan bwrap makes them all, and none is
// made again.
func (b *Prepared) masksFailed() bool {
	could := b.Facts.MoveMount
	b.Facts.MoveMount = could && !b.Result.Forbidden
	return could && b.Result.Forbidden
}

// tellReplaced names what the host has replaced: hidden and protected places.
func (b *Prepared) tellReplaced(hidden, protected []string) {
	for _, p := range hidden {
		b.Warn("%s was replaced on your machine while the sandbox ran: the sandbox could see the new file for a moment, until it was hidden again",
			b.Short(p))
	}
	for _, p := range protected {
		b.Warn("%s was replaced on your machine while the sandbox ran: the sandbox could write the new one for a moment, until it was protected again; look at it before you use it",
			b.Short(p))
	}
}

// Between does what follows one call of a box that goes on. A failure is reported.
func (b *Prepared) Between(out *features.Outcome) {
	b.tellReplaced(out.Recovered, out.Replaced)
	for _, f := range b.features {
		if f.Between != nil && out.Started {
			if err := f.Between(b.Run, out); err != nil {
				b.Fail(err)
			}
		}
	}
}

// Finish does what follows the end of the program. A failure is reported, and does not change the
// exit code: the program has run.
func (b *Prepared) Finish(out *features.Outcome) {
	if out.TimedOut {
		b.Say("stopped after %s (timeout)", b.Spec.Output.Timeout)
	}
	b.tellReplaced(out.Recovered, out.Replaced)
	if out.Uncovered != "" {
		b.Warn("the sandbox was ended: %s", out.Uncovered)
	}
	for _, f := range b.features {
		if f.Finish != nil {
			if err := f.Finish(b.Run, out); err != nil {
				b.Fail(err)
			}
		}
	}
}
