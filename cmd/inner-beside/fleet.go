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
	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/export"
	"github.com/enr/inner/isolator/handover"
	"github.com/enr/inner/isolator/run"
	"github.com/enr/inner/profile"
)

// exportFlags are the flags of inner export.
type exportFlags struct {
	profile, to, name, image, repo, commit, tasks string
	secrets, variables, volumes                   []string
}

func (a *app) cmdExport() *cobra.Command {
	var f exportFlags
	c := &cobra.Command{
		Use: "export -p NAME --to kube|agent-sandbox|podman --image REF@sha256:DIGEST [flags] [-- args]",
		Long: "Write a profile as objects of an engine, to standard output: for kubectl apply or\n" +
			"podman kube play. The same profile and the same flags give the same bytes.\n\n" +
			"What the profile asks for and the engine cannot give is listed, all of it at once, and nothing is\n" +
			"written: exit code 125. What it can give only in part is reported on standard error. docs/fleet.md has\n" +
			"the table of all keys.",
		Args:              cli.AfterDash("the program's arguments go"),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	fl := c.Flags()
	a.ProfileFlag(c, &f.profile)
	fl.StringVar(&f.to, "to", "", "the engine: kube, agent-sandbox or podman")
	fl.StringVar(&f.image, "image", "", "the image, with inner and the program in it: `REF@sha256:DIGEST`")
	fl.StringVar(&f.name, "name", "", "the name of the objects and of the branches of results; the profile's unless given")
	fl.StringVar(&f.repo, "repo", "", "the repository to work on: an https `URL`")
	fl.StringVar(&f.commit, "commit", "", "the commit of it to begin at: the whole `SHA`")
	fl.StringVar(&f.tasks, "tasks", "", "a TOML `FILE` with a [[task]] for each run: repo, commit, prompt")
	fl.StringArrayVar(&f.secrets, "secret", nil,
		"`CAP=NAME`: the Secret with the login of a capability; publish=NAME, checkout=NAME: the one with the token for git (repeatable)")
	fl.StringArrayVar(&f.variables, "secret-env", nil,
		"`VAR=NAME/KEY`: a variable of the box that is a key of a Secret (repeatable)")
	fl.StringArrayVar(&f.volumes, "volume", nil,
		"`PATH=pvc:NAME`: the claim that stands for a mount of the profile, or for the home, ~ (repeatable)")
	_ = c.RegisterFlagCompletionFunc("to", cobra.FixedCompletions([]string{"kube", "agent-sandbox", "podman"}, cobra.ShellCompDirectiveNoFileComp))
	c.RunE = a.OnHost(func(_ *cobra.Command, args []string) error {
		if f.profile == "" || f.to == "" {
			return cli.Usagef("-p and --to are both needed: inner export -p NAME --to kube --image REF@sha256:DIGEST")
		}
		return a.export(f, args)
	})
	return c
}

// export writes the objects to standard output, or lists what does not translate.
func (a *app) export(f exportFlags, args []string) error {
	pl, err := a.Ready()
	if err != nil {
		return err
	}
	p, err := a.Choose(f.profile, pl)
	if err != nil {
		return a.Unusable(err, f.profile)
	}
	r, err := f.request(p, args)
	if err != nil {
		return err
	}
	refused, said := export.Judge(r)
	for _, finding := range refused {
		a.Say("refused: %s", finding)
	}
	text, err := export.Objects(r)
	if err != nil {
		return err
	}
	if err := run.Experimental(p); err != nil {
		return err
	}
	for _, finding := range said {
		a.Say("partly: %s", finding)
	}
	_, err = tell.Raw(a.Out).Write(text)
	return err
}

// request is what the flags ask for.
func (f exportFlags) request(p *profile.Profile, args []string) (*export.Request, error) {
	r := &export.Request{
		Profile: p, Target: export.Target(f.to), Name: f.name, Image: f.image, Args: args, Tasks: []export.Task{{Repo: f.repo, Commit: f.commit}},
	}
	if err := f.claims(r); err != nil {
		return nil, err
	}
	switch {
	case f.tasks != "" && (f.repo != "" || f.commit != ""):
		return nil, cli.Usagef("--tasks and --repo contradict each other: each task has its repository")
	case (f.repo == "") != (f.commit == ""):
		return nil, cli.Usagef("--repo and --commit go together")
	case f.tasks != "":
		data, err := os.ReadFile(f.tasks)
		if err != nil {
			return nil, cli.Usagef("--tasks: %w", err)
		}
		if r.Tasks, err = export.ReadTasks(f.tasks, data); err != nil {
			return nil, err
		}
	}
	if err := r.Check(); err != nil {
		return nil, cli.Misuse(err)
	}
	return r, nil
}

// claims reads --secret, --secret-env and --volume.
func (f exportFlags) claims(r *export.Request) error {
	for _, s := range f.secrets {
		what, name, ok := strings.Cut(s, "=")
		if !ok {
			return cli.Usagef("--secret %q is not CAPABILITY=NAME", s)
		}
		r.Secrets = append(r.Secrets, export.Secret{For: what, Name: name})
	}
	for _, s := range f.variables {
		name, from, ok := strings.Cut(s, "=")
		secret, key, ok2 := strings.Cut(from, "/")
		if !ok || !ok2 {
			return cli.Usagef("--secret-env is not VARIABLE=NAME/KEY") // a value may stand there by mistake
		}
		r.Variables = append(r.Variables, export.Variable{Var: name, Name: secret, Key: key})
	}
	for _, s := range f.volumes {
		path, claim, ok := strings.Cut(s, "=pvc:")
		if !ok {
			return cli.Usagef("--volume %q is not PATH=pvc:NAME", s)
		}
		r.Volumes = append(r.Volumes, export.Volume{Path: path, Claim: claim})
	}
	return nil
}

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
