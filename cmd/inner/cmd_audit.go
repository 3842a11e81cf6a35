package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/isolator/runlog/records"
)

// auditTrust notes what was decided about a profile, a project's config.toml, or
// a whole project.
func (a *app) auditTrust(event, root, path, digest string) {
	a.Audit(runlog.Event{Type: event, Cwd: root, Path: path, Digest: digest})
}

type auditFlags struct {
	types []string
	json  bool
}

func (a *app) cmdAudit() *cobra.Command {
	var f auditFlags
	c := &cobra.Command{
		Use: "audit", Short: "Show what was decided: starts, refusals, answers to allow, bypasses", Args: cobra.NoArgs,
		Long: "Show the audit log, oldest first: a line for every decision. It is kept in ~/.inner/logs,\n" +
			"where no box can see it, in at most five files of 4 MiB; the oldest goes when they are full.\n" +
			"Arguments and values of variables are not in it.\n\n" +
			"Every line has the hash of the line before: inner log audit verify says whether one was edited,\n" +
			"removed or inserted, or the end cut off. The chain has no secret key: whoever runs as you\n" +
			"can rewrite all of it.\n\n" +
			"Types: " + strings.Join(runlog.EventTypes()[:7], ", ") + ",\n" + strings.Join(runlog.EventTypes()[7:], ", ") + ".",
		RunE: a.OnHost(func(_ *cobra.Command, _ []string) error { return a.showAudit(f) }),
	}
	fl := c.Flags()
	fl.StringSliceVar(&f.types, "type", nil, "only events of these types, as `T,T`")
	fl.BoolVar(&f.json, "json", false, "the lines as they are in the log")
	_ = c.RegisterFlagCompletionFunc("type", cobra.FixedCompletions(runlog.EventTypes(), cobra.ShellCompDirectiveNoFileComp))
	c.AddCommand(a.cmdAuditVerify())
	return c
}

func (a *app) showAudit(f auditFlags) error {
	i := slices.IndexFunc(f.types, func(t string) bool { return !slices.Contains(runlog.EventTypes(), t) })
	if i >= 0 {
		return cli.Usagef("--type: %q is not a type of event: those are %s", f.types[i], strings.Join(runlog.EventTypes(), ", "))
	}
	list, _, err := runlog.ReadAudit(a.LogsDir())
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(l runlog.AuditLine) bool {
		return !l.OK || len(f.types) > 0 && !slices.Contains(f.types, l.Type)
	})
	if f.json {
		for _, l := range list {
			if _, err := fmt.Fprintf(a.Out, "%s\n", cli.Printable(string(l.Raw))); err != nil {
				return err
			}
		}
		return nil
	}
	rows := [][]string{{"DATE", "EVENT", "RUN", "PROFILE", "WHAT"}}
	for _, e := range list {
		when := e.Time
		if !e.At.IsZero() {
			when = e.At
		}
		rows = append(rows, []string{when.Local().Format("2006-01-02 15:04:05"), e.Type, cmp.Or(e.Run, "-"), cmp.Or(e.Profile, "-"), records.EventText(e.Event, a.Short)})
	}
	tell.Table(a.Out, rows)
	return nil
}

func (a *app) cmdAuditVerify() *cobra.Command {
	return a.AnswersOnHost(&cobra.Command{
		Use: "verify", Short: "Say whether the audit log is whole", Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		Long: "Follow the chain of the audit log from its oldest line to its head. The exit code is 1, and\n" +
			"the first wrong line is shown, if a line was edited, removed or inserted, or the end cut off.\n\n" +
			"What a killed inner leaves is not an error: a last line without an end, and lines beyond the\n" +
			"head. When the machine stops, the disk may lose the last lines; they are then missing, and\n" +
			"the answer says that the machine was restarted since.",
	}, func(*cobra.Command, []string) (cli.Answer, error) {
		v, err := records.Verify(a.LogsDir())
		return cli.Answer{Value: v, Words: func() { a.printVerified(v) }, Code: cli.OneIf(v.Fault != nil)}, err
	})
}

func (a *app) printVerified(v records.Verdict) {
	for _, note := range v.Notes {
		fmt.Fprintf(a.Out, "note: %s\n", cli.Printable(a.Short(note)))
	}
	switch f := v.Fault; {
	case f != nil && f.Line > 0:
		fmt.Fprintf(a.Out, "not whole: %s:%d: %s\n", cli.Printable(a.Short(f.File)), f.Line, cli.Printable(f.What))
	case f != nil:
		fmt.Fprintf(a.Out, "not whole: %s: %s\n", cli.Printable(a.Short(f.File)), cli.Printable(f.What))
	case v.Lines == 0:
		fmt.Fprintln(a.Out, "whole: no lines")
	default:
		fmt.Fprintf(a.Out, "whole: lines %d to %d, %s to %s\n", v.First, v.Last, v.From, v.To)
	}
}
