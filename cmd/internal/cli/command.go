package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/profile/strict"
	"github.com/enr/inner/shims"
)

// ForHook is the exit code of inner: as a hook of an agent 2 for whatever went wrong, as
// agents go on with the call after any other.
func ForHook(args []string, code int) int {
	if code != 0 && OfHook(args) {
		return 2
	}
	return code
}

// OfHook reports whether the words of a command are those of an agent's hook.
func OfHook(args []string) bool { return len(args) > 1 && args[0] == "agent" && args[1] == "hook" }

// InBox reports whether this is inside a sandbox.
func InBox() bool { return shims.InBox() }

// Exit is an error that is only an exit code: what had to be said was said.
type Exit int

func (e Exit) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// usage is a wrong use of inner: exit code 2.
type usage struct{ err error }

func (u usage) Error() string { return u.err.Error() }
func (u usage) Unwrap() error { return u.err }

// Misuse makes an error a wrong use of inner.
func Misuse(err error) error { return usage{err} }

// IsMisuse reports whether an error is a wrong use of inner.
func IsMisuse(err error) bool {
	_, is := errors.AsType[usage](err)
	return is
}

// Usagef is fmt.Errorf for a wrong use of inner.
func Usagef(format string, args ...any) error { return usage{fmt.Errorf(format, args...)} }

// Failed tells why a command failed, unless that was said, and returns the exit code.
func (a *App) Failed(cmd *cobra.Command, err error) int {
	var code Exit
	if errors.As(err, &code) {
		return int(code)
	}
	a.Tell(err)
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

// Unknown is a usage error about a word that is no command, with the one that
// was probably meant.
func Unknown(c *cobra.Command, word, format string, args ...any) error {
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return Meant(fmt.Sprintf(format, args...), strict.Nearest(word, names))
}

// Meant is a usage error, with what was probably meant; "" when nothing is near.
func Meant(complaint, near string) error {
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
	return Meant(err.Error(), strict.Nearest("--"+no.GetSpecifiedName(), names))
}

// Noun is a command that only has commands below it.
func Noun(c *cobra.Command, verbs ...*cobra.Command) *cobra.Command {
	c.AddCommand(verbs...)
	return c
}

// WrapArgs makes every complaint about arguments a usage error.
func WrapArgs(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			switch {
			case err == nil:
				return nil
			case strings.HasPrefix(err.Error(), "accepts "), strings.HasPrefix(err.Error(), "requires "): // how many words, as cobra says it
				return Usagef("%s given; usage: %s", visible.Counted(len(args), "word is", "words are"), cmd.UseLine())
			}
			return usage{err}
		}
	} else if c.HasSubCommands() {
		c.Args = func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return Unknown(cmd, args[0], "unknown command %q for %q", args[0], cmd.CommandPath())
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
		WrapArgs(sub)
	}
}

// OnHost wraps what a command does that makes no sense in a box: see Outside.
func (a *App) OnHost(do func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := a.Outside(cmd); err != nil {
			return err
		}
		return do(cmd, args)
	}
}

// Outside refuses a command that makes no sense in a box: the trust store and
// the shims are the host's.
func (a *App) Outside(cmd *cobra.Command) error {
	if InBox() {
		return fault.Refuse(126, "type it in a terminal outside of the sandbox",
			"%s works on the host only: this is inside a sandbox", cmd.CommandPath())
	}
	if os.Geteuid() != os.Getuid() {
		return fault.Refuse(126, "", "inner does not run set-user-id")
	}
	return nil
}
