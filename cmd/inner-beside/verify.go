package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/run"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/isolator/verify"
	"github.com/enr/inner/profile"
)

type verifyFlags struct {
	profile, only string
	json, attack  bool
	jobs          int
	who           cli.WhoFlags
}

func (a *app) cmdVerify() *cobra.Command {
	var f verifyFlags
	c := &cobra.Command{
		Use: "verify [NAME|./FILE | --as ROLE]", Args: cli.OneProfile(&f.profile),
		Long: "Make the sandbox that `inner run` would make, without running the program, and check from\n" +
			"inside that it is what the profile promises: the built-in checks, then [verify.custom].\n" +
			"Checks of the profile run as sh -c in the box, with its environment and UID.\n\n" +
			"Exit code 1 when a check above info fails, 125 or 126 when the sandbox cannot start.",
		ValidArgsFunction: a.CompleteOneProfile,
	}
	c.RunE = a.OnHost(func(cmd *cobra.Command, _ []string) error {
		if err := f.check(cmd); err != nil {
			return err
		}
		return a.verify(f)
	})
	fl := c.Flags()
	a.ProfileFlag(c, &f.profile)
	f.who.AddRole(a.App, c)
	cli.JSONFlag(c, &f.json)
	fl.BoolVar(&f.attack, "attack", false, "run the escape suite: each attack outside the sandbox first, then inside")
	fl.StringVar(&f.only, "only", "", "with --attack: only the attack of this `NAME`")
	fl.IntVar(&f.jobs, "jobs", 0, "with --attack: how many attacks at once (default: one for each processor)")
	return c
}

// check refuses flags that do not go together.
func (f *verifyFlags) check(cmd *cobra.Command) error {
	if f.jobs < 0 {
		return cli.Usagef("--jobs wants a number above 0, not %d", f.jobs)
	}
	return cmp.Or(cli.GoesWith(cmd, "attack", "only", "jobs"), f.who.Check(cmd))
}

func (a *app) verify(f verifyFlags) error {
	if f.attack && filepath.Base(os.Args[0]) != cli.Attack { // a name of its own for what attacks
		return a.GoOn(cli.Attack, os.Args[3:]...) // see cli.Asked
	}
	call, _, err := a.CallHere(f.profile, f.who, profile.Overrides{}, false)
	if err != nil {
		return a.Unusable(err, f.profile)
	}
	p, c := call.Profile, call.Context
	if f.attack {
		return a.attack(p, c, f)
	}
	start := time.Now()
	report, err := a.examine(p, c)
	e := runlog.Event{Type: runlog.EventVerify, Profile: p.Name, Path: p.Path, Command: "verify", Cwd: c.Cwd, Millis: time.Since(start).Milliseconds()}
	switch {
	case err != nil:
		e.Code, e.Reason = fault.Code(err), err.Error()
	case !report.Conformant:
		e.Code = 1
	}
	a.Audit(e)
	if err != nil {
		a.Tell(err)
		return cli.Exit(fault.Code(err))
	}
	if !f.json {
		a.printVerdicts(report)
	} else if err := a.PrintJSON(report); err != nil {
		return err
	}
	return cli.ExitCode(cli.OneIf(!report.Conformant))
}

// examine prepares a run, puts the checks in the place of the program, and collects the
// answers.
func (a *app) examine(p *profile.Profile, c profile.Context) (verify.Report, error) {
	var report verify.Report
	rc, err := settings.Resolve(p, c)
	if err != nil {
		return report, err
	}
	if _, err := run.Program(a.Caller, run.Named(a.Caller, rc)); fault.Code(err) == launch.CodeNotFound && fault.AsRefusal(err) != nil {
		// The checks do not need it, and it adds nothing to the box.
		a.Warn("%v; the sandbox is checked without it", err)
		c.Overrides.Entrypoint = "/bin/sh"
	}
	_, err = run.Run(a.Settings, run.Call{Profile: p, Context: c, Mode: features.Checks, Instead: func(b *run.Prepared) error {
		subject := verify.Subject{Config: b.Spec, Facts: b.Facts, Staged: b.Assets, Plan: b.Plan}
		exam, err := verify.Open(b.Spec.Name, verify.Checks(subject), b.Spec.Checks,
			b.Spec.Entrypoint.Interactive && !b.Spec.SessionBox)
		if err != nil {
			return fault.Refuse(125, "", "the checks cannot be prepared: %v", err)
		}
		defer exam.Close()
		res := b.Launch(exam.Options(), exam.Plan)
		report = exam.Report()
		if !res.Started {
			return run.StartFailure(res)
		}
		return nil
	}})
	return report, err
}

// mark is the beginning of a line on what was tried: it went wrong, nobody knows, it is as it should be, or
// none of that.
func (a *app) mark(wrong, unknown, right bool) string {
	switch {
	case wrong:
		return cli.Paint(a.Out, "31", "[!!]")
	case unknown:
		return cli.Paint(a.Out, "31", "[??]")
	case right:
		return cli.Paint(a.Out, "32", "[ok]")
	}
	return cli.Paint(a.Out, "33", "[--]")
}

func withDetail(what, detail string) string { return strings.TrimSuffix(what+": "+detail, ": ") }

func (a *app) printVerdicts(r verify.Report) {
	for _, v := range r.Checks {
		mark := a.mark(v.Result == verify.Fail && v.Bad(), v.Result == verify.Unknown && v.Bad(), v.Result == verify.Pass)
		fmt.Fprintf(a.Out, "%s %-8s %-22s %s\n", mark, v.Severity, cli.Printable(v.ID),
			cli.Printable(withDetail(v.What, v.Detail)))
		if v.Hint != "" {
			fmt.Fprintf(a.Out, "     %-8s %-22s hint: %s\n", "", "", cli.Printable(v.Hint))
		}
	}
	fmt.Fprintf(a.Out, "\n%d checks: %d passed, %d failed, %d for information\n",
		len(r.Checks), r.Passed, r.Failed, r.Lifted)
	if r.Conformant {
		fmt.Fprintf(a.Out, "profile %q: the sandbox is what the profile promises\n", r.Profile)
	} else {
		fmt.Fprintf(a.Out, "profile %q: the sandbox is not what the profile promises\n", r.Profile)
	}
}
