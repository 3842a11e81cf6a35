package features

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
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/git"
	"github.com/enr/inner/isolator/stage"
)

// What did not cross is kept, said, and tried again by the next call of inner.

// gitEndMost is how long the last exchanges may take.
const gitEndMost = time.Minute

// gitWaits is a file beside a copy that is kept, with why.
const gitWaits = ".waits"

// tellGit says what the exchanges of a copy came to, and removes the copy, or keeps it.
func tellGit(c *caller.Caller, dir, id string, rep git.Report, err error) {
	why := sayGit(c, id, rep)
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

// sayGit says what exchanges came to, and returns in words what did not cross.
func sayGit(c *caller.Caller, id string, rep git.Report) (why []string) {
	const most = 20 // lines of one kind: a box can make a hundred thousand refs
	why = rep.Lines
	for i, ch := range rep.Conflicts {
		if i == most {
			c.Warn("git: and %d more refs, which are in refs/inner/%s", len(rep.Conflicts)-most, id)
			break
		}
		if ch.New == "" {
			why = append(why, fmt.Sprintf("%s was deleted in the box and stays outside: it %s", ch.Name(), ch.Why))
			continue
		}
		c.Warn("git: %s %s; what the box has is %s", ch.Name(), ch.Why, ch.Kept)
		c.Hint("git -C %s log --oneline %s", quote.POSIX(near(workTree(ch.Repo))), quote.POSIX(ch.Kept))
	}
	for _, ch := range rep.Refused {
		why = append(why, fmt.Sprintf("%s of the box is refused: %s", ch.Name(), ch.Why))
	}
	for _, ch := range rep.Held {
		why = append(why, fmt.Sprintf("%s of the box waits: %s", ch.Name(), ch.Why))
	}
	why = append(why, rep.Unfinished...)
	if n := len(why) - most; n > 0 {
		why = append(why[:most:most], fmt.Sprintf("and %d more of that kind", n))
	}
	for _, line := range why {
		c.Warn("git: %s", line)
	}
	if len(rep.Settings) > 0 {
		c.Say("git: settings that the box changed stay with it: %s", strings.Join(visible.Some(rep.Settings, 6), ", "))
	}
	return why
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
		left, err := git.Recover(ctx, dir, git.Crossing{}, func(copy string) bool { return files.Exists(copy + gitWaits) })
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
	left, err := git.Recover(ctx, dir, git.Crossing{Budget: gitAskedMost}, nil)
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
