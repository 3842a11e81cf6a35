package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/repos"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/isolator/stage"
)

// Most folders that are noted one by one for a run that is killed: the note costs each start.
const maxNoted = 200

// watchFolders notes, for the case that this run is killed, that somebody has to look at
// what it leaves.
func watchFolders(j *journey) {
	s := j.leftovers()
	j.timeless = repos.Timeless(s.Roots)
	w := stage.Watched{Since: runlog.Moment(), Roots: s.Roots, Timeless: j.timeless, Obeyed: s.Obeyed, Guarded: s.Guarded, Unlisted: s.Unlisted, Before: s.Before, Named: s.Named}
	if s.NoGit {
		w.Guarded, w.Named = nil, nil
	}
	if s.NoGit || len(s.Unlisted) > maxNoted {
		w.Unlisted = realRoots(j.rc)
	}
	j.run.Watch(w)
}

// leftovers says where to look for what a run leaves on the host.
func (j *journey) leftovers() repos.Search {
	rc, f := j.rc, j.prep.facts
	s := repos.Search{
		Roots: writableRoots(rc), Ours: j.placeholders(), Since: j.clock, Timeless: j.timeless, NoGit: rc.GitDir == "rw",
		Obeyed: plan.ObeyedRoots(rc), Before: plan.KeptPlaces(rc, f), Named: f.Named, Homes: f.Homes(),
	}
	if s.NoGit {
		s.Named, s.Keep = nil, f.Named
	}
	s.Guarded, s.Unlisted = j.gits.known(), f.Unlisted
	return s
}

// leastLook is how long the folders of a short run are looked through, where they are
// many. Some thirty thousand take that long; with fewer of them the end comes as soon as
// all were looked at.
const leastLook = 500 * time.Millisecond

// holdLeftovers switches off what the run left that would run on the host. It comes first
// of all that follows the end of the program: there is nobody who could look before that.
func (j *journey) holdLeftovers() {
	s := j.leftovers()
	s.Limit = max(leastLook, min(time.Since(j.begun)/20, time.Second))
	j.aside = j.app.hold(s)
}

// lookAgain does the same for runs that were killed.
func (a *app) lookAgain() {
	err := stage.Interrupted(a.Ledger(), func(w stage.Watched) {
		a.hold(repos.Search{
			Roots: w.Roots, Guarded: w.Guarded, Unlisted: w.Unlisted, Since: w.Since, Timeless: w.Timeless, Obeyed: w.Obeyed, Before: w.Before, Named: w.Named,
			Homes: a.Homes(), Limit: time.Second,
		})
	})
	if err != nil {
		a.warn("what a killed run left was not looked at: %v", err)
	}
	a.recoverGit()
}

// hold looks, and says what it did. It returns what was moved aside.
func (a *app) hold(s repos.Search) []string {
	s.Hooks = host.EverywhereHooks()
	found, err := s.Hold()
	for _, h := range found.Held {
		a.warn("%s would run on your machine, and is switched off: %s", a.Short(h.Place), strings.Join(h.What, ", "))
		last := h.Kept[0]
		to, _, _ := strings.Cut(last, repos.Suffix)
		a.hint("mv %s %s   # puts it back; look at it first", quote.POSIX(last), quote.POSIX(to))
	}
	aside := a.sayMoved(found.Moved)
	if n := len(found.Unseen); n > 0 {
		a.warn("not looked through for what git and other tools would obey, as there was no time for it: %s", a.someFolders(found.Unseen))
	}
	if err != nil {
		a.warn("not all that the run left could be looked at, so do not use git or an editor in %s before you did: %v", a.Short(s.Roots[0]), err)
	}
	return aside
}

// sayMoved says what was moved aside, and how to put it back.
func (a *app) sayMoved(list []repos.Moved) []string {
	if len(list) == 0 {
		return nil
	}
	const most = 5
	var paths, names, back []string
	for i, m := range list {
		paths = append(paths, m.Path)
		if i < most {
			names = append(names, fmt.Sprintf("%s (%s)", a.near(m.Path), m.Tool))
			back = append(back, "mv "+quote.POSIX(a.near(m.Kept))+" "+quote.POSIX(a.near(m.Path)))
		}
	}
	more := ""
	if n := len(list) - most; n > 0 {
		more = fmt.Sprintf(" and %d more, each with %s at the end of its name", n, repos.Suffix)
	}
	a.warn("moved aside, because tools on your machine would obey it: %s%s", strings.Join(names, ", "), more)
	a.hint("%s   # puts it back; look at it first", strings.Join(back, "; "))
	return paths
}

// near writes a path below the current folder relative to it.
func (a *app) near(p string) string {
	if cwd, err := os.Getwd(); err == nil {
		if rest, ok := strings.CutPrefix(p, files.Real(cwd)+"/"); ok && !strings.HasPrefix(rest, "-") {
			return rest
		}
	}
	return p
}

// someFolders names a few of many folders.
func (a *app) someFolders(list []string) string {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(x, y string) int { return cmp.Compare(strings.Count(x, "/"), strings.Count(y, "/")) })
	const most = 4
	var out []string
	for _, p := range list[:min(len(list), most)] {
		out = append(out, printable(a.Short(p)))
	}
	text := strings.Join(out, ", ")
	if n := len(list) - most; n > 0 {
		text += fmt.Sprintf(" and %d more folders, with what is in them", n)
	}
	return text
}
