package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/roles"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
)

// Answer is what a command has found out: a value for --json, and words for people.
type Answer struct {
	Value any
	Words func()
	Code  int // the exit code
}

// Answers makes a command that answers: as JSON with --json, else in words.
func (a *App) Answers(c *cobra.Command, ask func(cmd *cobra.Command, args []string) (Answer, error)) *cobra.Command {
	var asJSON bool
	JSONFlag(c, &asJSON)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		found, err := ask(cmd, args)
		if err != nil {
			return err
		}
		if !asJSON {
			found.Words()
		} else if err := a.PrintJSON(found.Value); err != nil {
			return err
		}
		return ExitCode(found.Code)
	}
	return c
}

// AnswersOnHost is Answers for a command that makes no sense in a box.
func (a *App) AnswersOnHost(c *cobra.Command, ask func(cmd *cobra.Command, args []string) (Answer, error)) *cobra.Command {
	a.Answers(c, ask)
	c.RunE = a.OnHost(c.RunE)
	return c
}

// ExitCode is the error that ends inner with a code; nil for 0.
func ExitCode(code int) error {
	if code == 0 {
		return nil
	}
	return Exit(code)
}

// OneIf is the exit code of a command that says no.
func OneIf(no bool) int {
	if no {
		return 1
	}
	return 0
}

// JSONFlag is --json of a command that answers.
func JSONFlag(c *cobra.Command, asJSON *bool) { c.Flags().BoolVar(asJSON, "json", false, "as JSON") }

// YesFlag is --yes of a command that asks.
func YesFlag(c *cobra.Command, yes *bool) {
	c.Flags().BoolVarP(yes, "yes", "y", false, "do not ask")
}

// ProfileFlag is -p of a command that takes any profile but one from a URL.
func (a *App) ProfileFlag(c *cobra.Command, name *string) {
	c.Flags().StringVarP(name, "profile", "p", "", "profile: a name, ./FILE or an absolute path")
	_ = c.RegisterFlagCompletionFunc("profile", a.CompleteProfiles)
}

// OneProfile lets a command take its profile as a word, as it takes -p.
func OneProfile(name *string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) > 1:
			return Usagef("one profile, and not %d", len(args))
		case len(args) == 1 && cmd.Flags().Changed("profile"):
			return Usagef("%q and --profile name two profiles", args[0])
		case len(args) == 1:
			*name = args[0]
		}
		return nil
	}
}

// AfterDash refuses words before --. what says what goes after it.
func AfterDash(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if cmd.ArgsLenAtDash() != 0 && len(args) > 0 {
			return Usagef("unexpected argument %q: %s after --", args[0], what)
		}
		return nil
	}
}

// Apart refuses two flags that were both given.
func Apart(c *cobra.Command, one, other string) error {
	if c.Flags().Changed(one) && c.Flags().Changed(other) {
		return Usagef("--%s and --%s contradict each other", one, other)
	}
	return nil
}

// Filled refuses flags that were given nothing, as a script does whose variable is not set.
func Filled(c *cobra.Command, flags ...string) error {
	for _, flag := range flags {
		if v := c.Flags().Lookup(flag); v.Changed && v.Value.String() == "" {
			return Usagef("--%s is empty", flag)
		}
	}
	return nil
}

// GoesWith refuses flags that were given without the one that they belong to.
func GoesWith(c *cobra.Command, owner string, flags ...string) error {
	i := slices.IndexFunc(flags, c.Flags().Changed)
	if i < 0 || c.Flags().Changed(owner) {
		return nil
	}
	return Usagef("--%s goes with --%s", flags[i], owner)
}

// Completion offers words for an argument or the value of a flag.
type Completion = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)

// CompleteFirst offers words for the first argument only.
func CompleteFirst(words func() []string) Completion {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return words(), cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteOneProfile is CompleteProfiles for the first argument only.
func (a *App) CompleteOneProfile(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.CompleteProfiles(cmd, args, word)
}

// CompleteProfiles offers profile names: the names of files, and for trusted
// places a description. It reads nothing of a project beyond the folder.
func (a *App) CompleteProfiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	add := func(files []string, what string) {
		for _, f := range files {
			if name := NameOf(f); profile.CheckName(name) == nil {
				names = append(names, name+"\t"+Printable(what))
			}
		}
	}
	if pl, err := a.Here(); err == nil && pl.Project != nil && pl.Project.Problem == nil {
		if files, err := pl.Project.ProfileFiles(); err == nil {
			add(files, "local")
		}
	}
	files, _ := filepath.Glob(filepath.Join(a.ProfilesDir(), "*.toml"))
	l := a.Loader(settings.Place{})
	for _, f := range files {
		what := "global"
		if p, err := l.Load(f, profile.Global); err == nil && p.Description != "" {
			what = p.Description
		}
		add([]string{f}, what)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// CreateFile writes a file that must not be there yet, whole or not at all:
// link(2) does not replace.
func CreateFile(path string, data []byte, perm fs.FileMode) error {
	err := files.Create(path, data, perm)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%q already exists: %w", path, fs.ErrExist)
	}
	return err
}

// Printable makes visible what could drive a terminal or deceive the reader: names and
// contents come from strangers.
func Printable(s string) string { return visible.Text(s) }

// Quoted is a path as a word of a POSIX shell.
func Quoted(path string) string { return quote.POSIX(path) }

// PrintJSON prints a value as JSON.
func (a *App) PrintJSON(v any) error { return JSON(a.Out, v) }

// WhoFlags say for whom a program runs.
type WhoFlags struct {
	As, Actor string
	Asked     bool // --as was given, be it empty
}

// Add adds the flags to a command that runs something.
func (w *WhoFlags) Add(a *App, c *cobra.Command) {
	w.AddRole(a, c)
	c.Flags().StringVar(&w.Actor, "actor", "", "on whose behalf it runs, for the audit log: `TEXT`")
	_ = c.RegisterFlagCompletionFunc("actor", cobra.NoFileCompletions)
}

// AddRole is for commands that run nothing for anybody.
func (w *WhoFlags) AddRole(a *App, c *cobra.Command) {
	c.Flags().StringVar(&w.As, "as", "", "the profile that [roles] of config.toml gives this role: `NAME`")
	_ = c.RegisterFlagCompletionFunc("as", a.CompleteRoles)
}

// maxActor is how long the text of --actor may be, in bytes.
const maxActor = 256

// Check refuses flags that do not go together, and what cannot be in the audit log.
func (w *WhoFlags) Check(c *cobra.Command) error {
	w.Asked = c.Flags().Changed("as")
	if w.Asked && c.Flags().Changed("profile") {
		return Usagef("--as and -p contradict each other: a role has its profile")
	}
	if w.Asked && slices.Contains([]string{"doctor", "verify"}, c.Name()) && c.Flags().NArg() > 0 {
		return Usagef("--as and %q name two profiles", c.Flags().Arg(0))
	}
	if len(w.Actor) > maxActor || strings.ContainsFunc(w.Actor, unicode.IsControl) {
		return Usagef("--actor: the text is longer than %d bytes, or has a control character", maxActor)
	}
	return nil
}

// RoleFlags finds the profile of a role, when one was asked for, and what the audit log
// has of it.
func (a *App) RoleFlags(w WhoFlags, pl settings.Place, name *string) (runlog.By, error) {
	if !w.Asked {
		return runlog.By{Actor: w.Actor}, nil
	}
	role, err := roles.Of(a.Settings, w.As, pl)
	if err != nil {
		return runlog.By{}, err
	}
	*name = role.Profile
	return role.By(w.Actor, ""), nil
}

// CompleteRoles offers the roles that are in force here.
func (a *App) CompleteRoles(_ *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if pl, err := a.Here(); err == nil {
		if t, err := roles.In(a.Settings, pl); err == nil && t.Roles != nil {
			for _, kv := range t.Profiles {
				names = append(names, kv.Key)
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
