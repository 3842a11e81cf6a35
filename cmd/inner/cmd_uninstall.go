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

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/hooks"
	"github.com/enr/inner/hooks/usershell"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/owned"
	"github.com/enr/inner/isolator/stage"
)

func (a *app) cmdUninstall() *cobra.Command {
	var yes, all bool
	c := &cobra.Command{
		Use: "uninstall", Short: "Remove what inner keeps, and say what is left to do", Args: cobra.NoArgs,
		Long: "Remove the shims, the record of what you allowed, the logs and the lines that inner init --hook wrote, after\n" +
			"asking, and name the other lines of your shells' files that load the hook. Profiles, config.toml and workspaces\n" +
			"are yours and stay, and so do changes that a box kept for you, and the homes and git directories of boxes; --all\n" +
			"removes them too. No project is touched.",
		RunE: a.OnHost(func(_ *cobra.Command, _ []string) error { return a.uninstall(yes, all) }),
	}
	cli.YesFlag(c, &yes)
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
	written := a.rcsWithHook()
	if len(remove)+len(written) == 0 {
		a.Say("%s holds nothing to remove", a.Short(a.InnerHome))
	} else {
		fmt.Fprintf(a.Err, "to be removed from %s:\n", cli.Printable(a.Short(a.InnerHome)))
		for _, name := range remove {
			fmt.Fprintf(a.Err, "  %s\n", cli.Printable(name))
		}
		for _, h := range written {
			fmt.Fprintf(a.Err, "to be removed from %s:\n  %s\n", cli.Printable(a.Short(h.file)), cli.Printable(h.line))
		}
		if len(keep) > 0 {
			fmt.Fprintf(a.Err, "to stay: %s\n", cli.Printable(strings.Join(keep, ", ")))
		}
		if err := a.askFor("Remove these?", yes, "inner uninstall --yes"); err != nil {
			return err
		}
		for _, name := range remove {
			if err := copytree.Remove(filepath.Join(a.InnerHome, name)); err != nil {
				return err
			}
		}
		for _, h := range written {
			if err := files.Rewrite(files.Real(h.file), []byte(h.without)); err != nil {
				return err
			}
		}
		if len(keep) == 0 {
			_ = os.Remove(a.InnerHome)
		}
	}
	if err := uninstallStage(a.StageBase()); err != nil {
		return err
	}
	return a.leftToDo()
}

// rcWithHook is a start-up file with the hook as inner init wrote it, and its text without it.
type rcWithHook struct{ file, line, without string }

func (a *app) rcsWithHook() (list []rcWithHook) {
	for _, shell := range hooks.Shells() {
		_, line := a.startup().HookLine(shell)
		for _, l := range a.startup().Lines(shell) {
			if l.Text != line {
				continue
			}
			data, err := os.ReadFile(l.File)
			if rest, found := usershell.Without(string(data), hookComment, line); err == nil && found {
				list = append(list, rcWithHook{l.File, line, rest})
			}
		}
	}
	return list
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
	// registries.json is of a version that asked the package managers of this computer.
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
	programs := a.Programs()
	if agent := slices.IndexFunc(programs, func(p string) bool { return filepath.Base(p) == "inner-agent" }); agent >= 0 {
		cmd := a.Command(programs[agent], "agent", "left")
		cmd.Stderr = os.Stderr
		a.WarnIf(cmd.Run())
	}
	said := map[usershell.Line]bool{} // several shells read ~/.profile
	for _, shell := range hooks.Shells() {
		for _, l := range a.startup().Lines(shell) {
			if said[l] {
				continue
			}
			if l.LoadsHook(shell) || strings.Contains(l.Text, a.ShimDir()) { // the other puts that folder on PATH
				said[l] = true
				a.Say("left to you: line %d of %s: %s", l.Number, a.Short(l.File), l.Text)
			}
		}
	}
	if saved := a.startup().SavedForNu(); files.Exists(saved) {
		programs = append(programs, saved)
	}
	for _, file := range append([]string{a.Inner}, programs...) {
		a.Say("left to you: %s", a.Short(file))
	}
	a.Say("left to you: the .inner folders of your projects")
	a.Say("shells that are open keep the hook until they end")
	return nil
}

// uninstallStage removes base itself when no run has a folder in it.
func uninstallStage(base string) error {
	gate, err := owned.Gate(base)
	if err != nil {
		return err
	}
	defer gate.Close()
	if living, err := owned.Living(base); err != nil || len(living) > 0 { // a run began meanwhile
		return err
	}
	return copytree.Remove(base)
}
