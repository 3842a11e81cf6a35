package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/cmd/internal/shim"
	"github.com/enr/inner/hooks"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/config"
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
	root := a.tree(a.alone(args))
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
	if len(*args) == 0 || strings.HasPrefix((*args)[0], "-") || a.isCommand(root,
		(*args)[0]) || checkName((*args)[0]) != nil {
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

// alone is the one command that a command line needs, or nil: the others cost more than all that a run
// reads from the disk until the host is looked at.
func (a *app) alone(args []string) *cobra.Command {
	switch {
	case isRun(args):
		return a.cmdRun()
	case len(args) == 1 && args[0] == "version":
		return a.cmdVersion()
	}
	return nil
}

// tree is the command tree, with all commands or with one alone. Nothing of it exists on the shim's way.
func (a *app) tree(alone *cobra.Command) *cobra.Command {
	root := a.Root()
	root.Short = "Sandbox coding agents and shells automatically"
	root.Long = "Type inner init in a project, and from then on typing claude there runs claude in a sandbox,\n" +
		"which sees and changes only what its profile grants."
	root.ValidArgsFunction = a.completeAliases
	if alone != nil {
		cli.WrapArgs(alone)
		root.AddCommand(alone)
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

// group is a part of the list of all commands: what one wants to do.
type group struct {
	title    string
	commands []*cobra.Command
}

// addCommands puts the commands below inner, in the order and the groups of inner help --all.
func (a *app) addCommands(root *cobra.Command) {
	log, profiles := a.cmdLog(), a.cmdProfile()
	log.AddCommand(a.cmdAudit())
	profiles.AddCommand(a.cmdResources())
	for _, g := range []group{
		{"Set up:", []*cobra.Command{a.cmdInit(), a.cmdHook(), a.cmdDoctor(), a.cmdUninstall()}},
		{"Decide what may run:", []*cobra.Command{a.cmdAllow(), a.cmdWatch()}},
		{"See what happens here:", []*cobra.Command{a.cmdStatus(), a.cmdExplain(), a.cmdWhy()}},
		{"Run:", []*cobra.Command{a.cmdRun(), a.cmdBypass(), a.cmdPs(), a.cmdAttach(), a.cmdDetach(), a.cmdStop(), a.cmdAsk()}},
		{"See what a run did:", []*cobra.Command{a.cmdUndo(), a.cmdChanges(), log, a.cmdHome()}},
		{"Write profiles:", []*cobra.Command{profiles, a.Beside("learn"), a.Beside("verify"), a.cmdConfig()}},
		{"For programs and fleets:", []*cobra.Command{a.cmdExec(), a.Beside("agent"), a.Beside("tools"), a.Beside("mcp"), a.Beside("export"), a.cmdShim(), a.cmdCompletion()}},
	} {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, c := range g.commands {
			c.GroupID = g.title
			root.AddCommand(c)
		}
	}
	version := a.cmdVersion()
	version.Hidden = true
	root.AddCommand(version)
	for _, b := range cli.Besides() {
		if b.Hidden {
			root.AddCommand(a.Beside(b.Name))
		}
	}
}

// firstScreen is what inner --help shows: what people type, on one screen of 80 columns.
const firstScreen = `inner runs agents and shells in a sandbox, so that nobody has to remember to.

  inner init                  set up agents in this project, and your shell
  inner allow                 read what the profiles here grant, and say yes
  inner allow host:NAME       one grant more; or port:N, folder:PATH, mcp:NAME
  inner status [COMMAND]      what is sandboxed here, and why
  inner explain, why PATH     what the sandbox has; whether it has one thing
  inner run [-p NAME]         a program in its sandbox, as inner claude does
  inner bypass COMMAND        the real program, once, outside the sandbox
  inner ps, stop              the boxes that run; also attach and detach
  inner undo                  take back what the last run changed
  inner changes, home, log    what runs changed, what boxes keep, past runs
  inner profile, config       list, show and change profiles and settings
  inner learn, verify         what a command needs; checks from inside
  inner watch                 what each save of a profile changes
  inner doctor                what works on this host, with one fix per finding
  inner uninstall             remove what inner keeps

inner COMMAND --help says more of one, inner help --all lists every command.
`

// formerNames are the names of the version before, and what they are called now. They work for one release.
func formerNames() [][2]string {
	return [][2]string{
		{"deny", "allow --never"},
		{"revoke", "allow --forget"},
		{"roles --check", "doctor --roles"},
		{"roles", "doctor --roles"},
		{"reset -f", "init --restore --yes"},
		{"reset --force", "init --restore --yes"},
		{"reset", "init --restore"},
		{"audit", "log audit"},
		{"resources", "profile resources"},
		{"session list", "ps"},
		{"session end --all", "stop --sessions"},
		{"session end", "stop"},
		{"session", "ps"},
		{"config get", "config show"},
		{"config unset", "config set --unset"},
		{"profile reset", "init --restore"},
	}
}

// renamed is a command line by the names of today; a former name is told.
func (a *app) renamed(args []string) []string {
	line := strings.Join(args, " ") + " "
	for _, n := range formerNames() {
		if strings.HasPrefix(line, n[0]+" ") {
			a.Say("inner %s is now called inner %s", n[0], n[1])
			return append(strings.Fields(n[1]), args[len(strings.Fields(n[0])):]...)
		}
	}
	return args
}

// isFormer reports whether a word began a command line of the version before.
func isFormer(word string) bool {
	for _, n := range formerNames() {
		if first, _, _ := strings.Cut(n[0], " "); first == word {
			return true
		}
	}
	return false
}

// helpPages makes inner --help one screen, and inner help --all the list of every command.
func helpPages(root *cobra.Command, help *cobra.Command) {
	full := root.HelpFunc()
	all := help.Flags().Bool("all", false, "list every command")
	help.Short = "Show this, or what a command does"
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		if c == root && !*all {
			fmt.Fprint(c.OutOrStdout(), firstScreen)
			return
		}
		full(c, args)
	})
}

// Aliases: [aliases] of config.toml gives words of the user's own to command
// lines of inner.
//
//  1. Only the first word is looked up, and only when it is no command of inner:
//     an alias never shadows one, and no command pays for the look.
//  2. One level: what it stands for begins with a command.
//  3. The allowed project's aliases go before the user's, name by name.
//  4. What follows on the command line is appended.
//  5. A project's alias runs profiles, by name, and looks; it neither allows,
//     nor leaves the sandbox, nor changes what is the user's.

// isCommand reports whether a word means something to inner already.
func (a *app) isCommand(root *cobra.Command, word string) bool {
	if word == "help" || cli.Completes(word) || isFormer(word) {
		return true
	}
	return slices.ContainsFunc(root.Commands(),
		func(c *cobra.Command) bool { return c.Name() == word || c.HasAlias(word) })
}

// unalias replaces an alias at the beginning of a command line, or of one that
// is being completed, by what it stands for.
func (a *app) unalias(root *cobra.Command, args []string) ([]string, error) {
	switch {
	case len(args) == 0 || args[0] == "" || args[0][0] == '-':
		return args, nil
	case cli.Completes(args[0]):
		if len(args) > 2 {
			if rest, err := a.unalias(root, args[1:]); err == nil {
				return append([]string{args[0]}, rest...), nil
			}
		}
		return args, nil
	case a.isCommand(root, args[0]):
		return args, nil
	}
	return a.expand(root, args)
}

// expand replaces the first word of a command line, when that is an alias.
func (a *app) expand(root *cobra.Command, args []string) ([]string, error) {
	list, theirs, workspaces, err := a.aliases()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list, func(kv profile.KV) bool { return kv.Key == args[0] })
	if i < 0 {
		return args, nil
	}
	words, err := expandAlias(list[i], workspaces)
	if err != nil {
		return nil, err
	}
	if !a.isCommand(root, words[0]) {
		return nil, cli.Usagef("alias %q stands for %q, which is not a command of inner", args[0], list[i].Value)
	}
	if i < theirs {
		if why := a.beyondProject(words); why != "" {
			return nil, cli.Usagef("alias %q of the project stands for %q: %s", args[0], list[i].Value, why)
		}
	}
	return append(words, args[1:]...), nil
}

// beyondProject says why a project's alias may not stand for these words: the user
// allowed its text, and not what a file or a URL in it will hold.
func (a *app) beyondProject(words []string) string {
	if !slices.Contains([]string{"run", "verify", "status", "which", "log", "doctor"}, words[0]) {
		return "a project's alias does not stand for that command; type it yourself"
	}
	c, names := a.cmdRun(), words[1:]
	switch words[0] {
	case "run":
	case "verify": // whose flags a program beside inner knows
		c = nil
	case "doctor":
		c = a.cmdDoctor()
	default:
		return ""
	}
	if c != nil {
		if err := c.ParseFlags(words[1:]); err != nil {
			return err.Error()
		}
		names = []string{c.Flag("profile").Value.String()}
	}
	if words[0] == "doctor" { // the words of a run are the program's
		names = append(names, c.Flags().Args()...)
	}
	if slices.ContainsFunc(names, func(name string) bool { return strings.ContainsRune(name, '/') }) {
		return "a project's alias names a profile by its name, so that it is an allowed one"
	}
	return ""
}

// aliases are those that hold here, the first of them the project's, and the
// expanded workspaces_path.
func (a *app) aliases() (list []profile.KV, theirs int, workspaces string, err error) {
	pl, err := a.Here()
	if err != nil {
		pl = settings.Place{}
	}
	own, users, err := a.InForce(pl)
	if err != nil {
		return nil, 0, "", err
	}
	list = slices.Concat(own.Aliases, users.Aliases) // the first of a name is found
	theirs, workspaces = len(own.Aliases), cmp.Or(own.WorkspacesPath, users.WorkspacesPath)
	return list, theirs, a.Absolute(workspaces, ""), nil
}

// completeAliases offers the aliases that can be used here, and files behind the name of a program.
func (a *app) completeAliases(root *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	list, _, _, err := a.aliases()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	seen := map[string]bool{}
	for _, kv := range list {
		if !a.isCommand(root, kv.Key) && cli.Printable(kv.Key) == kv.Key && !seen[kv.Key] {
			seen[kv.Key] = true
			out = append(out, fmt.Sprintf("%s\t%s", kv.Key, cli.Printable(kv.Value)))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// expandAlias returns the words an alias stands for, with ${workspaces_path}
// replaced by workspaces, which is "" where none is configured. It is replaced
// after splitting, so that a space in it is no end of a word.
func expandAlias(alias profile.KV, workspaces string) ([]string, error) {
	words, err := config.Words(alias.Value)
	if err != nil {
		return nil, fmt.Errorf("alias %q: %w", alias.Key, err)
	}
	const token = "${workspaces_path}"
	for i, w := range words {
		if !strings.Contains(w, token) {
			continue
		}
		if workspaces == "" {
			return nil, fmt.Errorf("alias %q uses %s, but workspaces_path is not set in config.toml", alias.Key, token)
		}
		words[i] = strings.ReplaceAll(w, token, workspaces)
	}
	return words, nil
}
