package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/hooks/usershell"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/builtin"
	"github.com/enr/inner/profile/capability"
	"github.com/enr/inner/profile/starter"
)

// initFlags are the flags of inner init.
type initFlags struct {
	yes, confirm, everywhere, hook, restore, private bool
	network                                          string
}

func (a *app) cmdInit() *cobra.Command {
	var f initFlags
	c := &cobra.Command{
		Use: "init [AGENT...]", Short: "Set up agents in this project, by questions, and the hook of your shell", Args: cobra.ArbitraryArgs,
		Long: "Set up a project: find the agents that are installed and what the project is made of, ask which\n" +
			"agents to sandbox, here or in all folders, what network they get, what else of the home folder, and\n" +
			"whether they run commands without asking you, write a profile for each to .inner/profiles, show what it\n" +
			"grants, and remember your answer. Files that are there are never changed.\n" +
			"Then offer to put the hook into your shell's start-up file, when it is not there.\n\n" +
			"With names of agents it does not ask which; with --yes it asks nothing, and takes what is suggested.\n" +
			"--everywhere sandboxes them in all folders, by profiles in ~/.inner/profiles and [shims] of\n" +
			"~/.inner/config.toml. With --confirm they go on asking you before they run a command.\n\n" +
			"The built-in profiles are written to ~/.inner/profiles first, where they are missing. Without a terminal\n" +
			"and without names that is all it does.\n\n" +
			"--restore writes the built-in profiles as they come with this version of inner. What you have changed in\n" +
			"them is named before you are asked, and is lost. Your own profiles and what you have allowed stay.",
		Example: "  inner init                       # asks\n  inner init claude --yes          # asks nothing\n  inner init --everywhere claude   # in all folders",
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return capability.Programs(), cobra.ShellCompDirectiveNoFileComp // asked for only then: it reads the agents' files
		},
		RunE: a.OnHost(func(_ *cobra.Command, args []string) error { return a.init(f, args) }),
	}
	fl := c.Flags()
	cli.YesFlag(c, &f.yes)
	fl.BoolVar(&f.everywhere, "everywhere", false, "sandbox the agents in all folders, and not only in this project")
	fl.BoolVar(&f.confirm, "confirm", false, "let the agents go on asking you before they run a command")
	fl.StringVar(&f.network, "network", "", "`MODE`: listed, ask, full or off")
	fl.BoolVar(&f.hook, "hook", false, "put the hook into your shell's start-up file")
	fl.BoolVar(&f.private, "private", false, "keep .inner out of git, in this clone; otherwise it may be committed")
	fl.BoolVar(&f.restore, "restore", false, "restore the built-in profiles; your own are kept")
	_ = c.RegisterFlagCompletionFunc("network",
		cobra.FixedCompletions(starter.NetworkWords(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

// check says what is wrong with the flags, or with the names of agents.
func (f initFlags) check(names []string) error {
	if f.network != "" && !slices.Contains(starter.NetworkWords(), f.network) {
		return cli.Usagef("--network: %q is none of %s", f.network, strings.Join(starter.NetworkWords(), ", "))
	}
	if f.restore && (len(names) > 0 || f.everywhere || f.hook) {
		return cli.Usagef("--restore restores the built-in profiles, and does nothing else")
	}
	for _, name := range names {
		if !capability.IsProgram(name) {
			return cli.Usagef("%q is not an agent that a profile comes with: those are %s; for another: inner profile new --local %[1]s", name, strings.Join(capability.Programs(), ", "))
		}
	}
	if f.private && (f.everywhere || f.restore) {
		return cli.Usagef("--private is about the .inner of this project")
	}
	if f.everywhere && len(names) == 0 {
		return cli.Usagef("--everywhere: which agents? inner init --everywhere claude")
	}
	return nil
}

// stays refuses what would be another profile than the one that is there, for those are not changed.
func (f initFlags) stays(name string) error {
	if !f.confirm && f.network == "" {
		return nil
	}
	return fault.Refuse(1, "inner profile edit "+name,
		"profile %q is there already, and --confirm and --network are for new ones", name)
}

// init does the parts of inner init that were asked for.
func (a *app) init(f initFlags, names []string) error {
	if err := f.check(names); err != nil {
		return err
	}
	if f.restore {
		return a.restore(f.yes)
	}
	if f.private && len(names) == 0 {
		pl, err := a.initPlace()
		if err == nil {
			err = a.inGit(cmp.Or(pl.Root(), pl.Cwd), true)
		}
		return err
	}
	written, err := a.Install("")
	if err != nil {
		return err
	}
	a.Forget() // one of them may be new
	asks := caller.IsTerminal(a.In) && !f.yes
	agents := len(names) > 0 || asks && !f.hook // else it is about the user's own files, with --hook the start-up file alone
	if agents && !asks && !f.yes {
		again := append([]string{"inner init"}, names...)
		if f.everywhere {
			again[0] += " --everywhere"
		}
		return fault.Refuse(2, strings.Join(again, " ")+" --yes", "cannot ask: standard input is not a terminal")
	}
	switch {
	case len(written) > 0:
		a.Say("wrote the built-in profiles: %d files below %s", len(written), a.Short(a.InnerHome))
	case !agents && !f.hook:
		a.Say("%s is complete; nothing was changed", a.Short(a.InnerHome))
	}
	if err := a.Regenerate(); err != nil {
		return err
	}
	var ready []string
	if agents {
		if ready, err = a.initChosen(f, names); err != nil {
			return err
		}
	} else if !f.hook {
		a.Hint("inner init claude --yes sets up a project for claude")
	}
	if err := a.initStartup(f, agents && asks); err != nil {
		return err
	}
	a.sayReady(ready)
	return nil
}

// sayReady ends with what to type.
func (a *app) sayReady(agents []string) {
	if len(agents) == 0 {
		return
	}
	for _, name := range agents {
		if g, _ := capability.Of(name); g.Hint != "" && !a.loggedIn(g) {
			a.Hint("%s", g.Hint)
		}
	}
	words := strings.Join(agents, " or ")
	if a.hookLive() == "live" {
		a.Say("type: %s", words)
		return
	}
	line := a.startup().Typed(usershell.TypedIn())
	if a.startup().FindHook(usershell.TypedIn()) != nil {
		a.Say("open a new shell, or type %s; then type: %s", line, words)
		return
	}
	a.Say("type %s, then: %s", line, words)
}

// The lines of start-up files that inner init writes, each once: a file is added to, and
// nothing in it is changed.

// initStartup writes the lines that were asked for; with ask it asks about the hook.
func (a *app) initStartup(f initFlags, ask bool) error {
	shell := usershell.TypedIn()
	if usershell.ShellOf(shell) == "" {
		shell = "bash"
	}
	rc, line := a.startup().HookLine(shell)
	loaded := a.startup().FindHook(shell)
	switch {
	case loaded != nil && loaded.Problem != "":
		a.Warn("line %d of %s %s", loaded.Number, a.Short(loaded.File), loaded.Problem)
		a.Hint("%s", loaded.Fix)
	case loaded != nil && f.hook:
		a.Say("line %d of %s loads the hook already", loaded.Number, a.Short(loaded.File))
	case loaded != nil:
	case !f.hook && a.hookLive() == "live":
		a.Hint("the hook is live here; a new shell has it when %s holds: %s", a.Short(rc), line)
	case f.hook, ask && a.yesUnlessNo(fmt.Sprintf("Put the hook last in %s? It is: %s", a.Short(rc), cli.Printable(line))):
		if err := a.addHook(shell, rc, line, f.hook); err != nil {
			return err
		}
	default:
		a.Hint("inner init --hook adds this to %s: %s", a.Short(rc), line)
	}
	return nil
}

// hookComment stands above the line that loads the hook.
const hookComment = "# inner: keeps the shim folder first on PATH"

// addHook adds the hook to a start-up file; told: the person has asked for just that.
func (a *app) addHook(shell, rc, line string, told bool) error {
	if err := usershell.Add(rc, hookComment, line); err != nil {
		return err
	}
	a.Say("added to %s: %s", a.Short(rc), line)
	if told && a.hookLive() != "live" {
		a.Hint("open a new shell, or type here: %s", a.startup().Typed(shell))
	}
	if problem, fix := a.startup().LoginGap(shell, a.startup().FindHook(shell)); problem != "" {
		a.Warn("%s", problem)
		a.Hint("%s", fix)
	}
	return nil
}

// yesUnlessNo asks a question to which Enter says yes.
func (a *app) yesUnlessNo(question string) bool {
	text, ok := a.answer(question+" [Y/n] ", "the hook was not added")
	return ok && (text == "" || isYes(text))
}

// Restoring the built-in profiles: inner init --restore.

// restore writes the built-in profiles as they come with this version of inner. What was changed in them is lost.
func (a *app) restore(yes bool) error {
	changed := a.changedBuiltins()
	if len(changed) > 0 {
		for _, name := range changed {
			a.Say("profile %s is not the built-in one any more: inner profile diff %s shows both", name, name)
		}
		if err := a.askFor(fmt.Sprintf("Restore %d built-in profiles?", len(changed)), yes,
			"inner init --restore --yes"); err != nil {
			return err
		}
	}
	for _, name := range changed {
		// Taken away first: what is there may be a link or a folder's name.
		path := filepath.Join(a.ProfilesDir(), name+".toml")
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	written, err := a.Install("")
	if err != nil {
		return err
	}
	for _, path := range written {
		fmt.Fprintln(a.Out, path)
	}
	if len(written) == 0 {
		a.Say("the built-in profiles are unmodified; nothing was changed")
	}
	return a.Regenerate()
}

// changedBuiltins names the built-in profiles that are not as they came.
// Missing ones are not among them: bringing them back loses nothing.
func (a *app) changedBuiltins() []string {
	var out []string
	for _, name := range builtin.Names() {
		path := filepath.Join(a.ProfilesDir(), name+".toml")
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		if file, err := profile.ReadFile(path); err != nil || !bytes.Equal(file.Data, builtin.Read(name)) {
			out = append(out, name)
		}
	}
	return out
}
