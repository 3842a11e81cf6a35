package main

import (
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/isolator/settings"
)

// whoFlags say for whom a program runs.
type whoFlags struct {
	as, actor string
	asked     bool // --as was given, be it empty
}

func (w *whoFlags) add(a *app, c *cobra.Command) {
	w.addRole(a, c)
	c.Flags().StringVar(&w.actor, "actor", "", "on whose behalf it runs, for the audit log: `TEXT`")
	_ = c.RegisterFlagCompletionFunc("actor", cobra.NoFileCompletions)
}

// addRole is for commands that run nothing for anybody.
func (w *whoFlags) addRole(a *app, c *cobra.Command) {
	c.Flags().StringVar(&w.as, "as", "", "the profile that [roles] of config.toml gives this role: `NAME`")
	_ = c.RegisterFlagCompletionFunc("as", a.completeRoles)
}

// maxActor is how long the text of --actor may be, in bytes.
const maxActor = 256

func (w *whoFlags) check(c *cobra.Command) error {
	w.asked = c.Flags().Changed("as")
	if w.asked && c.Flags().Changed("profile") {
		return usagef("--as and -p contradict each other: a role has its profile")
	}
	if w.asked && slices.Contains([]string{"doctor", "verify"}, c.Name()) && c.Flags().NArg() > 0 {
		return usagef("--as and %q name two profiles", c.Flags().Arg(0))
	}
	if len(w.actor) > maxActor || strings.ContainsFunc(w.actor, unicode.IsControl) {
		return usagef("--actor: the text is longer than %d bytes, or has a control character", maxActor)
	}
	return nil
}

// roleFlags finds the profile of a role, when one was asked for, and what the audit log
// has of it.
func (a *app) roleFlags(w whoFlags, pl settings.Place, name *string) (runlog.By, error) {
	if !w.asked {
		return runlog.By{Actor: w.actor}, nil
	}
	role, err := a.RoleOf(w.as, pl)
	if err != nil {
		return runlog.By{}, err
	}
	*name = role.Profile
	return role.By(w.actor, ""), nil
}

func (a *app) completeRoles(_ *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	pl, err := a.Here()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	t, err := a.Roles(pl)
	if err != nil || t.Roles == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, kv := range t.Profiles {
		names = append(names, kv.Key)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
