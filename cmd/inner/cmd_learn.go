package main

import (
	"bytes"
	"os"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/learn"
	"github.com/enr/inner/isolator/needs"
	"github.com/enr/inner/profile"
)

type learnFlags struct {
	profile, workdir, output string
	json                     bool
}

func (a *app) cmdLearn() *cobra.Command {
	var f learnFlags
	c := &cobra.Command{
		Use: "learn [-p NAME|./FILE] [flags] [-- command [args]]", Short: "Run a program in a profile's sandbox and print the minimal profile it needed",
		Long: "Run a program, or the profile's own, in the profile's sandbox, and print at the end the profile\n" +
			"lines that it needed and did not have: hosts, files outside the project, variables. Nothing is written to\n" +
			"the profile. The files are the profile's: what it hides stays hidden, and is named. Of the\n" +
			"network, every public host is allowed, whatever the profile says.\n\n" +
			"Secrets are named and never suggested. Which variables a program reads cannot be seen: those\n" +
			"are suggested whose name is in a program that ran, or in a file it opened, which is a guess.\n\n" +
			"The lines go to standard error after the program has ended, or to --output. The exit code is\n" +
			"the program's.",
		Args: afterDash("the command goes"), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.onHost(func(_ *cobra.Command, args []string) error { return a.learn(f, args) }),
	}
	fl := c.Flags()
	a.profileFlag(c, &f.profile)
	fl.StringVarP(&f.workdir, "workdir", "w", "", "working folder, mounted read-write")
	fl.StringVarP(&f.output, "output", "o", "", "write the lines to this new `FILE`")
	jsonFlag(c, &f.json)
	return c
}

func (a *app) learn(f learnFlags, command []string) error {
	if err := learn.Supported(); err != nil {
		return fault.Refuse(125, "", "inner learn does not work here: %v", err)
	}
	if f.output != "" {
		if _, err := os.Lstat(f.output); err == nil {
			return usagef("--output %q already exists", f.output)
		}
	}
	o := profile.Overrides{Workdir: f.workdir}
	if len(command) > 0 {
		o.Entrypoint, o.Extra = command[0], command[1:]
	}
	call, pl, err := a.callHere(f.profile, whoFlags{}, o)
	if err != nil {
		if call.Profile == nil && pl.Cwd != "" {
			a.auditUnusable(f.profile, pl.Cwd, err)
		}
		return a.unusable(err, f.profile)
	}
	var all *needs.Needs // nil until the program has ended
	observe := &features.Observe{Observer: learn.New(), Hosts: true, Done: func(run *features.Run, o *features.Outcome) error {
		all = needs.Of(run, o)
		return nil
	}}
	defer observe.Close()
	call.Word, call.Observe = "learn", observe
	out := a.Process.Run(call)
	if all == nil {
		return exit(out.Code) // it has not run, which was said
	}
	if err := a.printLearned(f, all); err != nil {
		a.Fail(err)
	}
	return exit(out.Code)
}

func (a *app) printLearned(f learnFlags, all *needs.Needs) error {
	text := all.Lines(a.Short)
	if f.json {
		var b bytes.Buffer
		if err := tell.JSON(&b, all); err != nil {
			return err
		}
		text = b.Bytes()
	}
	if f.output != "" {
		return createFile(f.output, text, 0o600)
	}
	_, err := a.stderr.Write(text)
	return err
}
