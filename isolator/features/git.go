package features

// git_dir = "checked": each repository that the box can write, and the one its working folder lies in, is shared
// with the box: a server of its own serves the git directory there, and decides about all that enters (package
// git/server). What only this box has, and the objects that it stores, lie in a folder of INNER_HOME.

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/git"
	"github.com/enr/inner/isolator/git/clone"
	"github.com/enr/inner/isolator/git/gate"
	"github.com/enr/inner/isolator/git/server"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/innerbox"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile/gitconfig"
)

// Reasons of mounts, as explain and --dry-run print them.
const (
	gitShared  = "the project's git directory, served: every change of the box is checked before it counts"
	gitClone   = "a clone of the project's repository: what the box does in it is checked and comes when it has ended"
	gitStore   = "where the box's git stores objects"
	gitHost    = "objects of the host's repository, to read"
	gitPointer = "it leads to the git directory, and stays as it is"
)

// boxGits are the repositories of a run.
type boxGits struct {
	found   []*git.Repo  // all of them
	shared  []*sharedGit // those that the box shares
	lines   []string     // what is read-only, and why
	passed  []string     // each .git that leads to none, or is hidden
	missing []string     // where submodules are not initialised
	unread  error        // of an index that cannot be read
	hidden  []string     // files that the table hides
	stays   []string     // all git directories, and what leads to them, which the box cannot write
	failed  string       // why nothing can be mounted in the box
	place   *sharedGit   // of a repository that the box may make, nil where there is one
	server  *server.Server
	broken  error          // why it could not be started
	tried   bool           // to start the box
	moved   []server.Moved // refs, by the box
}

// feature shares repositories with the box.
func (b *boxGits) feature() Feature {
	return Feature{
		Name: "git directories", Keys: []string{"sandbox.git_dir"}, Make: b.make,
		Learn: func(run *Run) error {
			if run.Unserved {
				run.Unserved = false
				b.clones(run)
			}
			return b.stay(run.Spec, &run.Facts, &run.Assets)
		},
		Planned: func(run *Run) (err error) {
			for i, s := range b.shared {
				if s.clone && err == nil {
					box := clone.Clone{Repository: s.described(run, i), Run: run.ID()}
					err = box.Make(run.Warn)
				}
			}
			return err
		},
		Start:   b.start,
		Between: b.tell,
		Finish: func(run *Run, o *Outcome) error {
			if b.server != nil {
				b.server.End()
			}
			return b.tell(run, o)
		},
	}
}

// last brings what the box did in clones, after what the run left was looked at.
func (b *boxGits) last() Feature {
	return Feature{Name: LastExchange, Keys: []string{"sandbox.git_dir"}, Finish: func(run *Run, o *Outcome) error {
		for _, s := range b.shared {
			covered, _ := run.Plan.Covered(s.repo.Top)
			for _, state := range clone.States(s.dir) {
				if state.Run == run.ID() {
					b.rewound(run, o, BringClone(run.Caller, state, "", covered...))
				}
			}
		}
		if b.place != nil {
			b.bringVacant(run)
		}
		return nil
	}}
}

// LastExchange is the name of the feature that brings what the box did in clones.
const LastExchange = "clones of repositories"

// gitProgram is git on the host, or "".
func gitProgram(run *Run) string {
	path, _ := host.FindHelper("git", run.Getenv("PATH"))
	return path
}

// look finds the repositories.
func (b *boxGits) look(run *Run) {
	*b = boxGits{}
	if run.Spec.GitDir == "rw" {
		return
	}
	b.find(run.Caller, run.Spec, run.Facts)
	if run.Spec.GitDir == "checked" {
		b.choose(run.Caller, gitProgram(run))
	}
}

// Where the box has the store of a repository, by its number, and the host's objects.
const (
	boxStore   = paths.BoxGit + "/%d/store"
	boxObjects = paths.BoxGit + "/%d/objects"
)

// bind puts what a shared repository is made of into the plan.
func (b *boxGits) bind(run *Run, i int) {
	s := b.shared[i]
	r, store := s.repo, run.Folder.At("objects of "+s.repo.Common)
	if s.dir != "" {
		store = s.store()
	}
	dir := plan.Bind{Host: r.Common, Box: r.Common, Reason: gitShared}
	if s.clone {
		dir = plan.Bind{Host: filepath.Join(s.dir, "clone"), Box: r.Common, Write: true, Reason: gitClone}
	}
	repo := plan.Repo{Dir: r.Common, Served: !dir.Write, Binds: []plan.Bind{
		{Host: store, Box: fmt.Sprintf(boxStore, i), Write: true, Reason: gitStore},
		{Host: filepath.Join(r.Common, "objects"), Box: fmt.Sprintf(boxObjects, i), Reason: gitHost},
	}}
	if dir.Write || !slices.ContainsFunc(b.shared[:i], func(x *sharedGit) bool { return paths.Below(x.repo.Common, r.Common) }) { // else it is mounted in that one
		repo.Binds = append(repo.Binds, dir)
	}
	if dir.Write {
		repo.Binds = append(repo.Binds, plan.Bind{Host: store, Box: filepath.Join(dir.Host, "objects"), Write: true, Reason: gitStore})
	}
	if r.Pointer {
		p := filepath.Join(r.Top, ".git")
		repo.Binds = append(repo.Binds, plan.Bind{Host: p, Box: p, Reason: gitPointer})
	}
	run.Assets.Repos = append(run.Assets.Repos, repo)
}

// make makes what the box has of its own for each repository.
func (b *boxGits) make(run *Run) error {
	if err := b.makeVacant(run); err != nil {
		return &fault.Refusal{
			Code: 125,
			Msg:  "the place for a repository that the sandbox makes: " + err.Error(),
			Hint: "inner doctor",
		}
	}
	place := b.place
	b.look(run)
	b.place = place
	for _, line := range b.lines {
		run.Warn("%s", line)
	}
	made := run.Mode.Made()
	for i, s := range b.shared {
		if made {
			if err := b.open(run, i); err != nil {
				return &fault.Refusal{
					Code: 125,
					Msg:  "what the sandbox has of its own of " + run.Short(s.repo.Top) + ": " + err.Error(),
					Hint: "inner doctor",
				}
			}
		}
		b.bind(run, i)
	}
	if made {
		b.sayClone(run)
		b.begin(run)
	}
	if err := b.heads(run); err != nil {
		return err
	}
	return b.stay(run.Spec, &run.Facts, &run.Assets)
}

// open gets the folder of a shared repository ready.
func (b *boxGits) open(run *Run, i int) error {
	s := b.shared[i]
	if err := s.open(run); err != nil {
		return err
	}
	run.Undo(func() { s.close(run) })
	s.nested, s.clone = b.nested(s.repo.Top), b.unserved(run) != ""
	return s.fill(fmt.Sprintf(boxObjects, i))
}

// begin starts the server, if there is anything to serve.
func (b *boxGits) begin(run *Run) {
	if b.server, b.broken = nil, nil; slices.ContainsFunc(b.shared, func(s *sharedGit) bool { return !s.clone }) {
		if b.server, b.broken = server.Start(serverProgram(run.Caller)); b.broken == nil {
			run.Undo(b.server.Close)
			run.Undo(b.server.End)
		}
	}
}

func (b *boxGits) sayClone(run *Run) {
	if why := b.unserved(run); why != "" && len(b.shared) > 0 {
		run.Say("git: %s, so the sandbox works on a clone of the repository: neither side sees what the other does in git until it ends",
			why)
	}
}

// clones gives the box clones after all: what is served could not be mounted.
func (b *boxGits) clones(run *Run) {
	run.Assets.Repos = slices.DeleteFunc(run.Assets.Repos, func(r plan.Repo) bool { return r.Served })
	for i, s := range b.shared {
		s.clone = true
		b.bind(run, i)
	}
	b.sayClone(run)
}

// heads has hidden files of the repositories show what the last commit has of them: an empty one would be taken for a
// change. What is in the work tree may be more, as what git-crypt has filled in.
func (b *boxGits) heads(run *Run) error {
	run.Assets.Heads = map[string]string{}
	for _, s := range b.shared {
		list := slices.DeleteFunc(slices.Clone(b.hidden), func(p string) bool { return !paths.Inside(s.repo.Top, p) })
		if len(list) == 0 {
			continue
		}
		for p, data := range git.Heads(gitProgram(run), s.repo.Top, list) {
			name, err := run.Folder.File(fmt.Sprintf("head-%d", len(run.Assets.Heads)), data, 0o444)
			if err != nil {
				return err
			}
			run.Assets.Heads[p] = name
		}
	}
	return nil
}

// serverProgram returns what serves git directories: inner-git, and inner itself in a build that carries none.
func serverProgram(c *caller.Caller) string {
	return cmp.Or(innerbox.Git(filepath.Join(c.InnerHome, "shims")), c.Exe, "/proc/self/exe")
}

// start has the server mount what it serves before the program starts.
func (b *boxGits) start(run *Run, o *launch.Options) {
	if b.tried && b.server != nil {
		b.server.End() // of a try that failed
		b.begin(run)
	}
	b.tried = true
	var list []server.Repository
	for i, s := range b.shared {
		if !s.clone {
			list = append(list, s.described(run, i))
		}
		run.watchDisk("the box's git objects", s.store(), s.used, o)
	}
	if len(list) == 0 {
		o.Inside = nil // as well
		return
	}
	err := b.broken
	if err == nil {
		err = b.server.Describe(list)
	}
	o.Inside = func(in launch.Inside) error {
		if err != nil {
			return err
		}
		if err := b.server.Mount(in.User, in.Mounts); err != nil {
			b.failed, run.Unserved = "nothing can be mounted in the sandbox ("+err.Error()+")", true
			return err
		}
		return nil
	}
	o.Ending = func() {
		if b.server != nil {
			b.server.End()
		}
	}
}

// notCarried are settings for the filters of the user that the box does not have: nothing that they are for is
// staged there as it lies in the work tree.
func notCarried(run *Run) (out []gitconfig.Entry) {
	if run.Spec.Git != nil || run.Spec.Home == "host" {
		return nil
	}
	for _, e := range gitconfig.Environment(run.Getenv).Load() {
		section, name, _ := e.Parts()
		if section == "filter" && !slices.ContainsFunc(out,
			func(o gitconfig.Entry) bool { return o.Key == "filter."+name+".required" }) {
			why := "echo >&2 'inner: the filter of your git settings is not in the sandbox: stage this file outside'; false"
			out = append(out, gitconfig.Entry{Key: "filter." + name + ".required", Value: "true"}, gitconfig.Entry{Key: "filter." + name + ".clean", Value: why},
				gitconfig.Entry{Key: "filter." + name + ".smudge", Value: "cat"})
		}
	}
	return out
}

// repoPolicy says what of a repository's own settings the box sees, nil for all.
func repoPolicy(run *Run) *gitconfig.Policy {
	if run.Spec.Git == nil {
		return nil
	}
	p := gitPolicy(run.Spec)
	p.Overrides = nil
	return &p
}

// oursInGit come after the settings of each repository: git in the box leaves to the host what rewrites whole
// files, and writes an index that can be looked at.
var oursInGit = []gitconfig.Entry{
	{Key: "gc.auto", Value: "0"},
	{Key: "gc.worktreepruneexpire", Value: "never"},
	{Key: "maintenance.auto", Value: "false"},
	{Key: "index.sparse", Value: "false"},
	{Key: "core.splitindex", Value: "false"},
	{Key: "core.fsmonitor", Value: "false"},
	{Key: "core.untrackedcache", Value: "false"},
	{Key: "submodule.recurse", Value: "false"}, // the .git of a submodule, which git would write, is a mount
}

// tell tells what the server has told.
func (b *boxGits) tell(run *Run, o *Outcome) error {
	if b.server == nil {
		return nil
	}
	lines, moved := b.server.Told()
	const most = 20 // lines: a box can make as many as it likes
	for _, line := range lines[:min(len(lines), most)] {
		run.Warn("%s", line)
	}
	if len(lines) > most {
		run.Warn("git: and %d more of that kind", len(lines)-most)
	}
	b.rewound(run, o, moved)
	return nil
}

// rewound notes which refs the box moved, for undo, and which of them not to what has their old value.
func (b *boxGits) rewound(run *Run, o *Outcome, moved []server.Moved) {
	o.Rewound = append(o.Rewound, Rewound(gitProgram(run), moved)...)
	for _, m := range moved {
		b.moved = m.After(b.moved)
	}
}

// nested are the places of repositories in a work tree, relative to it, at which the box can make none.
func (b *boxGits) nested(top string) (out []string) {
	places := slices.Clone(b.missing)
	for _, r := range b.found {
		places = append(places, r.Top)
	}
	for _, p := range places {
		if rest, ok := paths.Rest(top, p); ok && rest != "" {
			out = append(out, rest)
		}
	}
	return out
}

// repositories are the git directories that are shared.
func (b *boxGits) repositories() (out []string) {
	for _, s := range b.shared {
		out = append(out, s.repo.Common)
	}
	return out
}

// tracked returns what the host's git has at a place of a work tree, without what a box brought there.
func (b *boxGits) tracked(run *Run, r *git.Repo, place string) git.Tracked {
	t := git.TrackedAt(gitProgram(run), r, place)
	for _, s := range b.shared {
		if s.repo.Common != r.Common {
			continue
		}
		g, err := gate.Open(s.described(run, 0).Repository, run.Warn)
		if err != nil {
			return nil
		}
		defer g.Close()
		for at, entries := range t {
			rest, _ := paths.Rest(r.Top, at)
			t[at] = slices.DeleteFunc(entries,
				func(e string) bool { return !g.HostHad(rest, e[strings.IndexByte(e, ' ')+1:]) })
		}
	}
	return t
}
