package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/export"
	"github.com/enr/inner/isolator/handover"
)

// The commands of the containers beside the box. Nobody types them, so help does not list them.

// gitToken is the variable that has the token of these containers.
const gitToken = "INNER_GIT_TOKEN"

func (a *app) cmdCheckout() *cobra.Command {
	var task string
	c := &cobra.Command{
		Use:  "checkout --task FILE DIR",
		Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.OnHost(func(_ *cobra.Command, args []string) error {
			repo, commit, err := readTask(task)
			if err != nil {
				return err
			}
			syscall.Umask(0o077) // see internal/helper
			ctx, stop := context.WithTimeout(context.Background(), cli.HandoverTime)
			defer stop()
			if err := (handover.Git{Token: os.Getenv(gitToken)}).Checkout(ctx, repo, commit, args[0]); err != nil {
				return fault.Refuse(125, "", "%v", err)
			}
			a.Say("%s is at %s", repo, commit)
			return nil
		}),
	}
	c.Flags().StringVar(&task, "task", "", "a `FILE` with the repository and the commit, in one line")
	return c
}

func (a *app) cmdPublish() *cobra.Command {
	var task, ref, run string
	var wait bool
	c := &cobra.Command{
		Use:  "publish --task FILE --ref REF BUNDLE",
		Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.OnHost(func(_ *cobra.Command, args []string) error {
			repo, commit, err := readTask(task)
			if err != nil {
				return err
			}
			if wait { // the engine ends the containers beside the box when that has ended
				end := make(chan os.Signal, 1)
				signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
				<-end
			}
			syscall.Umask(0o077)
			ctx, stop := context.WithTimeout(context.Background(), cli.HandoverTime)
			defer stop()
			r := handover.Result{Bundle: args[0], Repo: repo, Commit: commit, Ref: ref, Run: run}
			head, err := handover.Git{Token: os.Getenv(gitToken)}.Publish(ctx, r)
			switch {
			case errors.Is(err, handover.ErrNothing):
				a.Say("the run left nothing to push")
				return nil
			case err != nil:
				return fault.Refuse(1, "", "not pushed: %v", err)
			}
			a.Say("pushed %s as %s of %s", head, ref, repo)
			return nil
		}),
	}
	c.Flags().StringVar(&task, "task", "", "a `FILE` with the repository and the commit, in one line")
	c.Flags().StringVar(&ref, "ref", "", "the branch to push to: refs/heads/inner/`FLEET/INDEX`")
	c.Flags().StringVar(&run, "run", "", "what this run is called in each try: a branch that an earlier one made is replaced")
	c.Flags().BoolVar(&wait, "wait", false, "until the container is told to end")
	return c
}

// readTask reads the file of a task: repository and commit.
func readTask(path string) (repo, commit string, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", "", cli.Usagef("--task: %w", err)
	}
	repo, commit, _ = strings.Cut(strings.TrimSuffix(string(data), "\n"), " ")
	if err := export.CheckRepo(repo, commit); err != nil {
		return "", "", cli.Usagef("--task %q: %w", path, err)
	}
	return repo, commit, nil
}
