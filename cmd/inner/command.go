package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/enr/inner/cmd/internal/shim"
	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/hooks"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/profile/strict"
	"github.com/enr/inner/shims"
)

// exit is an error that is only an exit code: what had to be said was said.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// usage is a wrong use of inner: exit code 2.
type usage struct{ err error }

func (u usage) Error() string { return u.err.Error() }
func (u usage) Unwrap() error { return u.err }

func usagef(format string, args ...any) error { return usage{fmt.Errorf(format, args...)} }

// command runs the command line and returns the exit code.
func (a *app) command(args []string) int {
	if fast, err := a.prompt(args); fast {
		if err != nil {
			a.Fail(err)
			return 1
		}
		return 0
	}
	if !inBox() {
		if err := a.OwnFolder(); err != nil && !needsNoFolder(args) {
			a.Fail(err)
			if len(args) > 0 && args[0] == "doctor" {
				return 1 // as for every other fault that a run refuses
			}
			return fault.Code(err)
		}
		if !isRun(args) { // which does so itself
			// What a killed run left goes with the next call of inner. Who needs the
			// folder says so when it cannot be used.
			_, _ = features.Sweep(a.Caller)
		}
	}
	args = a.renamed(args)
	root := a.tree(isRun(args))
	args, err := a.unalias(root, args)
	if err != nil {
		a.Fail(err)
		return 2
	}
	if code, done := a.claimed(root, &args); done {
		return code
	}
	root.SetArgs(args)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	cmd, err := root.ExecuteC()
	if err = cmp.Or(err, tell.Err(a.stdout)); err == nil {
		return 0
	}
	return a.failed(cmd, err)
}

// failed tells why a command failed, unless that was said, and returns the exit code.
func (a *app) failed(cmd *cobra.Command, err error) int {
	var code exit
	if errors.As(err, &code) {
		return int(code)
	}
	a.Fail(err)
	var u usage
	switch r := fault.AsRefusal(err); {
	case r != nil:
		return r.Code
	case errors.As(err, &u):
		a.Hint("%s --help", cmd.CommandPath())
		return 2
	}
	return 1
}

// claimed runs a command that a profile claims here, as its shim would. A word that only names a profile becomes a
// run of that.
func (a *app) claimed(root *cobra.Command, args *[]string) (code int, done bool) {
	if len(*args) == 0 || strings.HasPrefix((*args)[0], "-") || a.isCommand(root, (*args)[0]) || checkName((*args)[0]) != nil {
		return 0, false
	}
	word, rest := (*args)[0], (*args)[1:]
	if a.decide(word).Kind != shims.PassThrough {
		return shim.Call(shims.Call{Name: word, InnerHome: a.InnerHome}, rest, version), true
	}
	if pl, err := a.Here(); err == nil {
		if _, _, err := a.Loader(pl).Find(word); err == nil {
			*args = append([]string{"run", "-p", word, "--"}, rest...)
		}
	}
	return 0, false
}

// needsNoFolder reports whether a command line reads and writes nothing of INNER_HOME.
func needsNoFolder(args []string) bool {
	return len(args) > 0 && slices.Contains([]string{"version", "--version", "help", "--help", "-h", "completion"}, args[0])
}

// prompt answers what a shell asks at its start and at its prompts, before any
// command tree exists.
func (a *app) prompt(args []string) (fast bool, err error) {
	switch {
	case len(args) > 0 && args[0] == "__hook":
		return true, a.Prompt(args[1:])
	case len(args) == 2 && args[0] == "hook" && slices.Contains(hooks.Shells(), args[1]):
		return true, a.hook(args[1])
	}
	return false, nil
}

// isRun reports whether the command line is a run, and nothing else that begins so.
func isRun(args []string) bool {
	if len(args) == 0 || args[0] != "run" {
		return false
	}
	for _, w := range args[1:] {
		if w == "--" {
			break
		}
		if w == "-h" || strings.HasPrefix(w, "--h") || strings.HasPrefix(w, "--dry-run") {
			return false
		}
	}
	return true
}

// tree is the command tree, or for a run only its own command: the others cost more than
// all that is read from the disk until the host is looked at. Nothing of it exists on the
// shim's way.
func (a *app) tree(run bool) *cobra.Command {
	root := &cobra.Command{
		Use:   "inner",
		Short: "Sandbox coding agents and shells automatically",
		Long: "Type inner init in a project, and from then on typing claude there runs claude in a sandbox,\n" +
			"which sees and changes only what its profile grants.",
		SilenceErrors: true, SilenceUsage: true,
		Version: version,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknown(cmd, args[0], "unknown command %q", args[0])
			}
			return nil
		},
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		ValidArgsFunction: a.completeAliases,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetVersionTemplate("inner {{.Version}}\n")
	root.SetFlagErrorFunc(unknownFlag)
	if run {
		c := a.cmdRun()
		wrapArgs(c)
		root.AddCommand(c)
		return root
	}
	a.addCommands(root)
	knownHelp(root)
	for _, c := range root.Commands() {
		wrapArgs(c)
	}
	return root
}

// unknown is a usage error about a word that is no command, with the one that
// was probably meant.
func unknown(c *cobra.Command, word, format string, args ...any) error {
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return meant(fmt.Sprintf(format, args...), strict.Nearest(word, names))
}

func meant(complaint, near string) error {
	if near != "" {
		complaint += fmt.Sprintf(" (did you mean %q?)", near)
	}
	return usage{errors.New(complaint)}
}

func unknownFlag(c *cobra.Command, err error) error {
	var no *pflag.NotExistError
	if !errors.As(err, &no) {
		return usage{err}
	}
	if no.GetSpecifiedShortnames() != "" {
		if c.Name() == "run" || c.Name() == "exec" {
			err = fmt.Errorf("%w; -- goes before a command with flags of its own", err)
		}
		return usage{err}
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	return meant(err.Error(), strict.Nearest("--"+no.GetSpecifiedName(), names))
}

// knownHelp makes `inner help WORD` complain about a word that is no command.
func knownHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, err := root.Find([]string{"help"})
	if err != nil || help == root {
		return
	}
	helpPages(root, help)
	help.Run = nil
	help.RunE = func(_ *cobra.Command, args []string) error {
		c, rest, err := root.Find(args)
		if err != nil {
			return usage{err}
		}
		if len(rest) > 0 {
			return unknown(c, rest[0], "unknown command %q", strings.Join(args, " "))
		}
		return c.Help()
	}
}

// wrapArgs makes every complaint about arguments a usage error.
func wrapArgs(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			switch {
			case err == nil:
				return nil
			case strings.HasPrefix(err.Error(), "accepts "), strings.HasPrefix(err.Error(), "requires "): // how many words, as cobra says it
				return usagef("%s given; usage: %s", counted(len(args), "word is", "words are"), cmd.UseLine())
			}
			return usage{err}
		}
	} else if c.HasSubCommands() {
		c.Args = func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknown(cmd, args[0], "unknown command %q for %q", args[0], cmd.CommandPath())
			}
			return nil
		}
		c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		for _, sub := range c.Commands() { // a bare noun lists
			if sub.Name() == "list" || sub.Name() == "show" && c.Name() == "config" {
				c.RunE = sub.RunE
				c.Flags().AddFlagSet(sub.Flags())
			}
		}
	}
	for _, sub := range c.Commands() {
		wrapArgs(sub)
	}
}

// onHost wraps what a command does that makes no sense in a box: see outside.
func (a *app) onHost(do func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := a.outside(cmd); err != nil {
			return err
		}
		return do(cmd, args)
	}
}

// outside refuses a command that makes no sense in a box: the trust store and
// the shims are the host's.
func (a *app) outside(cmd *cobra.Command) error {
	if inBox() {
		return fault.Refuse(126, "type it in a terminal outside of the sandbox", "%s works on the host only: this is inside a sandbox", cmd.CommandPath())
	}
	if os.Geteuid() != os.Getuid() {
		return fault.Refuse(126, "", "inner does not run set-user-id")
	}
	return nil
}
