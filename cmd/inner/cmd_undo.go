package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/changes"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/ownhome"
	"github.com/enr/inner/isolator/repos"
	"github.com/enr/inner/isolator/review"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/isolator/stage"
	"github.com/enr/inner/isolator/undo"
	"github.com/enr/inner/isolator/undo/back"
	"github.com/enr/inner/profile/gitconfig"
)

func (a *app) cmdUndo() *cobra.Command {
	var yes, git, asJSON bool
	c := &cobra.Command{
		Use: "undo [RUN]", Short: "Take back what a run changed in the project", Args: cobra.MaximumNArgs(1),
		Long: "Take back what a run changed in its working folder: changed files are as they were, removed ones there, new\n" +
			"ones gone, whether git knows them or not. It is shown and confirmed first. What you changed after the run\n" +
			"stays, and is named. Without RUN it is the last run of this project that is not taken back.\n\n" +
			"An undo is itself a run that can be taken back: inner undo, with the id that it says. Refs of git that the\n" +
			"run moved are shown with their values before; --git brings them back. With --json nothing is asked, and without\n" +
			"--yes nothing is done.",
		ValidArgsFunction: a.completeKept,
		RunE: a.OnHost(func(c *cobra.Command, args []string) error {
			r, err := a.undoRun(c.Context(), args, git)
			if err != nil {
				return err
			}
			return a.undo(r, yes, git, asJSON)
		}),
	}
	cli.YesFlag(c, &yes)
	cli.JSONFlag(c, &asJSON)
	c.Flags().BoolVar(&git, "git", false, "also give refs of git the values that they had before")
	return c
}

// undoRun is the run that is meant: the one that is named, or the last of this project that is not taken back.
// For git it is also one whose refs stand.
func (a *app) undoRun(ctx context.Context, args []string, git bool) (*undo.Run, error) {
	list, err := a.kept(ctx)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(k keptRun) bool { return k.inPlace == nil })
	if len(args) > 0 {
		k, err := a.findKept(list, args[0])
		return k.inPlace, err
	}
	var runs []*undo.Run
	for _, k := range list {
		if a.here(k) {
			runs = append(runs, k.inPlace)
		}
	}
	last := back.Last(runs)
	for _, r := range slices.Backward(runs) {
		if r == last {
			return r, nil
		}
		if git && r.Undoes == "" {
			if refs, _ := back.Standing(r); len(refs) > 0 {
				return r, nil
			}
		}
	}
	if n := len(runs); n > 0 {
		return nil, fault.Refuse(1, "inner undo "+runs[n-1].Run,
			"each run of this project is taken back already; an undo of it, or one run again, is named by its id: inner changes list")
	}
	if pl, err := a.Here(); err == nil {
		root := files.Real(cmp.Or(pl.Root(), pl.Cwd))
		if was := ownhome.Was(a.InnerHome, ownhome.Owner{Project: root, Undo: true}); was != "" {
			return nil, fault.Refuse(1, "inner home move "+cli.Quoted(was)+" "+cli.Quoted(root),
				"what runs of this project changed is kept from when it was %s", a.Short(was))
		}
		if err := a.nobodyIn(root); err != nil {
			return nil, err
		}
	}
	return nil, fault.Refuse(1, "inner changes list",
		"no run of this project can be taken back: with undo = true under [sandbox] what it changes is kept")
}

func (a *app) undoWords(r *undo.Run) string {
	if r.Undoes != "" {
		return "undo of run " + r.Undoes + " in " + a.Short(string(r.Top))
	}
	return fmt.Sprintf("%s in profile %s, in %s", r.Command, r.Profile, a.Short(string(r.Top)))
}

func (a *app) undo(r *undo.Run, yes, git, asJSON bool) error {
	top := string(r.Top)
	if err := a.nobodyIn(top); err != nil {
		return err
	}
	run, dir, err := a.scratch("undo")
	if err != nil {
		return err
	}
	defer run.Close()
	b, err := back.Of(r, dir, run.ID)
	if err != nil {
		return err
	}
	did := false
	defer func() {
		if !did {
			b.Drop()
		}
	}()
	refs, others := back.Standing(r)
	standing := len(refs)
	if !asJSON {
		a.say(b, r, refs, others, git)
	}
	word := "inner undo "
	if git {
		word += "--git "
	} else {
		refs = nil
	}
	if lock := filepath.Join(features.UndoProject(a.Caller, top).GitDir,
		"index.lock"); len(refs) > 0 && files.Exists(lock) {
		return fault.Refuse(1, word+r.Run+", when it has ended, or rm "+cli.Quoted(lock)+" where none works", "another git works in the repository: %s is there", a.Short(lock))
	}
	what := visible.Counted(len(b.Changes), "change", "changes")
	if len(refs) > 0 {
		what += " and " + visible.Counted(len(refs), "ref", "refs")
	}
	if len(b.Changes)+len(refs) > 0 && (yes || !asJSON) {
		question := fmt.Sprintf("take back %s in %s?", what, a.Short(top))
		if err := a.askFor(question, yes, word+"--yes "+r.Run); err != nil {
			return err
		}
		if err := a.nobodyIn(top); err != nil {
			return err
		}
		did = true
		ctx, stop := features.Interruptible(nil)
		defer stop()
		apply := func(ctx context.Context, k *changes.Kept, list []changes.Change) ([]changes.Change, error) {
			look, err := rewriting(a.Caller, run, top)
			if err != nil {
				return nil, err
			}
			defer look() // also at what was written before an error
			return review.Apply(ctx, k, list)
		}
		if done, err := b.Apply(ctx, refs, apply); err != nil {
			msg := fmt.Sprintf("%s taken back, then: %v", visible.Counted(len(done), "change", "changes"), err)
			hint := word + r.Run + ", for the rest"
			if len(done) > 0 {
				hint += "; " + word + b.Run.Run + " takes back what was done"
			}
			return &fault.Refusal{Code: cli.SignalCode(ctx), Msg: msg, Hint: hint}
		}
	}
	if asJSON {
		b.Refs, b.Left = r.Refs, r.Left
		return a.PrintJSON(struct {
			*back.Undo
			Changes []jsonChange `json:"changes"`
			Done    bool         `json:"done"`
		}{b, a.jsonChanges(back.Changes(b.Run)), did})
	}
	if standing > len(refs) {
		a.Hint("inner undo --git %s     # the refs, too", r.Run)
	}
	if !did { // nothing stands of it
		a.Hint("inner changes list     # names the runs before")
		return cli.Exit(1)
	}
	a.Say("took back %s of run %s", what, r.Run)
	a.Hint("%s%s     # takes this back", word, b.Run.Run)
	return nil
}

// nobodyIn refuses while a run lives that can write a folder.
func (a *app) nobodyIn(top string) error {
	live, err := stage.Running(a.StageBase())
	for _, l := range live {
		if slices.ContainsFunc(l.Roots, func(root string) bool { return paths.Below(root, top) || paths.Below(top, root) }) {
			return fault.Refuse(126, "wait for its end, or inner stop "+l.ID,
				"run %s (%s) goes on in %s", l.ID, l.Command, a.Short(top))
		}
	}
	return err
}

// say shows what would be done, and what would not.
func (a *app) say(b *back.Undo, r *undo.Run, refs []undo.Ref, others []string, git bool) {
	a.Say("run %s of %s: %s", r.Run, r.Begun.Local().Format("2006-01-02 15:04"), a.undoWords(r))
	if r.Killed {
		a.Say("nobody saw its end: what was changed until it was missed counts as its work")
	}
	if stat, err := back.Diff(b.Run, []string{"--stat", "--stat-count=40"}); err == nil {
		for line := range strings.Lines(string(stat)) {
			fmt.Fprintln(a.Err, cli.Printable(strings.TrimSuffix(line, "\n")))
		}
	}
	if len(b.Changes) == 0 && !(git && len(refs) > 0) {
		a.Say("nothing is to be taken back")
	} else if len(b.Changes) > 0 {
		n := changes.CountOf(back.Changes(b.Run)) // of the undo: what the run added is deleted
		n[changes.Added], n[changes.Deleted] = n[changes.Deleted], n[changes.Added]
		a.Say("to be taken back: %s", n)
	}
	a.some("stays", b.Stays)
	a.some("not kept", r.Left)
	for _, ref := range refs {
		words := "is not brought back without --git"
		if git {
			words = "gets its value of before"
		}
		a.Say("git: %s was %s, is %s: %s", ref.Name, refValue(ref.Old), refValue(ref.New), words)
	}
	a.some("git, stays", others)
}

// refValue is the value of a ref for people.
func refValue(text string) string {
	if older := strings.Count(text, "\n"); older > 0 { // of the stash
		return fmt.Sprintf("%s and %d older", text[:12], older)
	}
	if name, is := strings.CutPrefix(text, "ref: "); is {
		return name
	}
	return cmp.Or(text[:min(len(text), 12)], "not there")
}

// some names a few of many paths, each with a reason behind a tab, in one line.
func (a *app) some(what string, list []string) {
	var said []string
	for _, p := range list {
		tab := strings.LastIndex(p, "\t") // a name can have others
		said = append(said, cli.Printable(filepath.Clean(p[:tab]))+" ("+cli.Printable(p[tab+1:])+")")
	}
	if len(said) > 0 {
		a.Say("%s: %s", what, strings.Join(visible.Some(said, 8), ", "))
	}
}

// rewriting notes, for the case that inner is killed, that it writes in a folder what boxes had made there: a
// box may have chosen both. What is returned looks at it as at what a run left.
func rewriting(c *caller.Caller, run *stage.Run, top string) (look func(), err error) {
	all := []string{top}
	w := stage.Watched{Since: runlog.Moment(), Roots: all, Obeyed: all, Unlisted: all}
	global := gitconfig.Environment(c.Getenv).Load()
	for dir := top; dir != "/"; dir = filepath.Dir(dir) {
		for _, p := range host.NamedByGit(dir, global, c.Home) {
			w.Named = append(w.Named, p.Path, p.Real())
		}
	}
	return func() { features.Hold(c, repos.Search{Watched: w, Homes: c.Homes(), Limit: time.Minute}) }, run.Watch(w)
}
