package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/cmd/internal/shim"
	"github.com/enr/inner/hooks"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/shims"
)

// command runs the command line and returns the exit code.
func (a *app) command(args []string) int {
	if fast, err := a.prompt(args); fast {
		if err != nil {
			a.Fail(err)
			return 1
		}
		return 0
	}
	if !cli.InBox() {
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
		if r := fault.AsRefusal(err); r != nil {
			return r.Code
		}
		return 2
	}
	if program, words := cli.ForBeside(args); program != "" {
		err := a.GoOn(program, words...)
		if listed, _, _ := root.Find(args); cli.InBox() { // which need not have the program
			err = a.Outside(listed)
		}
		code := a.Failed(root, err)
		if args[0] == "tools" {
			return 2 // what an agent runs by such a shell may be its hook: see ForHook
		}
		return code
	}
	if code, done := a.claimed(root, &args); done {
		return code
	}
	return a.Execute(root, args)
}

// claimed runs a command that a profile claims here, as its shim would. A word that only names a profile becomes a
// run of that.
func (a *app) claimed(root *cobra.Command, args *[]string) (code int, done bool) {
	if len(*args) == 0 || strings.HasPrefix((*args)[0], "-") || a.isCommand(root, (*args)[0]) || checkName((*args)[0]) != nil {
		return 0, false
	}
	word, rest := (*args)[0], (*args)[1:]
	if a.decide(word).Kind != shims.PassThrough {
		return shim.Call(shims.Call{Name: word, InnerHome: a.InnerHome}, *args, version, false), true
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
	root := a.Root()
	root.Short = "Sandbox coding agents and shells automatically"
	root.Long = "Type inner init in a project, and from then on typing claude there runs claude in a sandbox,\n" +
		"which sees and changes only what its profile grants."
	root.ValidArgsFunction = a.completeAliases
	if run {
		c := a.cmdRun()
		cli.WrapArgs(c)
		root.AddCommand(c)
		return root
	}
	a.addCommands(root)
	knownHelp(root)
	for _, c := range root.Commands() {
		cli.WrapArgs(c)
	}
	return root
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
			return cli.Misuse(err)
		}
		if len(rest) > 0 {
			return cli.Unknown(c, rest[0], "unknown command %q", strings.Join(args, " "))
		}
		return c.Help()
	}
}
