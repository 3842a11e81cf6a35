package features

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/git"
	"github.com/enr/inner/isolator/git/clone"
	"github.com/enr/inner/isolator/git/gate"
	"github.com/enr/inner/isolator/git/server"
	"github.com/enr/inner/isolator/git/share"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/isolator/stage"
)

// Where /dev/fuse cannot be opened no repository can be served. The box has a clone then, and what it did there is
// brought when it has ended. What does not come is kept, said, and tried again.

// unserved says why no repository can be served to a box, "" when it can.
func (b *boxGits) unserved(run *Run) string {
	switch {
	case b.failed != "":
		return b.failed
	case run.Backend() != "bwrap":
		return run.Backend() + " makes the box"
	case unix.Access("/dev/fuse", unix.R_OK|unix.W_OK) != nil:
		return "/dev/fuse cannot be opened"
	}
	return ""
}

// What lies in the folder of a box: the work tree it belongs to, and, when something of a clone waits, why.
const (
	gitTop     = "top"
	cloneWaits = "waits"
)

// openClone opens the folder of a clone, and brings what an earlier run has left there.
func (s *sharedGit) openClone(c *caller.Caller, program, run, objects string) (err error) {
	r := s.repo
	repo := server.Repository{Repository: gate.Repository{Git: program, Dir: r.Common, Top: r.Top, Tree: r.Worktree}}
	s.clone, err = clone.Open(clone.Options{
		Git: program, Env: withoutGit(), GitDir: r.Dir, Common: r.Common, Top: r.Top, Folder: filepath.Join(s.dir, "clone"), Objects: objects, Run: run, Branch: repo.Branch,
	})
	if err != nil {
		return err
	}
	s.bring(c, program)
	return nil
}

// withoutGit is the environment without variables of git.
func withoutGit() []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "GIT_") })
}

// makeClone makes the clone, once it is known what the box may not write.
func (s *sharedGit) makeClone(run *Run, r server.Repository) error {
	g, err := gate.Open(r.Repository, run.Warn)
	if err != nil {
		return err
	}
	defer g.Close()
	r.Leave()
	r.LeaveOfRefs()
	list, err := r.Visible()
	if err != nil {
		return err
	}
	s.clone.Index, s.clone.Settings, s.clone.Run = g, append(list, r.Ours...), run.ID()
	lines, err := s.clone.Make()
	for _, line := range lines {
		run.Warn("git: %s", line)
	}
	return errors.Join(err, r.Fill(s.clone.Dir))
}

// bring brings what the box did in its clone.
func (s *sharedGit) bring(c *caller.Caller, program string, covered ...string) (moved []runlog.Ref) {
	r := s.repo
	g, err := gate.Open(gate.Repository{
		Git: program, Dir: r.Common, Top: r.Top, Tree: r.Worktree, Store: filepath.Join(s.clone.Dir, "objects"), Private: s.dir, Partial: r.Partial, Covered: covered,
	}, c.Warn)
	var rep clone.Report
	if err == nil {
		defer g.Close()
		before := git.Head(program, r.Top)
		rep, err = s.clone.Bring(g)
		g.SettleBetween(before, git.Head(program, r.Top))
	}
	return rewound(program, tellClone(c, r.Common, s.dir, rep, err))
}

// tellClone says what came of a clone, and notes in a folder that something waits.
func tellClone(c *caller.Caller, repo, dir string, rep clone.Report, err error) (moved []runlog.Ref) {
	const most = 20 // lines: a box can make a hundred thousand refs
	if n := len(rep.Lines) - most; n > 0 {
		rep.Lines = append(rep.Lines[:most:most], fmt.Sprintf("and %d more of that kind", n))
	}
	if err != nil {
		rep.Lines = append(rep.Lines, "not everything came: "+err.Error())
	}
	for _, line := range rep.Lines {
		c.Warn("git: %s", line)
	}
	waits := filepath.Join(dir, cloneWaits)
	if !rep.Kept && err == nil {
		_ = os.Remove(waits)
	} else if err := files.Write(waits, []byte(strings.Join(rep.Lines, "\n")+"\n"), 0o600); err != nil {
		c.Warn("git: %v", err)
	}
	for _, m := range rep.Moved {
		if m.Old != "" {
			moved = append(moved, runlog.Ref{Repo: repo, Ref: m.Name, Old: m.Old, New: m.New})
		}
	}
	return moved
}

// KeptGit is a clone in which something waits, and why.
type KeptGit struct{ Run, Why, dir string }

// KeptGits are those below an INNER_HOME.
func KeptGits(innerHome string) (out []KeptGit) {
	list, _ := filepath.Glob(filepath.Join(innerHome, "repositories", "*", "*", cloneWaits))
	old, _ := filepath.Glob(filepath.Join(stage.GitCopies(innerHome), "*", "*", cloneWaits))
	for _, p := range append(list, old...) {
		data, _ := os.ReadFile(p)
		dir := filepath.Dir(p)
		out = append(out, KeptGit{Run: clone.RunOf(dir), Why: strings.TrimSpace(string(data)), dir: dir})
	}
	return out
}

// recoverGit brings what killed runs left, and what the last version of inner had.
func recoverGit(c *caller.Caller) {
	list, _ := filepath.Glob(filepath.Join(c.InnerHome, "repositories", "*", "*", gitTop))
	for _, p := range list {
		switch dir := filepath.Dir(p); {
		case clone.Left(dir) && !files.Exists(filepath.Join(dir, cloneWaits)):
			bringKept(c, dir)
		case share.Locks(dir):
			sweepLocks(dir)
		}
	}
	old, _ := filepath.Glob(filepath.Join(stage.GitCopies(c.InnerHome), "*", "*", "state", "copy.json"))
	for _, p := range old {
		if dir := filepath.Dir(filepath.Dir(p)); !files.Exists(filepath.Join(dir, cloneWaits)) {
			bringOld(c, dir)
		}
	}
}

// sweepLocks removes the locks that a killed run has left.
func sweepLocks(dir string) {
	top, err := os.ReadFile(filepath.Join(dir, gitTop))
	if err != nil {
		return
	}
	r, err := git.FindAt(strings.TrimSpace(string(top)))
	if s := (&sharedGit{dir: dir}); err == nil && digest(r.Common) == filepath.Base(filepath.Dir(dir)) && s.locked() {
		defer s.lock.Close()
		_ = share.Sweep(r.Common, dir) // else the next run there does
	}
}

// bringKept brings what waits in the folder of a box that is gone.
func bringKept(c *caller.Caller, dir string) {
	program, _ := host.FindHelper("git", c.Getenv("PATH"))
	top, err := os.ReadFile(filepath.Join(dir, gitTop))
	if err != nil || program == "" {
		return
	}
	r, err := git.FindAt(strings.TrimSpace(string(top)))
	if err != nil || r.Reason != "" || digest(r.Common) != filepath.Base(filepath.Dir(dir)) {
		c.Warn("git: %s is not the repository that it was: what a sandbox did there waits in %s", strings.TrimSpace(string(top)), dir)
		return
	}
	s := &sharedGit{repo: r, dir: dir}
	if !s.locked() {
		return // it lives
	}
	defer s.lock.Close()
	c.Say("git: what run %s had left comes now", clone.RunOf(dir))
	if err := s.openClone(c, program, clone.RunOf(dir), ""); err != nil {
		c.Warn("git: %v", err)
	}
	s.endClone()
}

// endClone removes a clone in which nothing is left.
func (s *sharedGit) endClone() {
	if s.clone == nil {
		return
	}
	_ = s.clone.Close()
	if !files.Exists(filepath.Join(s.dir, cloneWaits)) {
		_ = os.RemoveAll(filepath.Join(s.dir, "clone"))
	}
}

// bringOld brings what the last version of inner left of a box that had a git directory of its own.
func bringOld(c *caller.Caller, dir string) {
	program, _ := host.FindHelper("git", c.Getenv("PATH"))
	list, err := clone.OfLastVersion(dir, func(gitDir, common, top string) clone.Options {
		repo := server.Repository{Repository: gate.Repository{Git: program, Dir: common, Top: top}}
		return clone.Options{Git: program, Env: withoutGit(), GitDir: gitDir, Common: common, Top: top, Branch: repo.Branch}
	})
	if err != nil {
		c.Warn("git: %s: %v", dir, err)
	}
	kept := err != nil
	for _, old := range list {
		base := repositoryFolder(c, old.Common)
		g, err := gate.Open(gate.Repository{
			Git: program, Dir: old.Common, Top: old.Top, Store: filepath.Join(old.Dir, "objects"), Private: base,
		}, c.Warn)
		var rep clone.Report
		if err == nil {
			rep, err = old.Bring(g)
			g.Close()
		}
		tellClone(c, old.Common, dir, rep, err)
		kept = kept || rep.Kept || err != nil
		_ = old.Close()
	}
	if !kept {
		_ = os.RemoveAll(dir)
		_ = os.Remove(filepath.Dir(dir)) // unless something is left in it
	}
}

// ApplyGits tries again to bring what is kept of a run, and reports whether there was anything.
func ApplyGits(c *caller.Caller, id string) (found bool) {
	for _, k := range KeptGits(c.InnerHome) {
		switch {
		case k.Run != id:
			continue
		case files.Exists(filepath.Join(k.dir, gitTop)):
			bringKept(c, k.dir)
		default:
			bringOld(c, k.dir)
		}
		if found = true; !files.Exists(filepath.Join(k.dir, cloneWaits)) {
			c.Say("git: what run %s had left has come", id)
		}
	}
	return found
}

// DropGits drops the kept git directories of a run, and reports whether there were any.
func DropGits(c *caller.Caller, id string) (dropped bool, err error) {
	for _, k := range KeptGits(c.InnerHome) {
		if k.Run != id {
			continue
		}
		if err := os.RemoveAll(k.dir); err != nil {
			return true, err
		}
		c.Say("dropped the git directory of run %s", id)
		dropped = true
	}
	return dropped, nil
}
