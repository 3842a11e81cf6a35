package main

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

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/config"
)

// isCommand reports whether a word means something to inner already.
func (a *app) isCommand(root *cobra.Command, word string) bool {
	if word == "help" || cli.Completes(word) || isFormer(word) {
		return true
	}
	return slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == word || c.HasAlias(word) })
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
	words, err := config.Expand(list[i], workspaces)
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

// completeAliases offers the aliases that can be used here.
func (a *app) completeAliases(root *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
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
