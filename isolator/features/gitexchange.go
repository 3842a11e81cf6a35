package features

import (
	"context"
	"os"
	"slices"
	"time"

	"github.com/enr/inner/isolator/git"
	"github.com/enr/inner/isolator/runlog"
)

// What a box does in its git directories is given to the host's while it runs, and once more when
// it has ended.

// exchange begins the exchanges with the host.
func (b *boxGits) exchange() {
	for _, g := range b.copies {
		if g.stop == nil {
			g.stop, g.ended = make(chan struct{}), make(chan struct{})
			go g.follow()
		}
	}
}

// gitHold is how long a run lasts before the host's objects get second names: that costs as much as
// a short run itself, and no `git gc` outside is at its end so soon.
const gitHold = 500 * time.Millisecond

// How long refs and index are quiet before an exchange, and how long one waits for
// that at most.
const (
	gitQuiet = 200 * time.Millisecond
	gitBusy  = 2 * time.Second
)

// follow exchanges while the box runs, when something has changed and is quiet. What goes wrong is
// tried again with the next exchange, and told by the last one.
func (g *boxGit) follow() {
	defer close(g.ended)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { // the last exchange does not wait for what another one takes its time for
		select {
		case <-g.stop:
			time.AfterFunc(gitBusy, cancel)
		case <-ctx.Done():
		}
	}()
	look := time.NewTicker(gitQuiet)
	defer look.Stop()
	hold := time.After(gitHold)
	var crossed, last string
	var first, next time.Time // the first change that is waiting; when there may be an exchange again
	for {
		select {
		case <-g.stop:
			return
		case <-hold:
			g.mu.Lock()
			_, _ = g.copy.Hold() // without it the box has what `git gc` outside leaves
			g.mu.Unlock()
		case now := <-look.C:
			stamp := g.copy.Stamp()
			quiet := stamp == last
			if last = stamp; stamp == crossed {
				continue
			}
			if first.IsZero() {
				first = now
			}
			if now.Before(next) || !quiet && now.Sub(first) < gitBusy {
				continue
			}
			_ = g.cross(ctx)
			crossed, first, next = stamp, time.Time{}, time.Now().Add(2*time.Since(now))
		}
	}
}

// cross is one exchange while the box runs.
func (g *boxGit) cross(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	rep, err := g.copy.Cross(ctx, git.Crossing{})
	g.take(rep)
	return err
}

// between makes an exchange now, of what a call has done, and tells of it. What goes wrong is
// tried again with the next one.
func (b *boxGits) between(run *Run, o *Outcome) error {
	ctx, done := context.WithTimeout(context.Background(), gitEndMost)
	defer done()
	for _, g := range b.copies {
		_ = g.cross(ctx)
		g.mu.Lock()
		r, told := g.report, g.told
		sayGit(run.Caller, run.ID(), git.Report{Conflicts: r.Conflicts[len(told.Conflicts):], Refused: r.Refused[len(told.Refused):], Lines: slices.Clone(r.Lines[len(told.Lines):])})
		for _, ch := range g.copy.Rewound(ctx, r.Moved[len(told.Moved):]) {
			o.Rewound = append(o.Rewound, runlog.Ref{Repo: ch.Repo, Ref: ch.Ref, Old: ch.Old, New: ch.New})
		}
		g.told = r
		g.mu.Unlock()
	}
	return nil
}

// take adds what one exchange did. What is held back is asked again at the end.
func (g *boxGit) take(rep git.Report) {
	r := &g.report
	r.Moved = append(r.Moved, rep.Moved...)
	r.Conflicts = append(r.Conflicts, rep.Conflicts...)
	r.Refused = append(r.Refused, rep.Refused...)
	r.Lines = append(r.Lines, rep.Lines...)
	r.Brought = r.Brought || rep.Brought
	r.Held, r.Settings, r.Pending, r.Unfinished, r.Interrupted = rep.Held, rep.Settings, rep.Pending, rep.Unfinished, rep.Interrupted
}

// settle puts what the box has where submodules were not initialised into the work trees, before what
// it left there is looked at.
func (b *boxGits) settle() {
	for _, g := range b.copies {
		g.copy.Settle()
	}
}

// finish makes the last exchange, once the box is gone and what it left was looked at. A
// copy in which nothing is left to cross is removed. It returns the refs that the box deleted or forced.
func (b *boxGits) finish(run *Run) (rewound []runlog.Ref) {
	ctx, done := gitEnd()
	defer done()
	for _, g := range b.copies {
		if g.stop != nil {
			close(g.stop)
			<-g.ended
		}
		var err error
		if run.Result.Started || g.copy.Resumes() {
			var rep git.Report
			rep, err = g.copy.Cross(ctx, git.Crossing{Final: true})
			g.take(rep)
			for _, ch := range g.copy.Rewound(ctx, g.report.Moved) {
				rewound = append(rewound, runlog.Ref{Repo: ch.Repo, Ref: ch.Ref, Old: ch.Old, New: ch.New})
			}
		}
		g.copy.Close()
		tellGit(run.Caller, g.dir, run.Folder.ID, g.report, err)
	}
	b.copies = nil
	if b.dir != "" {
		_ = os.Remove(b.dir) // unless something is left in it
	}
	return rewound
}

// gitEndMost is how long the last exchanges of a run may look at what its boxes stored, all together.
const gitEndMost = time.Minute

// gitEnd is the time that there is at the end of a run: a signal ends it.
func gitEnd() (context.Context, func()) {
	ctx, stop := Interruptible()
	ctx, cancel := context.WithTimeout(ctx, gitEndMost)
	return ctx, func() { cancel(); stop() }
}
