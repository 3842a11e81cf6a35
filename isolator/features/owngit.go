package features

// git_dir = "own": each repository that the box can write, and the one its working
// folder lies in, has a git directory of the box's own in the box. What the box does
// there is given to the host's while it runs and when it has ended (package git).

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/folderwatch"
	"github.com/enr/inner/internal/paths"

	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/git"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/repos"
	"github.com/enr/inner/isolator/stage"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/gitconfig"
)

// Most repositories of a box that have a git directory of their own: each costs the start some
// milliseconds. In the others git is read-only.
const maxBoxGits = 16

// Reasons of mounts, as explain and --dry-run print them.
const (
	gitOwn     = "the box's own git directory: what it does there is checked before the host's gets it"
	gitHost    = "objects of the host's repository, to read"
	gitPointer = "it leads to the git directory of the box, and stays as it is"
)

// boxGits are the repositories of a run.
type boxGits struct {
	found  []*git.Repo // all of them
	repos  []*git.Repo // those that are staged
	lines  []string    // what is read-only, and why
	copies []*boxGit
	dir    string   // the folder of the run's copies
	disk   *gitDisk // nil without limits.disk
	over   func() string
	stays  []string // all git directories, and what leads to them
}

// feature gives the box git directories of its own.
func (b *boxGits) feature() Feature {
	return Feature{
		Name: "git directories", Keys: []string{"git_dir"}, Make: b.make,
		Show: func(run *Run) error {
			*b = findBoxGits(run.Caller, run.Spec, run.Facts.Repositories, gitProgram(run))
			b.show(&run.Assets)
			return b.stay(run.Spec, &run.Facts, &run.Assets)
		},
		Refresh: func(run *Run) error { return b.stay(run.Spec, &run.Facts, &run.Assets) },
		Start: func(run *Run, o *launch.Options) {
			if p := run.Plan.Limits; p != nil && b.over == nil {
				b.over = b.limit(p.Disk)
			}
			o.Over = b.over
			b.exchange()
		},
		Finish: func(*Run, *Outcome) error {
			b.settle()
			return nil
		},
	}
}

// last is the last exchange, after what the run left was looked at.
func (b *boxGits) last() Feature {
	return Feature{Name: LastExchange, Keys: []string{"git_dir"}, Finish: func(run *Run, _ *Outcome) error {
		b.finish(run)
		return nil
	}}
}

// LastExchange is the name of the feature that hands over what the box committed.
const LastExchange = "the last exchange with git"

// boxGit is one copy, and what its exchanges came to.
type boxGit struct {
	dir    string
	copy   *git.Copy
	stop   chan struct{}
	ended  chan struct{}
	report git.Report
}

// findBoxGits finds the repositories of a run, and says which do not get a git directory
// of their own. program is git outside, "" where there is none. It changes nothing.
func findBoxGits(c *caller.Caller, rc profile.RunConfig, repositories []string, program string) boxGits {
	var b boxGits
	if rc.GitDir == "rw" {
		return b
	}
	line := func(format string, args ...any) {
		if text := fmt.Sprintf(format, args...); !slices.Contains(b.lines, text) {
			b.lines = append(b.lines, text)
		}
	}
	add := func(r *git.Repo) {
		if !slices.ContainsFunc(b.found, func(x *git.Repo) bool { return x.Top == r.Top }) {
			b.found = append(b.found, r)
		}
	}
	roots := realRoots(rc)
	for _, root := range roots {
		switch r, err := git.Find(root); {
		case err != nil: // in none
		case slices.ContainsFunc(roots, func(in string) bool { return inFolder(in, r.Top) }) || seesTop(c.Home, rc, r.Top):
			add(r)
		case rc.GitDir == "own":
			line("the box does not have the repository of %s: it sees a part of the files only", c.Short(r.Top))
		}
	}
	for _, top := range repositories {
		if r, err := git.FindAt(top); err == nil {
			add(r)
		}
	}
	if rc.GitDir != "own" {
		return b
	}
	for _, r := range b.found {
		if r.Reason == "" && program != "" && !b.own(r.Common) {
			b.repos = slices.DeleteFunc(b.repos, func(x *git.Repo) bool { return inFolder(r.Common, x.Common) })
			b.repos = append(b.repos, r)
		}
	}
	if n := len(b.repos) - maxBoxGits; n > 0 {
		var names []string
		for _, r := range b.repos[maxBoxGits:] {
			names = append(names, c.Short(r.Top))
		}
		const most = 4
		more := ""
		if n > most {
			more = fmt.Sprintf(" and %d more", n-most)
		}
		line("git is read-only in %s%s: only %d repositories of a box are writable", strings.Join(names[:min(n, most)], ", "), more, maxBoxGits)
	}
	for _, r := range b.found {
		switch {
		case b.own(r.Common): // also by another way
		case program == "":
			line("git is read-only in %s: git is not installed outside", c.Short(r.Top))
		default:
			line("git is read-only in %s: %s", c.Short(r.Top), r.Reason)
		}
	}
	b.repos = b.repos[:min(len(b.repos), maxBoxGits)]
	return b
}

// own reports whether a path is in a git directory that the box has its own in the place of.
func (b *boxGits) own(p string) bool {
	return slices.ContainsFunc(b.repos, func(x *git.Repo) bool { return inFolder(x.Common, p) })
}

// stay puts into the plan what of repositories stays as it is: those that are not staged, and
// the ways to all of them.
func (b *boxGits) stay(rc profile.RunConfig, f *host.Facts, s *plan.Staged) error {
	s.GitStays, s.GitLinks, b.stays = nil, nil, nil
	roots := realRoots(rc)
	add := func(p string, info host.Path) {
		if !slices.Contains(s.GitStays, p) {
			f.Paths[p], s.GitStays = info, append(s.GitStays, p)
		}
	}
	for _, r := range b.found {
		if !b.own(r.Common) { // git outside would enter what is made there
			vacant, err := git.Vacant(r)
			if err != nil && r.Digits > 0 {
				return &fault.Refusal{Code: 125, Msg: fmt.Sprintf("profile %q: %s: %v", rc.Name, r.Top, err), Hint: "workdir_mode = \"ro\" under [sandbox]"}
			}
			for _, p := range vacant {
				if at := host.Look(filepath.Join(r.Top, p)); at.Kind == host.Dir || at.Kind == host.File {
					add(at.Real, at)
				}
			}
		}
		for _, way := range append(slices.Clone(r.Ways), r.Dir, r.Common) {
			info := host.Look(way)
			s.GitLinks = append(s.GitLinks, info.Hops...)
			in := func(root string) bool { return inFolder(root, info.Real) }
			switch {
			case b.own(info.Real):
				continue
			case info.Kind != host.File && info.Kind != host.Dir && slices.ContainsFunc(roots, in):
				return &fault.Refusal{
					Code: 125, Msg: fmt.Sprintf("profile %q: %s, where git looks for a repository, is no file and no folder, or a link that leads to neither: it cannot be protected", rc.Name, way),
					Hint: "make it a folder or file of its own, or set git_dir = \"rw\" under [sandbox]",
				}
			}
			add(info.Real, info)
			for _, root := range roots {
				if inFolder(info.Real, root) { // the working folder of a bare one, or a part of it
					add(root, host.Look(root))
				}
			}
		}
		b.stays = append(b.stays, filepath.Join(r.Top, ".git"), r.Dir, r.Common)
	}
	return nil
}

// gitProgram is git on the host, or "".
func gitProgram(run *Run) string {
	path, _ := host.FindHelper("git", run.Getenv("PATH"))
	return path
}

// seesTop reports whether the box sees a folder above its working folder.
func seesTop(home string, rc profile.RunConfig, top string) bool {
	if slices.ContainsFunc(rc.Mounts, func(m profile.Mount) bool {
		return m.Mode != profile.Tmpfs && m.Mode != profile.SafeRW && inFolder(files.Real(m.Source), top) && m.Source == m.Dest
	}) {
		return true
	}
	return rc.Base != "minimal" && !(rc.Home == "isolated" && inFolder(files.Real(home), top)) && !inFolder("/tmp", top) && !inFolder("/var/tmp", top)
}

// show puts mounts into a plan that is printed.
func (b *boxGits) show(s *plan.Staged) {
	for i, r := range b.repos {
		s.BoxGit = append(s.BoxGit,
			plan.Bind{Host: DryStage + "git directory of " + r.Common, Box: r.Common, Write: true, Reason: gitOwn},
			plan.Bind{Host: filepath.Join(r.Common, "objects"), Box: fmt.Sprintf("%s/%d/0/0/objects", paths.BoxGit, i), Reason: gitHost})
		if r.Pointer {
			p := filepath.Join(r.Top, ".git")
			s.BoxGit = append(s.BoxGit, plan.Bind{Host: p, Box: p, Reason: gitPointer})
		}
	}
}

// make makes the git directories of the box.
func (b *boxGits) make(run *Run) (err error) {
	*b = findBoxGits(run.Caller, run.Spec, run.Facts.Repositories, gitProgram(run))
	run.Undo(func() { b.finish(run) })
	defer func() {
		for _, line := range b.lines {
			run.Warn("%s", line)
		}
		if err == nil {
			err = b.stay(run.Spec, &run.Facts, &run.Assets)
		}
	}()
	if len(b.repos) == 0 {
		return nil
	}
	if b.dir, err = run.Folder.GitCopies(); err != nil {
		return &fault.Refusal{Code: 125, Msg: "the folder for git directories: " + err.Error(), Hint: "inner doctor"}
	}
	roots := realRoots(run.Spec)
	var staged []*git.Repo
	for i, r := range b.repos {
		dir := filepath.Join(b.dir, fmt.Sprint(i))
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		c, err := git.Stage(r, git.Options{
			Git: gitProgram(run), Run: run.Folder.ID, Dir: dir, Roots: roots, Objects: fmt.Sprintf("%s/%d", paths.BoxGit, i),
			Name: "inner", Email: "inner@localhost", Clean: gitCleaner(run.Spec), Profile: strings.TrimSpace(run.Spec.Name + " " + run.Spec.Path), Grants: profile.GrantsDigest(profile.Grants(run.Spec)),
		})
		if err != nil {
			b.lines = append(b.lines, fmt.Sprintf("git is read-only in %s: %v", run.Short(r.Top), err))
			if err := git.Remove(dir); err != nil {
				return err
			}
			continue
		}
		staged = append(staged, r)
		resumeGit(run.Caller, c)
		b.lines = append(b.lines, c.Notes...)
		b.copies = append(b.copies, &boxGit{dir: dir, copy: c})
		for _, m := range c.Mounts {
			reason := gitHost
			switch {
			case m.Write:
				reason = gitOwn
				run.Facts.Paths[m.Dest] = host.Look(m.Dest) // what the host has there
			case m.Source == m.Dest:
				reason = gitPointer
			}
			run.Assets.BoxGit = append(run.Assets.BoxGit, plan.Bind{Host: m.Source, Box: m.Dest, Write: m.Write, Reason: reason})
		}
	}
	b.repos = staged
	return nil
}

// gitCleaner says what of a repository's own settings the box gets.
func gitCleaner(rc profile.RunConfig) func([]gitconfig.Entry) []gitconfig.Entry {
	policy := gitPolicy(rc)
	return func(list []gitconfig.Entry) []gitconfig.Entry {
		if rc.Git != nil {
			if r, err := gitconfig.Clean(list, policy); err == nil {
				list = slices.DeleteFunc(slices.Clone(list), func(e gitconfig.Entry) bool {
					return !gitconfig.Includes(e.Key) && !slices.Contains(r.File, e)
				})
			}
		}
		if policy.Credentials {
			return list
		}
		return git.WithoutLogins(list)
	}
}

// known is what was there of git's before the run, and the box cannot write.
func (b *boxGits) known() []string {
	return append(b.repositories(), b.stays...)
}

// repositories are the git directories of the host that the box has its own in the place of.
func (b *boxGits) repositories() []string {
	var out []string
	for _, g := range b.copies {
		out = append(out, g.copy.Repositories()...)
	}
	return out
}

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

// follow exchanges while the box runs. What goes wrong is tried again with the next
// exchange, and told by the last one.
//
// It begins when the run has lasted for a moment, with an exchange of what happened before: a run
// of /bin/true is over by then, and to end a watch alone takes the kernel some 15 ms.
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
	timer := time.NewTimer(gitQuiet)
	var w *folderwatch.Watcher
	var events chan folderwatch.Event
	var errs chan error
	watched := map[string]bool{}
	look := func() {
		if w == nil {
			var err error
			if w, err = folderwatch.New(); err != nil { // this user has too many already: everything crosses at the end
				w = &folderwatch.Watcher{}
				return
			}
			events, errs = w.Events, w.Errors
		}
		if events == nil {
			return
		}
		for _, dir := range g.copy.Watched() {
			if !watched[dir] && w.Add(dir) == nil {
				watched[dir] = true
			}
		}
	}
	hold := time.After(gitHold)
	var first, next time.Time // the first change that is waiting; when there may be an exchange again
	for {
		select {
		case <-g.stop:
			if events != nil {
				go w.Close() // beside the last exchange
			}
			return
		case <-hold:
			_, _ = g.copy.Hold() // without it the box has what `git gc` outside leaves
			continue
		case <-errs: // more changes than were told of
		case e := <-events:
			if strings.HasSuffix(e.Name, ".lock") {
				continue
			}
			if e.Has(folderwatch.Remove) {
				delete(watched, e.Name)
			}
		case <-timer.C:
			look()
			begin := time.Now()
			rep, _ := g.copy.Cross(ctx, git.Crossing{})
			g.take(rep)
			first, next = time.Time{}, time.Now().Add(2*time.Since(begin))
			continue
		}
		now := time.Now()
		if first.IsZero() {
			first = now
		}
		wait := min(gitQuiet, max(0, first.Add(gitBusy).Sub(now)))
		timer.Reset(max(wait, next.Sub(now)))
	}
}

// take adds what one exchange did. What is held back is asked again at the end.
func (g *boxGit) take(rep git.Report) {
	r := &g.report
	r.Moved = append(r.Moved, rep.Moved...)
	r.Conflicts = append(r.Conflicts, rep.Conflicts...)
	r.Refused = append(r.Refused, rep.Refused...)
	r.Lines = append(r.Lines, rep.Lines...)
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
// copy in which nothing is left to cross is removed.
func (b *boxGits) finish(run *Run) {
	b.disk.end()
	b.disk = nil
	known := b.repositories()
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
			rep, err = g.copy.Cross(ctx, git.Crossing{Final: true, Gitlink: mayEnter(known)})
			g.take(rep)
		}
		g.copy.Close()
		tellGit(run.Caller, g.dir, run.Folder.ID, g.report, err)
	}
	b.copies = nil
	if b.dir != "" {
		_ = os.Remove(b.dir) // unless something is left in it
	}
}

// gitEndMost is how long the last exchanges of a run may look at what its boxes stored, all together.
const gitEndMost = time.Minute

// gitEnd is the time that there is at the end of a run: a signal ends it.
func gitEnd() (context.Context, func()) {
	ctx, stop := Interruptible()
	ctx, cancel := context.WithTimeout(ctx, gitEndMost)
	return ctx, func() { cancel(); stop() }
}

// mayEnter reports whether git outside may enter what lies at a path of a work tree.
func mayEnter(known []string) func(top, path string) bool {
	return func(top, path string) bool {
		return filepath.IsLocal(path) && repos.Inert(filepath.Join(top, path), known)
	}
}

// gitWaits is a file beside a copy that is kept, with why.
const gitWaits = ".waits"

// tellGit says what the exchanges of a copy came to, and removes the copy, or keeps it.
func tellGit(c *caller.Caller, dir, id string, rep git.Report, err error) {
	const most = 20 // lines of one kind: a box can make a hundred thousand refs
	why := rep.Lines
	for i, ch := range rep.Conflicts {
		if i == most {
			c.Warn("git: and %d more refs, which are in refs/inner/%s", len(rep.Conflicts)-most, id)
			break
		}
		if ch.New == "" {
			why = append(why, fmt.Sprintf("%s was deleted in the box and stays outside: it %s", ch.Ref, ch.Why))
			continue
		}
		c.Warn("git: %s %s; what the box has is %s", ch.Ref, ch.Why, ch.Kept)
		c.Hint("git -C %s log --oneline %s", quote.POSIX(near(workTree(ch.Repo))), quote.POSIX(ch.Kept))
	}
	for _, ch := range rep.Refused {
		why = append(why, fmt.Sprintf("%s of the box is refused: %s", ch.Ref, ch.Why))
	}
	for _, ch := range rep.Held {
		why = append(why, fmt.Sprintf("%s of the box waits: it %s, which git outside would enter", ch.Ref, ch.Why))
	}
	why = append(why, rep.Unfinished...)
	if n := len(why) - most; n > 0 {
		why = append(why[:most:most], fmt.Sprintf("and %d more of that kind", n))
	}
	for _, line := range why {
		c.Warn("git: %s", line)
	}
	if n := len(rep.Settings); n > 0 {
		const few = 6
		more := ""
		if n > few {
			more = fmt.Sprintf(" and %d more", n-few)
		}
		c.Say("git: settings that the box changed stay with it: %s%s", strings.Join(rep.Settings[:min(n, few)], ", "), more)
	}
	if err != nil {
		c.Warn("git: not everything crossed: %v", err)
		why = append(why, err.Error())
	}
	if err == nil && !rep.Kept() {
		if err := git.Remove(dir); err != nil {
			c.Warn("the git directory of run %s: %v", id, err)
		}
		return
	}
	c.Hint("inner changes list   # the git directory of run %s is kept", id)
	if err != nil || len(rep.Refused) > 0 {
		c.Hint("inner changes apply %s   # tries again what did not cross, with more time", id)
	}
	// What may work by itself the next time is tried again.
	if !rep.Interrupted && (err == nil || !git.Passing(err)) {
		_ = os.WriteFile(dir+gitWaits, []byte(strings.Join(why, "\n")+"\n"), 0o600)
	}
}

// workTree is the folder that the git directory of a repository belongs to.
func workTree(dir string) string { return strings.TrimSuffix(dir, "/.git") }

// recoverGit crosses what killed runs left.
func recoverGit(c *caller.Caller) {
	base := stage.GitCopies(c.InnerHome)
	runs, err := os.ReadDir(base)
	if err != nil {
		return // none
	}
	ctx, cancel := context.WithTimeout(context.Background(), gitEndMost)
	defer cancel()
	for _, r := range runs {
		dir := filepath.Join(base, r.Name())
		if !r.IsDir() {
			continue
		}
		left, err := git.Recover(ctx, dir, git.Crossing{Gitlink: mayEnter(nil)}, func(copy string) bool { return exists(copy + gitWaits) })
		if err != nil {
			c.Warn("the git directories of run %s: %v", r.Name(), err)
		}
		for _, l := range left {
			if l.Run != "" && len(l.Report.Moved)+len(l.Report.Conflicts) > 0 {
				c.Say("git: what run %s had left crossed now", l.Run)
			}
			tellGit(c, l.Dir, r.Name(), l.Report, l.Err)
		}
		if fi, err := r.Info(); len(left) > 0 || err == nil && time.Since(fi.ModTime()) > time.Minute {
			_ = os.Remove(dir) // where nothing is left in it
		}
	}
}

// resumeGit gives a box what earlier runs left unfinished in its repository.
func resumeGit(c *caller.Caller, copied *git.Copy) {
	for _, k := range KeptGits(c.InnerHome) {
		list, all, err := copied.Resume(k.dir)
		if err != nil {
			c.Warn("git: what run %s left unfinished is not continued: %v", k.Run, err)
		}
		for _, r := range list {
			if r.Why != "" {
				c.Warn("git: the %s that run %s left unfinished in %s is not continued: %s", r.What, k.Run, c.Short(r.Top), r.Why)
				c.Hint("inner changes discard %s   # drops it", k.Run)
			} else {
				c.Say("git: the %s that run %s left unfinished in %s is continued", r.What, k.Run, c.Short(r.Top))
			}
		}
		if all {
			if err := k.remove(); err != nil {
				c.Warn("git: %v", err)
			}
		}
	}
}

// remove removes a kept git directory.
func (k KeptGit) remove() error {
	err := errors.Join(git.Remove(k.dir), os.Remove(k.dir+gitWaits))
	_ = os.Remove(filepath.Dir(k.dir)) // unless something is left in it
	return err
}

// KeptGit is one of the git directories of boxes that are kept, and why.
type KeptGit struct{ Run, Why, dir string }

// KeptGits are those below an INNER_HOME.
func KeptGits(innerHome string) []KeptGit {
	var out []KeptGit
	list, _ := filepath.Glob(filepath.Join(stage.GitCopies(innerHome), "*", "*"+gitWaits))
	for _, p := range list {
		data, _ := os.ReadFile(p)
		out = append(out, KeptGit{Run: filepath.Base(filepath.Dir(p)), Why: strings.TrimSpace(string(data)), dir: strings.TrimSuffix(p, gitWaits)})
	}
	return out
}

// How long it may take when a person asks for it.
const gitAskedMost = 2 * time.Hour

// ApplyGits tries again to cross what is kept of a run, and reports whether there was anything.
func ApplyGits(c *caller.Caller, id string) bool {
	ctx, done := Interruptible()
	defer done()
	dir := filepath.Join(stage.GitCopies(c.InnerHome), id)
	kept := slices.ContainsFunc(KeptGits(c.InnerHome), func(k KeptGit) bool { return k.Run == id })
	if !kept {
		return false
	}
	left, err := git.Recover(ctx, dir, git.Crossing{Gitlink: mayEnter(nil), Budget: gitAskedMost}, nil)
	if err != nil {
		c.Warn("the git directories of run %s: %v", id, err)
	}
	for _, l := range left {
		_ = os.Remove(l.Dir + gitWaits)
		tellGit(c, l.Dir, id, l.Report, l.Err)
		if l.Gone {
			c.Say("git: what run %s had left crossed now", id)
		}
	}
	_ = os.Remove(dir) // unless something is left in it
	return true
}

// DropGits drops the kept git directories of a run, and reports whether there were any.
func DropGits(c *caller.Caller, id string) (dropped bool, err error) {
	for _, k := range KeptGits(c.InnerHome) {
		if k.Run != id {
			continue
		}
		if err := k.remove(); err != nil {
			return true, err
		}
		c.Say("dropped the git directory of run %s", id)
		dropped = true
	}
	return dropped, nil
}
