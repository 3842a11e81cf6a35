package main

import (
	"strings"
	"time"

	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/repos"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/isolator/stage"
)

// watchRepositories notes, for the case that this run is killed, that somebody has to
// look at the repositories it leaves.
func watchRepositories(j *journey) {
	if j.rc.GitDir != "rw" {
		j.run.Watch(runlog.Moment(), writableRoots(j.rc), j.guarded())
	}
}

// guarded are the repositories that the box cannot make run anything.
func (j *journey) guarded() []string {
	var out []string
	for _, g := range j.prep.facts.Git {
		if !g.Link {
			out = append(out, g.Dir)
		}
	}
	return out
}

// leastLook is how long the folders of a short run are looked through, where they are
// many. A few thousand take that long.
const leastLook = 50 * time.Millisecond

// holdRepositories switches off what the repositories that the run made or changed would
// run on the host. It comes first of all that follows the end of the program: there is
// nobody who could look before that.
func (j *journey) holdRepositories() {
	if j.rc.GitDir == "rw" {
		return
	}
	j.app.hold(repos.Search{
		Roots: writableRoots(j.rc), Guarded: j.guarded(), Ours: j.placeholders(), Since: j.clock,
		Limit: max(leastLook, min(time.Since(j.begun)/20, time.Second)),
	})
}

// lookAgain does the same for runs that were killed.
func (a *app) lookAgain() {
	err := stage.Interrupted(a.ledger(), func(w stage.Watched) {
		a.hold(repos.Search{Roots: w.Roots, Guarded: w.Guarded, Since: w.Since, Limit: time.Second})
	})
	if err != nil {
		a.warn("repositories that a killed run left were not looked at: %v", err)
	}
}

func (a *app) hold(s repos.Search) {
	s.Hooks = host.EverywhereHooks()
	held, partly, err := s.Hold()
	for _, h := range held {
		a.warn("%s would run on your machine, and is switched off: %s", a.short(h.Place), strings.Join(h.What, ", "))
		last := h.Kept[0]
		to, _, _ := strings.Cut(last, repos.Suffix)
		a.hint("mv %s %s   # puts it back; look at it first", quote.POSIX(last), quote.POSIX(to))
	}
	if partly {
		a.warn("not every folder that this run made was looked through for repositories: look before you use git in one")
	}
	if err != nil {
		a.warn("a repository could not be looked at, so do not use git in %s before you did: %v", a.short(s.Roots[0]), err)
	}
}
