package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/export"
	"github.com/enr/inner/isolator/handover"
)

// The commands of the containers beside the box. Nobody types them, so help does not list them.

// gitToken is the variable that has the token of these containers.
const gitToken = "INNER_GIT_TOKEN"

// handoverTime is how long a container may take to fetch, or to push.
const handoverTime = 8 * time.Minute

func (a *app) cmdCheckout() *cobra.Command {
	var task string
	c := &cobra.Command{
		Use: "checkout --task FILE DIR", Short: "In a pod: put the repository of a task at its commit", Hidden: true,
		Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.onHost(func(_ *cobra.Command, args []string) error {
			repo, commit, err := readTask(task)
			if err != nil {
				return err
			}
			syscall.Umask(0o077) // see internal/helper
			ctx, stop := context.WithTimeout(context.Background(), handoverTime)
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
		Use: "publish --task FILE --ref REF BUNDLE", Short: "In a pod: check the bundle that a run left, and push it", Hidden: true,
		Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.onHost(func(_ *cobra.Command, args []string) error {
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
			ctx, stop := context.WithTimeout(context.Background(), handoverTime)
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
		return "", "", usagef("--task: %w", err)
	}
	repo, commit, _ = strings.Cut(strings.TrimSuffix(string(data), "\n"), " ")
	if err := export.CheckRepo(repo, commit); err != nil {
		return "", "", usagef("--task %q: %w", path, err)
	}
	return repo, commit, nil
}

// beginBundle finds out where a run with --bundle begins; nil without the flag.
func beginBundle(dir, bundle string) (*handover.Leaving, error) {
	if bundle == "" {
		return nil, nil
	}
	return handover.Begin(context.Background(), dir, bundle)
}

// endBundle writes the bundle, and returns the exit code: that of the program, unless its work
// could not be kept.
func (a *app) endBundle(l *handover.Leaving, code int) int {
	if l == nil {
		return code
	}
	ctx, stop := context.WithTimeout(context.Background(), handoverTime)
	defer stop()
	switch err := l.End(ctx); {
	case err == nil:
		a.Say("the commits of the run are in %s", l.Bundle)
		return code
	case errors.Is(err, handover.ErrNothing):
		a.Say("the run made no commits, so there is no bundle")
		return code
	default:
		a.Warn("the bundle cannot be written: %v", err)
		return cmp.Or(code, 1)
	}
}
