package main

import (
	"bytes"
	"os"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/learn"
	"github.com/enr/inner/profile"
)

type learnFlags struct {
	profile, workdir, output string
	json                     bool
}

func (a *app) cmdLearn() *cobra.Command {
	var f learnFlags
	c := &cobra.Command{
		Use: "learn [-p NAME|./FILE] [flags] [-- command [args]]",
		Long: "Run a program, or the profile's own, in the profile's sandbox, and print at the end the profile\n" +
			"lines that it needed and did not have: hosts, files outside the project, variables. Nothing is written to\n" +
			"the profile. The files are the profile's: what it hides stays hidden, and is named. Of the\n" +
			"network, every public host is allowed, whatever the profile says.\n\n" +
			"Secrets are named and never suggested. Which variables a program reads cannot be seen: those\n" +
			"are suggested whose name is in a program that ran, or in a file it opened, which is a guess.\n\n" +
			"The lines go to standard error after the program has ended, or to --output. The exit code is\n" +
			"the program's.",
		Args: cli.AfterDash("the command goes"),
		RunE: a.OnHost(func(_ *cobra.Command, args []string) error { return a.learn(f, args) }),
	}
	fl := c.Flags()
	a.ProfileFlag(c, &f.profile)
	fl.StringVarP(&f.workdir, "workdir", "w", "", "working folder, mounted read-write")
	fl.StringVarP(&f.output, "output", "o", "", "write the lines to this new `FILE`")
	cli.JSONFlag(c, &f.json)
	return c
}

func (a *app) learn(f learnFlags, command []string) error {
	if err := learn.Supported(); err != nil {
		return fault.Refuse(125, "", "inner learn does not work here: %v", err)
	}
	if f.output != "" {
		if _, err := os.Lstat(f.output); err == nil {
			return cli.Usagef("--output %q already exists", f.output)
		}
	}
	o := profile.Overrides{Workdir: f.workdir}
	if len(command) > 0 {
		o.Entrypoint, o.Extra = command[0], command[1:]
	}
	call, pl, err := a.CallHere(f.profile, cli.WhoFlags{}, o, false)
	if err != nil {
		if call.Profile == nil && pl.Cwd != "" {
			a.AuditUnusable(f.profile, pl.Cwd, err)
		}
		return a.Unusable(err, f.profile)
	}
	var all *learn.Needs // nil until the program has ended
	seen := learn.New()
	defer seen.Close()
	observe := &features.Observe{Observer: seen, Hosts: true, Done: func(run *features.Run, o *features.Outcome) error {
		all = learn.NeedsOf(seen, run, o)
		return nil
	}}
	call.Word, call.Observe = "learn", observe
	out := a.Process.Run(call)
	if all == nil {
		return cli.Exit(out.Code) // it has not run, which was said
	}
	if err := a.printLearned(f, all); err != nil {
		a.Fail(err)
	}
	return cli.Exit(out.Code)
}

func (a *app) printLearned(f learnFlags, all *learn.Needs) error {
	text := all.Lines(a.Short)
	if f.json {
		var b bytes.Buffer
		if err := cli.JSON(&b, all); err != nil {
			return err
		}
		text = b.Bytes()
	}
	if f.output != "" {
		return cli.CreateFile(f.output, text, 0o600)
	}
	_, err := a.Err.Write(text)
	return err
}
