package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/enr/inner/hooks"
	"github.com/enr/inner/hooks/usershell"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/agenthook"
	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/stage"
)

func (a *app) cmdUninstall() *cobra.Command {
	var yes, all bool
	c := &cobra.Command{
		Use: "uninstall", Short: "Remove what inner keeps, and say what is left to do", Args: cobra.NoArgs,
		Long: "Remove the shims, the record of what you allowed and the logs, after asking, and name the lines of your\n" +
			"shells' files that load the hook. Profiles, config.toml and workspaces are yours and stay, and so do changes\n" +
			"that a box kept for you, and the homes and git directories of boxes; --all removes them too. No project is touched.",
		RunE: a.onHost(func(_ *cobra.Command, _ []string) error { return a.uninstall(yes, all) }),
	}
	yesFlag(c, &yes)
	c.Flags().BoolVar(&all, "all", false, "also what you and the boxes made: profiles, config.toml, workspaces, kept changes, homes and git directories of boxes")
	return c
}

func (a *app) uninstall(yes, all bool) error {
	stuck, _ := features.Sweep(a.Caller)
	for _, err := range stuck {
		a.Warn("an empty file or folder that an earlier run made is still there: %v", err)
	}
	if stage.Pending(a.InnerHome) {
		return fault.Refuse(1, "end it, then inner uninstall", "a sandbox is running")
	}
	remove, keep, err := a.belongings(all)
	if err != nil {
		return err
	}
	if len(remove) == 0 {
		a.Say("%s holds nothing to remove", a.Short(a.InnerHome))
	} else {
		fmt.Fprintf(a.stderr, "to be removed from %s:\n", printable(a.Short(a.InnerHome)))
		for _, name := range remove {
			fmt.Fprintf(a.stderr, "  %s\n", printable(name))
		}
		if len(keep) > 0 {
			fmt.Fprintf(a.stderr, "to stay: %s\n", printable(strings.Join(keep, ", ")))
		}
		if err := a.askFor("Remove these?", yes, "inner uninstall --yes"); err != nil {
			return err
		}
		for _, name := range remove {
			if err := copytree.Remove(filepath.Join(a.InnerHome, name)); err != nil {
				return err
			}
		}
		if len(keep) == 0 {
			_ = os.Remove(a.InnerHome)
		}
	}
	if err := stage.Uninstall(a.StageBase()); err != nil {
		return err
	}
	return a.leftToDo()
}

// belongings are the entries of INNER_HOME: what goes, and what stays because
// the user made it. What inner does not know stays, too.
func (a *app) belongings(all bool) (remove, keep []string, err error) {
	entries, err := os.ReadDir(a.InnerHome)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	own := []string{"shims", "trust", "logs", "tools", "copies", "runs", "builtins", "registries.json", "proc.json"}
	made := []string{"profiles", "config.toml", "workspaces", "changes", "git", "repositories", "homes", "sessions"}
	for _, e := range entries {
		switch name := e.Name(); {
		case slices.Contains(own, name), strings.HasSuffix(name, ".lock"), all && slices.Contains(made, name):
			remove = append(remove, name)
		default:
			keep = append(keep, name)
		}
	}
	return remove, keep, nil
}

// leftToDo names what only the person can remove: what is in their own files, and the
// program.
func (a *app) leftToDo() error {
	for _, agent := range agenthook.Agents() {
		if it, err := a.agentFiles(agent, toolFlags{}); err == nil && it.installed() {
			a.Say("left to you: %s has a hook or a shell of inner; type: inner agent uninstall %s", a.Short(it.file), agent)
		}
	}
	said := map[usershell.Line]bool{} // several shells read ~/.profile
	for _, shell := range hooks.Shells() {
		for _, l := range a.startup().Lines(shell) {
			if said[l] {
				continue
			}
			if l.LoadsHook(shell) || strings.Contains(l.Text, a.ShimDir()) { // the other is of init --login
				said[l] = true
				a.Say("left to you: line %d of %s: %s", l.Number, a.Short(l.File), l.Text)
			}
		}
	}
	if self, err := os.Executable(); err == nil {
		a.Say("left to you: %s", a.Short(self))
		if suite := filepath.Join(filepath.Dir(self), suiteName); files.Exists(suite) {
			a.Say("left to you: %s, the attacks of inner verify --attack", a.Short(suite))
		}
	}
	a.Say("left to you: the .inner folders of your projects")
	a.Say("shells that are open keep the hook until they end")
	return nil
}
