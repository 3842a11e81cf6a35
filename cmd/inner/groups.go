package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
)

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
		{"Run:", []*cobra.Command{a.cmdRun(), a.cmdBypass(), a.cmdPs(), a.cmdAttach(), a.cmdDetach(), a.cmdStop()}},
		{"See what a run did:", []*cobra.Command{a.cmdChanges(), log, a.cmdHome()}},
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
  inner allow host:NAME       one grant more; or port:N, file:PATH, folder:PATH
  inner status [COMMAND]      what is sandboxed here, and why
  inner explain, why PATH     what the sandbox has; whether it has one thing
  inner run [-p NAME]         a program in its sandbox, as inner claude does
  inner bypass COMMAND        the real program, once, outside the sandbox
  inner ps, stop              the boxes that run; also attach and detach
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
