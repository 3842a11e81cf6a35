package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/caller"
)

// What commands share: how they answer, the flags that many of them have, and the rules
// between flags.

// answer is what a command has found out: a value for --json, and words for people.
type answer struct {
	value any
	words func()
	code  int // the exit code
}

// answers makes a command that answers: as JSON with --json, else in words.
func (a *app) answers(c *cobra.Command, ask func(cmd *cobra.Command, args []string) (answer, error)) *cobra.Command {
	var asJSON bool
	jsonFlag(c, &asJSON)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		found, err := ask(cmd, args)
		if err != nil {
			return err
		}
		if !asJSON {
			found.words()
		} else if err := a.printJSON(found.value); err != nil {
			return err
		}
		return exitCode(found.code)
	}
	return c
}

// answersOnHost is answers for a command that makes no sense in a box.
func (a *app) answersOnHost(c *cobra.Command, ask func(cmd *cobra.Command, args []string) (answer, error)) *cobra.Command {
	a.answers(c, ask)
	c.RunE = a.onHost(c.RunE)
	return c
}

// exitCode is the error that ends inner with a code; nil for 0.
func exitCode(code int) error {
	if code == 0 {
		return nil
	}
	return exit(code)
}

// oneIf is the exit code of a command that says no.
func oneIf(no bool) int {
	if no {
		return 1
	}
	return 0
}

func jsonFlag(c *cobra.Command, asJSON *bool) { c.Flags().BoolVar(asJSON, "json", false, "as JSON") }

func yesFlag(c *cobra.Command, yes *bool) {
	c.Flags().BoolVarP(yes, "yes", "y", false, "do not ask")
}

// profileFlag is -p of a command that takes any profile but one from a URL.
func (a *app) profileFlag(c *cobra.Command, name *string) {
	c.Flags().StringVarP(name, "profile", "p", "", "profile: a name, ./FILE or an absolute path")
	_ = c.RegisterFlagCompletionFunc("profile", a.completeProfiles)
}

// oneProfile lets a command take its profile as a word, as it takes -p.
func oneProfile(name *string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) > 1:
			return usagef("one profile, and not %d", len(args))
		case len(args) == 1 && cmd.Flags().Changed("profile"):
			return usagef("%q and --profile name two profiles", args[0])
		case len(args) == 1:
			*name = args[0]
		}
		return nil
	}
}

// afterDash refuses words before --. what says what goes after it.
func afterDash(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if cmd.ArgsLenAtDash() != 0 && len(args) > 0 {
			return usagef("unexpected argument %q: %s after --", args[0], what)
		}
		return nil
	}
}

// apart refuses two flags that were both given.
func apart(c *cobra.Command, one, other string) error {
	if c.Flags().Changed(one) && c.Flags().Changed(other) {
		return usagef("--%s and --%s contradict each other", one, other)
	}
	return nil
}

// filled refuses flags that were given nothing, as a script does whose variable is not set.
func filled(c *cobra.Command, flags ...string) error {
	for _, flag := range flags {
		if v := c.Flags().Lookup(flag); v.Changed && v.Value.String() == "" {
			return usagef("--%s is empty", flag)
		}
	}
	return nil
}

// goesWith refuses flags that were given without the one that they belong to.
func goesWith(c *cobra.Command, owner string, flags ...string) error {
	i := slices.IndexFunc(flags, c.Flags().Changed)
	if i < 0 || c.Flags().Changed(owner) {
		return nil
	}
	return usagef("--%s goes with --%s", flags[i], owner)
}

// completion offers words for an argument or the value of a flag.
type completion = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)

// completeFirst offers words for the first argument only.
func completeFirst(words func() []string) completion {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return words(), cobra.ShellCompDirectiveNoFileComp
	}
}

// question is asked before something is done that cannot be undone, or that lets something
// run.
type question struct {
	text       string
	yes        bool           // it was answered on the command line
	hint       string         // what answers it without a terminal
	no         string         // what is said of a no
	noTerminal *fault.Refusal // where nobody can be asked; nil says just that, and to type the hint
}

// confirm asks a question. Without a terminal it refuses; a no ends the command.
func (a *app) confirm(q question) error {
	switch {
	case q.yes:
		return nil
	case !caller.IsTerminal(a.stdin):
		if q.noTerminal != nil {
			return q.noTerminal
		}
		return fault.Refuse(2, q.hint, "cannot ask for confirmation: standard input is not a terminal")
	case a.agreed(q.text):
		return nil
	}
	a.Say("%s", q.no)
	if q.noTerminal != nil {
		return exit(q.noTerminal.Code)
	}
	return exit(1)
}

// askFor confirms a change.
func (a *app) askFor(text string, yes bool, hint string) error {
	return a.confirm(question{text: text, yes: yes, hint: hint, no: "nothing was changed"})
}
