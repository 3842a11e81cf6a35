package main

import "github.com/spf13/cobra"

// group is a part of the list of commands: what one wants to do.
type group struct {
	title    string
	commands []*cobra.Command
}

// addCommands puts the commands below inner, in the order and the groups of its help. A
// command that moved below another one also keeps its old place, which help does not list.
func (a *app) addCommands(root *cobra.Command) {
	log, profiles := a.cmdLog(), a.cmdProfile()
	log.AddCommand(a.cmdAudit())
	profiles.AddCommand(a.cmdReset(), a.cmdResources())
	for _, g := range []group{
		{"Set up:", []*cobra.Command{a.cmdInit(), a.cmdHook(), a.cmdDoctor(), a.cmdUninstall()}},
		{"Decide what may run:", []*cobra.Command{a.cmdAllow(), a.cmdDeny(), a.cmdRevoke(), a.cmdWatch()}},
		{"See what happens here:", []*cobra.Command{a.cmdStatus(), a.cmdWhich(), a.cmdExplain(), a.cmdWhy()}},
		{"Run:", []*cobra.Command{a.cmdRun(), a.cmdExec(), a.cmdBypass(), a.cmdPs(), a.cmdAttach(), a.cmdDetach(), a.cmdStop(), a.cmdSession(), a.cmdAgent(), a.cmdTools(), a.cmdMCP()}},
		{"See what a run did:", []*cobra.Command{a.cmdChanges(), log, a.cmdHome()}},
		{"Beyond this machine:", []*cobra.Command{a.cmdExport()}},
		{"Write profiles:", []*cobra.Command{profiles, a.cmdLearn(), a.cmdVerify(), a.cmdRoles(), a.cmdConfig()}},
		{"For scripts and shells:", []*cobra.Command{a.cmdShim(), a.cmdCompletion()}},
	} {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, c := range g.commands {
			c.GroupID = g.title
			root.AddCommand(c)
		}
	}
	for _, c := range []*cobra.Command{a.cmdAudit(), a.cmdReset(), a.cmdResources(), a.cmdVersion(), a.cmdCheckout(), a.cmdPublish(), a.cmdBoxEntry(), a.cmdFence(), a.cmdEgress()} {
		c.Hidden = true
		root.AddCommand(c)
	}
}
