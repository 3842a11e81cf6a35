package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/escape/shown"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/isolator/runlog/records"
)

func (a *app) cmdLog() *cobra.Command {
	return cli.Noun(&cobra.Command{Use: "log", Short: "Show and remove the records of past runs"},
		a.cmdLogList(), a.cmdLogShow(), a.cmdLogPlay(), a.cmdLogClean())
}

// runs returns the records of past runs, newest first.
func (a *app) runs() []records.Record {
	folders := runlog.Folders(a.LogsDir())
	if cfg, err := a.GlobalConfig(); err == nil && cfg.Log != "" {
		if dir := a.Absolute(cfg.Log, ""); !slices.Contains(folders, dir) {
			folders = append(folders, dir)
		}
	}
	runs, err := records.List(folders)
	if err != nil {
		a.Warn("%v", err)
	}
	return runs
}

// findRun finds a run by its id, the beginning of it, or "last".
func (a *app) findRun(name string) (records.Record, error) {
	runs := a.runs()
	if name == "last" && len(runs) > 0 {
		return runs[0], nil
	}
	return byID(runs, name, func(r records.Record) string { return r.ID },
		"inner log list", "there is no record of a run %q")
}

// byID is what has an id, or the only one whose id begins or ends so; where there is none the error says so.
func byID[T any](list []T, name string, id func(T) string, hint, none string) (one T, err error) {
	var found []T
	for _, t := range list {
		switch it := id(t); {
		case it == name:
			return t, nil
		case name != "" && (strings.HasPrefix(it, name) || strings.HasSuffix(it, "-"+name)):
			found = append(found, t)
		}
	}
	switch len(found) {
	case 0:
		return one, fault.Refuse(1, hint, none, name)
	case 1:
		return found[0], nil
	}
	return one, cli.Usagef("%q begins the ids of %d runs, %s and %s among them", name,
		len(found), id(found[0]), id(found[1]))
}

// completeRuns offers the ids of past runs.
func (a *app) completeRuns(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	words, how := cli.CompleteFirst(a.runWords)(c, args, word)
	return words, how | cobra.ShellCompDirectiveKeepOrder
}

func (a *app) runWords() (words []string) {
	for i, r := range a.runs() {
		what := fmt.Sprintf("%s, %s, %s", cli.Printable(r.Start.Profile), cli.Printable(commandOf(r)), stateOf(r))
		if i == 0 {
			words = append(words, "last\t"+what)
		}
		words = append(words, r.ID+"\t"+what)
	}
	return words
}

// stateOf is the column EXIT.
func stateOf(r records.Record) string {
	switch {
	case r.State != records.Ended:
		return r.State
	case r.End.TimedOut:
		return "timeout"
	}
	return strconv.Itoa(r.End.Code)
}

func (a *app) cmdLogList() *cobra.Command {
	return a.Answers(&cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List past runs, newest first", Args: cobra.NoArgs,
	}, func(*cobra.Command, []string) (cli.Answer, error) {
		list := a.runs()
		rows := [][]string{{"RUN", "DATE", "PROFILE", "COMMAND", "EXIT", "TIME", "SIZE"}}
		for _, r := range list {
			rows = append(rows, []string{r.ID, when(r), cmp.Or(r.Start.Profile, "?"), commandOf(r), stateOf(r), took(r), visible.Size(r.Size)})
		}
		return cli.Answer{Value: append([]records.Record{}, list...), Words: func() { cli.Table(a.Out, rows) }}, nil
	})
}

// commandOf is the column COMMAND: the word that was typed, or the program where that was a
// command of inner.
func commandOf(r records.Record) string {
	if c := r.Start.Command; c != "" && c != "run" && c != "learn" || r.Start.Program == "" {
		return cmp.Or(c, "?")
	}
	return filepath.Base(r.Start.Program)
}

func when(r records.Record) string {
	if r.Start.Time.IsZero() {
		return "?"
	}
	return r.Start.Time.Local().Format("2006-01-02 15:04")
}

func took(r records.Record) string {
	if r.State != records.Ended {
		return "-"
	}
	return runlog.Roughly(time.Duration(r.End.Millis) * time.Millisecond)
}

func (a *app) cmdLogShow() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "show [RUN]", Short: "Show the record of a run and what it wrote",
		Long: "Show the record of a run and, as plain text, what was kept of its output: what scrolled off the\n" +
			"screen, and what the screen showed at the end. What a program erased is in the file alone.\n" +
			"It does not say which hidden places the program asked for: inner run --explain-denials does.\n\n" +
			"RUN is the id of a run, the beginning of one, or \"last\", which is the default.",
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: a.completeRuns,
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := a.findRun(append(args, "last")[0])
			if err != nil {
				return err
			}
			if asJSON {
				return a.PrintJSON(r)
			}
			return a.showRun(r)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "as JSON, without the output")
	return c
}

// showRun writes a record for people.
func (a *app) showRun(r records.Record) error {
	var rows [][]string
	row := func(name, format string, args ...any) {
		rows = append(rows, []string{name, fmt.Sprintf(format, args...)})
	}
	s, e := r.Start, r.End
	row("run", "%s", r.ID)
	if r.State != records.Unknown {
		row("started", "%s", s.Time.Local().Format("2006-01-02 15:04:05 -0700"))
		row("profile", "%s (%s)", s.Profile, a.Short(s.Path))
		row("digest", "%s", s.Digest)
		row("command", "%s → %s, %d arguments (not kept)", s.Command, s.Program, s.Args)
		row("folder", "%s", a.Short(s.Cwd))
		row("network", "%s", s.Network)
		for _, l := range []struct {
			name string
			list []string
		}{{"allow", s.Allow}, {"clones", s.Clones}} {
			if len(l.list) > 0 {
				row(l.name, "%s", strings.Join(l.list, ", "))
			}
		}
	}
	switch r.State {
	case records.Ended:
		a.showEnd(e, took(r), row)
	case records.Running:
		row("ended", "not yet")
	case records.Killed:
		row("ended", "unknown: inner was killed, or the machine stopped")
	default:
		row("ended", "unknown: the record cannot be read")
	}
	row("kept in", "%s", a.Short(r.Folder))
	cli.Table(a.Out, rows)
	return a.showOutput(r)
}

// showEnd prints how a run ended, and what it left.
func (a *app) showEnd(e runlog.End, took string, row func(name, format string, args ...any)) {
	row("ended", "after %s: %s", took, runlog.HowEnded(e))
	if len(e.Blocked) > 0 {
		row("blocked", "%s", runlog.BlockedText(e.Blocked))
	}
	for _, word := range e.Granted {
		row("given meanwhile", "%s", word)
	}
	for _, h := range e.Network {
		row("host", "%s", records.HostLine(h))
	}
	if e.MoreHosts > 0 {
		row("host", "and %d more", e.MoreHosts)
	}
	a.showChanged(e.Changes, row)
	for _, p := range e.Aside {
		row("moved aside", "%s", a.Short(p))
	}
	for _, r := range e.Rewound {
		text, command := r.Words()
		row("git", "%s", text)
		row("", "%s", command)
	}
	if e.MoreRewound > 0 {
		row("git", "and %d more refs were deleted or moved so", e.MoreRewound)
	}
	for _, p := range e.Later {
		row("runs later", "%s", a.Short(p))
	}
	if o := e.Output; o != nil && (o.Cut || o.Error != "") {
		row("output", "cut: %s of %s kept %s", visible.Size(o.Kept), visible.Size(o.Seen), o.Error)
	}
}

func (a *app) showChanged(c *runlog.Changes, row func(name, format string, args ...any)) {
	if c == nil {
		return
	}
	for _, p := range c.Files {
		row("changed", "%s", a.Short(p))
	}
	for _, p := range c.Gone {
		row("changed", "%s/ (something was removed or renamed)", a.Short(p))
	}
	if c.More > 0 || c.Partly {
		row("changed", "and more")
	}
}

// showOutput writes what was kept of a run's output as plain text: what scrolled off the screen, and
// what was on it at the end.
func (a *app) showOutput(r records.Record) error {
	f, recording, err := r.Output()
	if errors.Is(err, fs.ErrNotExist) {
		_, err = fmt.Fprintf(a.Out, "\nno output was kept: it did not go to a terminal, or there was none\n")
		return err
	}
	if err != nil {
		return err
	}
	defer f.Close()
	fmt.Fprintln(a.Out)
	screen := shown.New(a.Out)
	if recording {
		err = records.ReadCast(f, func(m records.CastEvent) error {
			screen.Resize(m.Rows, m.Cols)
			_, err := io.WriteString(screen, m.Output)
			return err
		})
	} else {
		_, err = io.Copy(screen, f)
	}
	return errors.Join(err, screen.Close())
}

func (a *app) cmdLogClean() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "clean", Short: "Remove the records of past runs",
		Long: "Remove the records of past runs. Runs that are still running stay, and so does the list of refusals\n" +
			"and bypasses. With keep under [output] of config.toml old records go by themselves.",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.logClean(yes) },
	}
	cli.YesFlag(c, &yes)
	return c
}

func (a *app) logClean(yes bool) error {
	runs := slices.DeleteFunc(a.runs(), func(r records.Record) bool { return r.State == records.Running })
	var size int64
	for _, r := range runs {
		size += r.Size
	}
	if len(runs) == 0 {
		a.Say("there are no records")
		return nil
	}
	text := fmt.Sprintf("Remove the records of %d runs (%s)?", len(runs), visible.Size(size))
	if err := a.confirm(question{text: text, yes: yes, hint: "inner log clean --yes", no: "nothing was removed"}); err != nil {
		return err
	}
	var errs []error
	for _, r := range runs {
		if err := r.Remove(); err != nil {
			errs = append(errs, err)
		}
	}
	a.Say("removed the records of %d runs", len(runs)-len(errs))
	return errors.Join(errs...)
}

// auditTrust notes what was decided about a profile, a project's config.toml, or
// a whole project.
func (a *app) auditTrust(event, root, path, digest string) {
	a.Audit(runlog.Event{Type: event, Cwd: root, Path: path, Digest: digest})
}

// revoke forgets what was decided about a profile of a project.
func (a *app) revoke(root, path string) error {
	err := a.Trust().Revoke(root, path)
	if err == nil {
		a.auditTrust(runlog.EventRevoke, root, path, "")
	}
	return err
}

func (a *app) cmdAudit() *cobra.Command {
	var types []string
	var asJSON bool
	c := &cobra.Command{
		Use: "audit", Short: "Show what was decided: starts, refusals, answers to allow, bypasses", Args: cobra.NoArgs,
		Long: "Show the audit log, oldest first: a line for every decision. It is kept in ~/.inner/logs,\n" +
			"where no box can see it, in at most five files of 4 MiB; the oldest goes when they are full.\n" +
			"Arguments and values of variables are not in it.\n\n" +
			"Every line has the hash of the line before: inner log audit verify says whether one was edited,\n" +
			"removed or inserted, or the end cut off. The chain has no secret key: whoever runs as you\n" +
			"can rewrite all of it.\n\n" +
			"Types: " + strings.Join(runlog.EventTypes()[:7],
			", ") + ",\n" + strings.Join(runlog.EventTypes()[7:], ", ") + ".",
		RunE: a.OnHost(func(_ *cobra.Command, _ []string) error { return a.showAudit(types, asJSON) }),
	}
	fl := c.Flags()
	fl.StringSliceVar(&types, "type", nil, "only events of these types, as `T,T`")
	fl.BoolVar(&asJSON, "json", false, "the lines as they are in the log")
	_ = c.RegisterFlagCompletionFunc("type", cobra.FixedCompletions(runlog.EventTypes(), cobra.ShellCompDirectiveNoFileComp))
	c.AddCommand(a.cmdAuditVerify())
	return c
}

func (a *app) showAudit(types []string, asJSON bool) error {
	i := slices.IndexFunc(types, func(t string) bool { return !slices.Contains(runlog.EventTypes(), t) })
	if i >= 0 {
		return cli.Usagef("--type: %q is not a type of event: those are %s", types[i],
			strings.Join(runlog.EventTypes(), ", "))
	}
	list, _, err := runlog.ReadAudit(a.LogsDir())
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(l runlog.AuditLine) bool {
		return !l.OK || len(types) > 0 && !slices.Contains(types, l.Type)
	})
	if asJSON {
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
	cli.Table(a.Out, rows)
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
