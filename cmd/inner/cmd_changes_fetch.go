package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/changes"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/handover"
	"github.com/enr/inner/isolator/review"
)

func (a *app) cmdChangesFetch() *cobra.Command {
	var from string
	c := &cobra.Command{
		Use: "fetch FLEET [--from REMOTE]", Short: "Bring what the runs of a fleet pushed, to look at it and apply it", Args: cobra.ExactArgs(1),
		Long: "Bring the branches inner/FLEET/INDEX, which the runs of inner export --name FLEET pushed, from a remote of the\n" +
			"repository here. Each becomes a kept run, for inner changes show and apply; no branch of yours is touched.\n" +
			"What is in them is a box's: it is checked as that of a box here, and only apply writes it to your files.",
		RunE: a.OnHost(func(_ *cobra.Command, args []string) error { return a.fetchChanges(args[0], from) }),
	}
	c.Flags().StringVar(&from, "from", "origin", "the `REMOTE`: its name, a URL or a folder")
	return c
}

// fetchChanges makes a kept run of each branch that is not one already.
func (a *app) fetchChanges(fleet, from string) error {
	pl, err := a.Ready()
	if err != nil {
		return err
	}
	ctx, stop := features.Interruptible(nil)
	defer stop()
	refuse := func(err error) error { return &fault.Refusal{Code: 1, Msg: err.Error()} }
	git, err := a.hostGit()
	if err != nil {
		return err
	}
	top, err := git.Top(ctx, pl.Cwd)
	if err != nil {
		return refuse(err)
	}
	top = files.Real(top)
	if from, err = git.Remote(ctx, top, from); err != nil {
		return refuse(err)
	}
	if !strings.Contains(from, ":") {
		from = a.Absolute(from, pl.Cwd)
	}
	branches, err := git.Fetch(ctx, top, from, fleet)
	if err != nil {
		return refuse(err)
	}
	defer branches.Close()
	if len(branches.List) == 0 {
		return &fault.Refusal{Code: 1, Msg: "there is no branch inner/" + fleet + "/INDEX", Hint: "git ls-remote " + from}
	}
	return a.keepBranches(ctx, branches, top, fleet)
}

// keepBranches makes kept runs of branches. One that cannot be is said, and the others are
// made.
func (a *app) keepBranches(ctx context.Context, branches *handover.Branches, top, fleet string) error {
	list, err := review.List(a.InnerHome)
	if err != nil {
		return err
	}
	failed := false
	for _, b := range branches.List {
		record := changes.Record{Profile: fleet, Command: b.Ref + " " + b.Commit}
		if i := slices.IndexFunc(list, func(k *changes.Kept) bool { return k.Record.Command == record.Command }); i >= 0 {
			a.Say("%s is run %s already", b.Ref, list[i].Record.Run)
			continue
		}
		versions, err := branches.Versions(ctx, b)
		if err != nil {
			a.Warn("%v: it is left out", err)
			failed = true
			continue
		}
		k, changed, err := review.Bring(a.InnerHome, a.StageBase(), top, record, versions)
		switch {
		case err != nil:
			return err
		case len(changed) == 0:
			a.Say("%s changes nothing here", b.Ref)
		default:
			a.Say("%s is run %s: %s", b.Ref, k.Record.Run, changes.CountOf(changed))
			a.Hint("inner changes show %s", k.Record.Run)
		}
	}
	if failed {
		return cli.Exit(1)
	}
	return nil
}
