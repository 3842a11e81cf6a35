package features

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/isolator/git"
	"github.com/enr/inner/isolator/git/clone"
	"github.com/enr/inner/isolator/git/server"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/innerbox"
	"github.com/enr/inner/isolator/owned"
	"github.com/enr/inner/isolator/runlog"
)

// Where /dev/fuse cannot be opened no repository can be served. The box has a clone then, and what it did there is
// brought when it has ended. What does not come is kept, said, and tried again.

// unserved says why no repository can be served to a box, "" when it can.
func (b *boxGits) unserved(run *Run) string {
	shims := filepath.Join(run.InnerHome, "shims")
	switch {
	case b.failed != "":
		return b.failed
	case run.Backend() != "bwrap":
		return run.Backend() + " makes the box"
	case unix.Access("/dev/fuse", unix.R_OK|unix.W_OK) != nil:
		return "/dev/fuse cannot be opened"
	case innerbox.Git(shims) == "" && innerbox.Lacks(shims):
		return "inner-git is not beside the shims (inner shim regenerate)"
	}
	return ""
}

// GitTop is a file in the folder of a box: the work tree it belongs to.
const GitTop = "top"

// BringClone brings what a box did in a clone, or at a place in a copy of the work tree. The caller has the lock of its
// folder.
func BringClone(c *caller.Caller, s clone.State, at string, covered ...string) []server.Moved {
	program, _ := host.FindHelper("git", c.Getenv("PATH"))
	r, err := git.FindAt(s.Top)
	if err != nil || r.Reason != "" || at == "" && repositoryFolder(c, r.Common) != filepath.Dir(s.Private) {
		s.Lines = []string{s.Top + " is not the repository that it was: what a sandbox did there waits in " + s.Private}
		c.Warn("git: %s", s.Lines[0])
		_ = s.Write()
		return nil
	}
	box := clone.Clone{Run: s.Run, At: at, Repository: server.Repository{Repository: gated(program, r, s.Private, covered)}}
	if at != "" {
		box.Store = filepath.Join(at, "objects")
	}
	moved, err := box.Bring(s, c.Warn)
	if err != nil {
		c.Warn("git: %v", err)
	}
	return moved
}

// noteCopied notes what the repositories in a copy of source are at. Of one that is not noted nothing comes but
// what is named.
func noteCopied(kept, run, source, tree string, list []copytree.Entry) {
	for _, e := range list {
		if top := filepath.Join(source, filepath.Dir(e.Path)); e.Mode.IsDir() && filepath.Base(e.Path) == ".git" {
			_ = clone.Begin(CopiedGit(kept, top), run, top, filepath.Join(tree, e.Path))
		}
	}
}

// CopiedGit is where that is noted.
func CopiedGit(kept, top string) string { return filepath.Join(kept, "git-"+digest(top)) }

// BoxFolders is the pattern of the folders of what boxes have of their own of repositories.
func BoxFolders(innerHome string) string { return filepath.Join(innerHome, "repositories", "*", "*") }

// recoverGit brings what killed runs left.
func recoverGit(c *caller.Caller) {
	earlier, _ := filepath.Glob(filepath.Join(c.InnerHome, "git/*/*/git"))
	for _, name := range earlier { // of a version before: PLACE: a rebase is not finished, so …; or of a killed run
		place := filepath.Dir(name)
		if said := place + ".waits-said"; !files.Exists(said) && !owned.Alive(place) && files.Write(said, nil, 0o600) == nil {
			text, _ := os.ReadFile(place + ".waits")
			what, _, _ := strings.Cut(cmp.Or(string(text), "a run was killed"), ",")
			c.Warn("git: %s in the sandbox of an earlier version, and does not go on; what it had, settings of git too, is in %s",
				visible.Line(what), c.Short(place))
		}
	}
	settled := filepath.Join(c.InnerHome, "repositories", clone.Settled)
	none := files.Exists(settled)
	list, _ := filepath.Glob(BoxFolders(c.InnerHome))
	for _, dir := range list {
		if server.Locks(dir) || !none && len(clone.States(dir)) > 0 {
			Settle(c, dir, "")
		}
	}
	if !none && len(clone.States(BoxFolders(c.InnerHome))) == 0 && files.Write(settled, nil, 0o600) == nil &&
		len(clone.States(BoxFolders(c.InnerHome))) > 0 {
		_ = os.RemoveAll(settled)
	}
}

// Settle does what a killed run did not in the folder of its box, unless another has it: its locks go, and what
// it did in a clone comes. What waits of a run is tried again when that is named.
func Settle(c *caller.Caller, dir, again string) {
	s := &sharedGit{dir: dir}
	if !s.locked() {
		return
	}
	defer func() { _ = files.Unlock(s.lock) }()
	top, _ := os.ReadFile(filepath.Join(dir, GitTop))
	if r, err := git.FindAt(strings.TrimSpace(string(top))); err == nil && repositoryFolder(c, r.Common) == filepath.Dir(dir) {
		_ = server.Sweep(r.Common, dir) // else the next run there does
	}
	for _, state := range clone.States(dir) {
		if state.Lines == nil || state.Run == again {
			BringClone(c, state, "")
		}
	}
	s.tidy()
}

// maxAsked is how many refs git is asked about at the end of a run; of more nothing is left out.
const maxAsked = 200

// Rewound returns those of the refs that a box moved whose earlier value is no part of the new one: branches
// that it deleted or forced, tags that name something else. Refs of remotes are left out, which follow another
// repository.
func Rewound(program string, moved []server.Moved) (out []runlog.Ref) {
	for _, m := range moved {
		i := slices.IndexFunc(out, func(o runlog.Ref) bool { return o.Repo == m.Repo && o.Ref == m.Ref })
		switch {
		case i >= 0:
			out[i].New = m.New
		case m.Old != "" && strings.HasPrefix(m.Ref, "refs/") && !strings.HasPrefix(m.Ref, "refs/remotes/") && !strings.HasPrefix(m.Old, "ref: "):
			out = append(out, runlog.Ref(m))
		}
	}
	asked := 0
	return slices.DeleteFunc(out, func(m runlog.Ref) bool {
		switch {
		case m.Old == m.New:
			return true
		case m.New == "" || strings.HasPrefix(m.Ref, "refs/tags/"):
			return false
		case m.Ref == "refs/stash":
			log, err := os.ReadFile(filepath.Join(m.Repo, "logs", m.Ref))
			return err == nil && strings.Contains(string(log), " "+m.Old+" ")
		}
		asked++
		return asked <= maxAsked && git.Contains(program, m.Repo, m.New, m.Old)
	})
}
