package features

// git_dir = "own": each repository that the box can write, and the one its working
// folder lies in, has a git directory of the box's own in the box. What the box does
// there is given to the host's while it runs and when it has ended (package git).

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/internal/visible"

	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/git"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/plan"
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
	passed []string    // each .git that leads to none, or is hidden
	copies []*boxGit
	dir    string   // the folder of the run's copies
	stays  []string // all git directories, and what leads to them
}

// feature gives the box git directories of its own.
func (b *boxGits) feature() Feature {
	return Feature{
		Name: "git directories", Keys: []string{"sandbox.git_dir"}, Make: b.make, Holds: heldGit,
		Show: func(run *Run) error {
			*b = findBoxGits(run.Caller, run.Spec, run.Facts, gitProgram(run))
			b.show(&run.Assets)
			return b.stay(run.Spec, &run.Facts, &run.Assets)
		},
		Refresh: func(run *Run) error { return b.stay(run.Spec, &run.Facts, &run.Assets) },
		Start: func(run *Run, o *launch.Options) {
			if len(b.copies) > 0 {
				run.watchDisk("the box's git directory", b.dir, b.used, o)
			}
			b.exchange()
		},
		Finish: func(*Run, *Outcome) error {
			b.settle()
			return nil
		},
	}
}

func heldGit(run *Run) []Held {
	text := "the sandbox has a git directory of its own; commits are handed over after the run"
	switch {
	case run.Spec.GitDir == "rw":
		text = "nothing holds it (git_dir = \"rw\"): the sandbox writes to the repository's own git directory"
	case run.Spec.GitDir == "ro":
		text = "the repository's git directory is mounted read-only"
	case len(run.Assets.BoxGit) == 0:
		text = "there is no repository that the sandbox could write to"
	}
	return []Held{held("git_dir", "%s", text)}
}

// last is the last exchange, after what the run left was looked at.
func (b *boxGits) last() Feature {
	return Feature{Name: LastExchange, Keys: []string{"sandbox.git_dir"}, Between: b.between, Finish: func(run *Run, o *Outcome) error {
		o.Rewound = b.finish(run)
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
	mu     sync.Mutex // of the copy and the report, while both follow and between may use them
	report git.Report
	told   git.Report // as much of it as calls were told
}

// used is what the box's git directories take on the disk.
func (b *boxGits) used() uint64 {
	var n uint64
	for _, g := range b.copies {
		n += g.copy.Used()
	}
	return n
}

// findBoxGits finds the repositories of a run, and says which do not get a git directory
// of their own. program is git outside, "" where there is none. It changes nothing.
func findBoxGits(c *caller.Caller, rc profile.RunConfig, f host.Facts, program string) boxGits {
	var b boxGits
	if rc.GitDir == "rw" {
		return b
	}
	b.find(c, rc, f)
	if rc.GitDir == "own" {
		b.choose(c, program)
	}
	return b
}

// line adds a line for the person, once.
func (b *boxGits) line(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(b.lines, text) {
		b.lines = append(b.lines, text)
	}
}

// find finds the repositories of the folders that the box writes, and of the others named.
func (b *boxGits) find(c *caller.Caller, rc profile.RunConfig, f host.Facts) {
	add := func(r *git.Repo) {
		if !slices.ContainsFunc(b.found, func(x *git.Repo) bool { return x.Top == r.Top }) {
			b.found = append(b.found, r)
		}
	}
	roots := realRoots(rc)
	for _, root := range roots {
		r, err := git.Find(root)
		if err != nil { // in none
			continue
		}
		whole := slices.ContainsFunc(roots, func(in string) bool { return paths.Below(in, r.Top) })
		switch {
		case isZone(rc, root) && !whole:
			// The work tree is not the box's to write, and so are commits not its to make.
		case whole || seesTop(c.Home, rc, r.Top):
			add(r)
		case rc.GitDir == "own":
			b.line("the box does not have the repository of %s: it sees a part of the files only", c.Short(r.Top))
		}
	}
	hidden := plan.HiddenFolders(rc, f)
	tops := slices.Clone(f.Repositories)
	linked := func(r *git.Repo) { // what git enters by itself counts however deep it lies
		_, there, _ := git.Gitlinks(r) // stay refuses an index that cannot be read
		for _, p := range there {
			top := filepath.Join(r.Top, p)
			if slices.ContainsFunc(roots, func(root string) bool { return paths.Below(root, top) }) && !slices.Contains(tops, top) {
				tops = append(tops, top)
			}
		}
	}
	for _, r := range b.found {
		linked(r)
	}
	for i := 0; i < len(tops); i++ { // linked adds to them
		top := tops[i]
		r, err := git.FindAt(top)
		if err != nil || allHidden(r, hidden) {
			b.passed = append(b.passed, filepath.Join(top, ".git"))
			continue
		}
		known := func(x *git.Repo) bool { return paths.Below(x.Common, r.Common) }
		in := slices.IndexFunc(roots, func(root string) bool { return paths.Below(root, r.Common) })
		switch {
		case r.Reason != "" || slices.ContainsFunc(b.found, known): // the submodule or worktree of one
		case in < 0:
			r.Reason = "its .git leads out of the folders that the box writes, and a box may have made it"
		case host.Packaged(strings.TrimPrefix(top, roots[in])):
			r.Reason = "among packages or build results it is the host's alone"
		}
		add(r)
		linked(r)
	}
}

// allHidden reports whether a repository and each link on the ways to it lie in hidden folders.
func allHidden(r *git.Repo, hidden []string) bool {
	seen := func(p string) bool {
		return !slices.ContainsFunc(hidden, func(dir string) bool { return paths.Below(dir, p) })
	}
	for _, way := range append(slices.Clone(r.Ways), r.Dir, r.Common) {
		at := host.Look(way)
		if seen(at.Real) || slices.ContainsFunc(at.Hops, func(h host.Hop) bool { return seen(h.Path) }) {
			return false
		}
	}
	return true
}

// choose chooses those that get a git directory of their own, and says why others do not.
func (b *boxGits) choose(c *caller.Caller, program string) {
	for _, r := range b.found {
		if r.Reason == "" && program != "" && !b.own(r.Common) {
			b.repos = slices.DeleteFunc(b.repos, func(x *git.Repo) bool { return paths.Below(r.Common, x.Common) })
			b.repos = append(b.repos, r)
		}
	}
	var reasons []string
	names := map[string][]string{} // of the repositories that have a reason
	readOnly := func(r *git.Repo, why string) {
		if names[why] == nil {
			reasons = append(reasons, why)
		}
		names[why] = append(names[why], c.Short(r.Top))
	}
	for _, r := range b.repos[min(len(b.repos), maxBoxGits):] {
		readOnly(r, fmt.Sprintf("only %d repositories of a box are writable", maxBoxGits))
	}
	for _, r := range b.found {
		switch {
		case b.own(r.Common): // also by another way
		case program == "":
			readOnly(r, "git is not installed outside")
		default:
			readOnly(r, r.Reason)
		}
	}
	for _, why := range reasons {
		b.line("git is read-only in %s: %s", strings.Join(visible.Some(names[why], 4), ", "), why)
	}
	b.repos = b.repos[:min(len(b.repos), maxBoxGits)]
}

// own reports whether a path is in a git directory that the box has its own in the place of.
func (b *boxGits) own(p string) bool {
	return slices.ContainsFunc(b.repos, func(x *git.Repo) bool { return paths.Below(x.Common, p) })
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
			vacant, _, err := git.Gitlinks(r)
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
			if b.own(info.Real) || info.Kind != host.File && info.Kind != host.Dir {
				continue
			}
			add(info.Real, info)
			for _, root := range roots {
				if paths.Below(info.Real, root) { // the working folder of a bare one, or a part of it
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
		return m.Mode != profile.Tmpfs && m.Mode != profile.SafeRW && paths.Below(files.Real(m.Source), top) && m.Source == m.Dest
	}) {
		return true
	}
	return rc.Base != "minimal" && !(rc.HidesHome() && paths.Below(files.Real(home), top)) && !paths.Below("/tmp", top) && !paths.Below("/var/tmp", top)
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
	*b = findBoxGits(run.Caller, run.Spec, run.Facts, gitProgram(run))
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
			Ignored: ignored(run), Name: "inner", Email: "inner@localhost", Clean: gitCleaner(run.Spec), Profile: strings.TrimSpace(run.Spec.Name + " " + run.Spec.Path), Grants: profile.GrantsDigest(profile.Grants(run.Spec)),
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

// brought reports whether a ref, HEAD or an index of the host has become the box's.
func (b *boxGits) brought() bool {
	return slices.ContainsFunc(b.copies, func(g *boxGit) bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.report.Brought
	})
}

// repositories are the git directories of the host that the box has its own in the place of.
func (b *boxGits) repositories() []string {
	var out []string
	for _, g := range b.copies {
		out = append(out, g.copy.Repositories()...)
	}
	return out
}
