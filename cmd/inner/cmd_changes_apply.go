package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/changes"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/features/waiting"
	"github.com/enr/inner/isolator/ownhome"
	"github.com/enr/inner/isolator/review"
	"github.com/enr/inner/isolator/stage"
)

func (a *app) cmdChangesApply() *cobra.Command {
	var yes, force bool
	var forced []string
	c := &cobra.Command{
		Use: "apply [RUN] [PATH...]", Short: "Write what a run changed to the originals",
		Long: "Write what a run changed to the originals: all of it, or what is below the PATHs. It is listed and\n" +
			"confirmed first. Each file is replaced as a whole or not at all.\n\n" +
			"When an original changed since it was copied, nothing is written, unless --force. What the host\n" +
			"would run or obey (.inner, settings of editors and agents, what settings of git name, and all of .git\n" +
			"but commits, which are checked as those of a box are) is left out, unless --force-path names it.",
		Args: cobra.ArbitraryArgs, ValidArgsFunction: a.completeKept,
		RunE: a.OnHost(func(c *cobra.Command, args []string) error {
			if len(args) == 1 && waiting.Apply(a.Caller, args[0]) &&
				!files.Exists(filepath.Join(stage.Kept(a.InnerHome), args[0])) {
				return nil
			}
			k, list, err := a.keptChanges(c.Context(), args)
			if err != nil {
				return err
			}
			return a.apply(k, list, applyFlags{yes, force, forced})
		}),
	}
	cli.YesFlag(c, &yes)
	c.Flags().BoolVar(&force, "force", false, "write over originals that changed since")
	c.Flags().StringArrayVar(&forced, "force-path", nil, "also apply this protected `PATH` (repeatable)")
	return c
}

type applyFlags struct {
	yes, force bool
	paths      []string
}

// apply lists, asks and writes.
func (a *app) apply(run keptRun, list []changes.Change, f applyFlags) error {
	if err := stillRunning(run); err != nil {
		return err
	}
	k := run.Kept
	list, left, git, err := a.unprotected(k, list, f.paths)
	if err != nil {
		return err
	}
	if len(list)+len(left)+len(git) == 0 {
		a.Say("nothing is different from %s", features.Sources(a.Caller, k))
		return nil
	}
	a.sayLeft(left)
	if len(list)+len(git) == 0 {
		return fault.Refuse(126, "inner changes apply "+k.Record.Run+" --force-path "+cli.Quoted(left[0].Path), "all of these changes are to what the host runs or obeys")
	}
	if err := a.conflicts(k, list, f.force); err != nil {
		return err
	}
	features.ListChanges(a.Caller, k, slices.Concat(list, git), allChanges)
	what := visible.Counted(len(list), "change", "changes")
	if len(git) > 0 {
		what += ", and what was committed,"
	}
	question := fmt.Sprintf("write %s to %s?", what, features.Sources(a.Caller, k))
	if err := a.askFor(question, f.yes, "inner changes apply --yes "+k.Record.Run); err != nil {
		return err
	}
	ctx, stop := features.Interruptible(nil)
	defer stop()
	done, err := review.Apply(ctx, k, list)
	switch {
	case errors.Is(err, review.ErrBusy):
		return fault.Refuse(126, "wait for it to end", "run %s: %v", k.Record.Run, err)
	case err != nil:
		// Each file written so far is complete.
		return fault.Refuse(cli.SignalCode(ctx), "inner changes apply, for the rest",
			"%d of %s written, then: %v", len(done), visible.Counted(len(list), "change", "changes"), err)
	}
	a.Say("wrote %s", visible.Counted(len(done), "change", "changes"))
	if err := review.Applied(k, waiting.BringCopies(a.Caller, k, git)); err != nil {
		return err
	}
	rest, err := k.Compare()
	if err != nil || len(rest) > 0 {
		return err
	}
	a.Say("all of run %s is applied; its copy is gone", k.Record.Run)
	return stage.Discard(a.InnerHome, k.Dir)
}

// sayLeft names what is left out. What is in a folder that is needs no word of its own.
func (a *app) sayLeft(left []changes.Change) {
	var said []string
	for _, c := range left {
		if !slices.ContainsFunc(said, func(dir string) bool { return paths.Below(dir, c.Full()) }) {
			a.Warn("left out, because it is run or obeyed outside the box: %s", c.Name())
			said = append(said, c.Full())
		}
	}
}

// conflicts refuses to write over originals that changed since the copy.
func (a *app) conflicts(k *changes.Kept, list []changes.Change, force bool) error {
	n := 0
	for _, c := range list {
		if c.Clash != "" {
			n++
			a.Warn("%s: %s", c.Name(), c.Clash)
		}
	}
	if n == 0 || force {
		return nil
	}
	return fault.Refuse(126, "name the other paths, or --force to write over these",
		"%s changed outside the box since run %s was given its copy; nothing was written", visible.Counted(n, "original", "originals"), k.Record.Run)
}

// unprotected takes out what is run or obeyed on the host and was not named on
// purpose, and git's own records, of which the commits are brought.
func (a *app) unprotected(k *changes.Kept, list []changes.Change, named []string) (kept, left, git []changes.Change, err error) {
	guard := features.Guard(a.Caller)
	var allowed []changes.Change
	if len(named) > 0 {
		if allowed, err = pick(k, list, named); err != nil {
			return nil, nil, nil, err
		}
	}
	for _, c := range list {
		switch {
		case waiting.FromCopies(k, c):
			git = append(git, c)
		case !guard.Protects(c) || slices.ContainsFunc(allowed, func(x changes.Change) bool { return x.Full() == c.Full() }):
			kept = append(kept, c)
		default:
			left = append(left, c)
		}
	}
	return kept, left, git, nil
}

// Copies that boxes have of files of the project: see package ownhome. They belong to no
// run, and nothing of them is applied.

// listFiles lists the copies that differ from what inner made.
func (a *app) listFiles(list []ownhome.Changed) {
	for _, f := range list {
		a.Say("%s has a %s of its own; yours stays as it is", f.Owner, a.Short(f.Original))
		a.Hint("inner changes show %s", cli.Quoted(f.Original))
	}
}

// changedFiles are the differences at the paths, when all of them are of such files.
func (a *app) changedFiles(named []string) ([]changes.Change, error) {
	var out []changes.Change
	list, err := ownhome.ChangedFiles(a.InnerHome)
	for _, p := range named {
		at, _ := filepath.Abs(p)
		n := len(out)
		for _, f := range list {
			if f.Original == at {
				c, err := review.OfCopy(filepath.Dir(filepath.Dir(at)), at, f.Copy)
				if err != nil {
					return nil, err
				}
				out = append(out, c)
			}
		}
		if len(out) == n {
			return nil, err
		}
	}
	return slices.Clip(out), err
}
