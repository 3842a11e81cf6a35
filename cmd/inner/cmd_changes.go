package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/lazy"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/changes"
	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/features/waiting"
	"github.com/enr/inner/isolator/ownhome"
	"github.com/enr/inner/isolator/review"
	"github.com/enr/inner/isolator/stage"
	"github.com/enr/inner/isolator/undo"
	"github.com/enr/inner/isolator/undo/back"
)

// allChanges is how many changes the question before applying lists.
const allChanges = 200

func (a *app) cmdChanges() *cobra.Command {
	return cli.Noun(&cobra.Command{
		Use:   "changes",
		Short: "Look at the kept copies of past runs, apply what they changed, or drop them",
		Long: "Look at the kept copies of past runs, apply what they changed, or drop them.\n\n" +
			"A safe-rw mount works on a copy. With `inner run --keep` or [output] review = true the copy stays\n" +
			"after the run. RUN is the id of a run, or the beginning of one with the day, or its last six\n" +
			"characters; without it the latest is meant. A PATH is one that show prints, or an absolute one (./20260102 for\n" +
			"what could be a run); a folder means all that is in it.\n\n" +
			"Only apply ever writes to an original. In a home of its own a box also has copies of files that its\n" +
			"agent writes in the project (.claude/settings.local.json); list names those that changed, and show\n" +
			"their path shows how.",
	}, a.cmdChangesList(), a.cmdChangesShow(), a.cmdChangesApply(), a.cmdChangesDiscard())
}

func (a *app) cmdChangesList() *cobra.Command {
	return a.AnswersOnHost(&cobra.Command{
		Use: "list", Short: "List the runs whose copies are kept", Args: cobra.NoArgs,
	}, func(c *cobra.Command, _ []string) (cli.Answer, error) {
		list, err := a.kept(c.Context())
		if err != nil {
			return cli.Answer{}, err
		}
		rows := make([]keptRow, 0, len(list))
		for _, k := range list {
			rows = append(rows, keptRow{k.Record, review.State(k.Kept)})
		}
		own, err := ownhome.ChangedFiles(a.InnerHome)
		return cli.Answer{Value: rows, Words: func() { a.printKept(rows, list, own) }}, err
	})
}

// keptRun is a run of which something is kept: the copies that it worked on, or what it changed in place.
type keptRun struct {
	*changes.Kept
	inPlace *undo.Run
}

// kept are these runs, the oldest first. Of those that worked in place and whose end nobody saw the changes are
// looked at now.
func (a *app) kept(ctx context.Context) (list []keptRun, err error) {
	copies, err := review.List(a.InnerHome)
	for _, k := range copies {
		list = append(list, keptRun{Kept: k})
	}
	for _, top := range back.Tops(a.InnerHome) {
		p := features.UndoProject(a.Caller, top)
		runs, errRuns := back.Runs(ctx, p)
		if errRuns != nil {
			a.Warn("%s: %v", a.Short(top), errRuns)
		}
		for _, r := range runs {
			list = append(list, keptRun{&changes.Kept{Record: changes.Record{
				Run: r.Run, Profile: cmp.Or(r.Profile,
					"undo of "+r.Undoes), Command: r.Command, Begun: r.Begun, Ended: &r.Ended, Count: changes.CountOf(back.Changes(r)),
				Copies: []changes.Copy{{Source: changes.Path(top), Dest: changes.Path(top)}},
			}}, r})
		}
	}
	slices.SortStableFunc(list, func(x, y keptRun) int { return x.Record.Begun.Compare(y.Record.Begun) })
	return list, err
}

// here reports whether a run worked in this project, or in a folder above: one that worked on copies counts everywhere.
func (a *app) here(k keptRun) bool {
	pl, err := a.Here()
	return k.inPlace == nil || err == nil && (paths.Below(string(k.inPlace.Top), files.Real(pl.Cwd)) || pl.Root() != "" && paths.Below(files.Real(pl.Root()), string(k.inPlace.Top)))
}

// keptRow is one line of the list.
type keptRow struct {
	changes.Record
	State string `json:"state"` // running, ended, killed, or damaged
}

// printKept lists the kept copies, the git directories that are kept, and the files that
// boxes have copies of.
func (a *app) printKept(rows []keptRow, list []keptRun, own []ownhome.Changed) {
	gits := waiting.Gits(a.InnerHome)
	if len(rows) > 0 {
		table := [][]string{{"RUN", "WHEN", "PROFILE", "CHANGES", "OF"}}
		for i, r := range rows {
			what := r.State
			if r.Count != nil {
				what = r.Count.String()
			}
			table = append(table, []string{r.Run, r.Begun.Local().Format("2006-01-02 15:04"), cmp.Or(r.Profile, "?"), what, features.Sources(a.Caller, list[i].Kept)})
		}
		cli.Table(a.Out, table)
	} else if len(gits)+len(own) == 0 {
		a.Say("no copies are kept")
	}
	for _, k := range gits {
		a.Say("the git directory of run %s is kept: %s", k.Run, strings.Join(k.Lines, "; "))
		a.Hint("inner changes apply %s     # tries again", k.Run)
		a.Hint("inner changes discard %s", k.Run)
	}
	a.listFiles(own)
}

func (a *app) cmdChangesShow() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "show [RUN] [PATH...]", Short: "Show what a run changed, as a diff against the originals",
		Long: "Show what a run changed, as a diff against the originals, and which settings of git boxes changed for\n" +
			"themselves in the repository here. It is a patch: inner changes show | git apply --stat sums it up.",
		Args: cobra.ArbitraryArgs, ValidArgsFunction: a.completeKept,
		RunE: a.OnHost(func(c *cobra.Command, args []string) error {
			if own, err := a.changedFiles(args); err != nil || len(own) > 0 {
				if err == nil && asJSON {
					return a.PrintJSON(a.jsonChanges(own))
				}
				return cmp.Or(err, a.printDiff(own))
			}
			if pl, err := a.Here(); err == nil && !asJSON {
				waiting.SaySettings(a.Caller, pl.Cwd)
			}
			k, list, err := a.keptChanges(c.Context(), args)
			if err != nil {
				return err
			}
			all := len(args) == 0 || len(args) == 1 && runWord().MatchString(args[0])
			switch {
			case asJSON:
				return a.PrintJSON(a.jsonChanges(list))
			case len(list) == 0:
				a.Say("nothing is different from %s", features.Sources(a.Caller, k.Kept))
				return nil
			case k.inPlace != nil:
				var at []string
				for _, c := range list {
					if !all {
						at = append(at, c.Path)
					}
				}
				d, err := back.Diff(k.inPlace, []string{"--binary"}, at...)
				if err = errors.Join(err, a.printPatch(d)); err != nil {
					return err
				}
				// git has no folders, and of permissions only that to run a file.
				return a.printDiff(slices.DeleteFunc(list, func(c changes.Change) bool {
					mode := c.Kind == changes.Mode && (c.Old^c.New)&0o100 == 0
					return c.Kind == changes.Type || !(c.Old|c.New).IsDir() && !mode
				}))
			case all:
				own := slices.DeleteFunc(slices.Clone(list), changes.Change.GitRecord)
				if n := len(list) - len(own); n > 0 {
					a.Say("not shown: %s of git's own records (inner changes show .git)",
						visible.Counted(n, "change", "changes"))
				}
				list = own
			}
			return a.printDiff(list)
		}),
	}
	cli.JSONFlag(c, &asJSON)
	return c
}

func (a *app) cmdChangesDiscard() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use: "discard RUN...", Short: "Drop the copies of runs", ValidArgsFunction: a.completeKept,
		Args: func(_ *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return errors.New("name the runs to discard, or --all")
			}
			return nil
		},
		RunE: a.OnHost(func(c *cobra.Command, args []string) error {
			drop, err := a.toDiscard(c.Context(), args, all)
			for _, k := range drop {
				if err == nil {
					err = stillRunning(k)
				}
				if err == nil {
					err = stage.Discard(a.InnerHome, k.Dir)
				}
				if err != nil {
					return err
				}
				a.Say("dropped the copy of run %s", k.Record.Run)
			}
			return err
		}),
	}
	c.Flags().BoolVar(&all, "all", false, "drop all that are not running")
	return c
}

// toDiscard are the kept runs of these names, or all that are not running. The git directories
// of runs that have these names are dropped.
func (a *app) toDiscard(ctx context.Context, names []string, all bool) (drop []keptRun, err error) {
	list, err := a.kept(ctx)
	if err != nil {
		return nil, err
	}
	if all {
		return slices.DeleteFunc(list, func(k keptRun) bool { return stillRunning(k) != nil }), nil
	}
	for _, name := range names {
		dropped, err := waiting.Drop(a.Caller, name)
		if err != nil {
			return nil, err
		}
		if dropped && !files.Exists(filepath.Join(stage.Kept(a.InnerHome), name)) {
			continue
		}
		k, err := a.findKept(list, name)
		if err != nil {
			return nil, err
		}
		drop = append(drop, k)
	}
	return drop, nil
}

// runWord is a word that is a run and no path: the time in an id, the day at least, or the end of one.
var runWord = lazy.Regexp(`^([0-9]{8}(-[0-9a-f-]*)?|[0-9a-f]{6})$`)

// findKept finds a kept run by its name, or the latest one that is not damaged for "".
func (a *app) findKept(list []keptRun, name string) (none keptRun, err error) {
	if name == "" {
		for _, k := range slices.Backward(list) {
			if k.Damaged == nil && a.here(k) {
				return k, nil
			}
		}
		return none, fault.Refuse(1, "inner run --keep -p PROFILE", "no copies are kept")
	}
	return byID(list, name, func(k keptRun) string { return k.Record.Run }, "inner changes list",
		"there is no kept copy of a run %q")
}

// keptChanges reads [RUN] [PATH...].
func (a *app) keptChanges(ctx context.Context, args []string) (k keptRun, all []changes.Change, err error) {
	list, err := a.kept(ctx)
	if err != nil {
		return k, nil, err
	}
	name := ""
	if len(args) > 0 && runWord().MatchString(args[0]) {
		name, args = args[0], args[1:]
	}
	if k, err = a.findKept(list, name); err != nil {
		return k, nil, err
	}
	if k.inPlace != nil {
		all = back.Changes(k.inPlace)
	} else {
		all, err = k.Compare()
	}
	if err == nil && len(args) > 0 {
		all, err = pick(k.Kept, all, args)
	}
	return k, all, err
}

// pick returns the changes at and below the paths. Each must name one.
func pick(k *changes.Kept, all []changes.Change, named []string) (picked []changes.Change, err error) {
	picked, missing := review.At(k, all, named)
	if missing != "" {
		err = fault.Refuse(1, "inner changes show "+k.Record.Run, "run %s changed nothing at %q", k.Record.Run, missing)
	}
	return picked, err
}

func stillRunning(k keptRun) error {
	if k.inPlace != nil {
		return fault.Refuse(1, "inner undo "+k.Record.Run, "run %s worked in place, and has no copy", k.Record.Run)
	}
	if review.State(k.Kept) == review.Running {
		return fault.Refuse(126, "wait for it to end", "run %s still works on its copy", k.Record.Run)
	}
	return nil
}

type jsonChange struct {
	changes.Change
	OldMode   string `json:"old_mode,omitempty"`
	NewMode   string `json:"new_mode,omitempty"`
	Protected bool   `json:"protected"`
}

func (a *app) jsonChanges(list []changes.Change) []jsonChange {
	rows := make([]jsonChange, 0, len(list))
	guard := features.Guard(a.Caller)
	for _, c := range list {
		row := jsonChange{Change: c, Protected: guard.Protects(c)}
		if c.Old != 0 {
			row.OldMode = (c.Old &^ copytree.NoRights).String()
		}
		if c.New != 0 {
			row.NewMode = (c.New &^ copytree.NoRights).String()
		}
		rows = append(rows, row)
	}
	return rows
}

// printDiff prints changes as one diff.
func (a *app) printDiff(list []changes.Change) error {
	for _, c := range list {
		d, err := review.Diff(c)
		if err == nil {
			err = a.printPatch(d)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// printPatch prints a diff. On a terminal it has colour, and nothing in it can drive the terminal.
func (a *app) printPatch(d []byte) error {
	if f, ok := tell.FileOf(a.Out); !ok || !caller.IsTerminal(f) {
		_, err := tell.Raw(a.Out).Write(d) // byte for byte
		return err
	}
	for line := range strings.Lines(string(d)) {
		text := cli.Printable(strings.TrimSuffix(line, "\n"))
		if code := map[byte]string{'+': "32", '-': "31", '@': "36"}[line[0]]; code != "" {
			text = cli.Paint(a.Out, code, text)
		}
		fmt.Fprintln(a.Out, text)
	}
	return nil
}

// completeKept offers the ids of kept runs, and then paths.
func (a *app) completeKept(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return cli.CompleteFirst(func() (words []string) {
		list, _ := a.kept(c.Context()) // none to offer
		for _, k := range slices.Backward(list) {
			if c.Name() != "undo" || k.inPlace != nil {
				words = append(words, k.Record.Run+"\t"+features.Sources(a.Caller, k.Kept))
			}
		}
		return words
	})(c, args, word)
}
