package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/completions"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
	"github.com/spf13/cobra"
)

func (a *app) cmdCompletion() *cobra.Command {
	return &cobra.Command{
		Use: "completion " + strings.Join(completions.Shells(), "|"), Short: "Print the completion script of a shell",
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: completions.Shells(),
		RunE: func(_ *cobra.Command, args []string) error {
			text, _ := completions.Script(args[0])
			_, err := fmt.Fprint(tell.Raw(a.stdout), text)
			return err
		},
	}
}

// completeOneProfile is completeProfiles for the first argument only.
func (a *app) completeOneProfile(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeProfiles(cmd, args, word)
}

// completeCommands offers the commands that have a shim: those that can be asked about, or
// run outside the sandbox.
func (a *app) completeCommands(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	names, _ := a.Folder().List() // none yet
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeProfiles offers profile names: the names of files, and for trusted
// places a description. It reads nothing of a project beyond the folder.
func (a *app) completeProfiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	add := func(files []string, what string) {
		for _, f := range files {
			if name := nameOf(f); profile.CheckName(name) == nil {
				names = append(names, name+"\t"+printable(what))
			}
		}
	}
	if pl, err := a.Here(); err == nil && pl.Project != nil && pl.Project.Problem == nil {
		if files, err := pl.Project.ProfileFiles(); err == nil {
			add(files, "local")
		}
	}
	files, _ := filepath.Glob(filepath.Join(a.ProfilesDir(), "*.toml"))
	l := a.Loader(settings.Place{})
	for _, f := range files {
		what := "global"
		if p, err := l.Load(f, profile.Global); err == nil && p.Description != "" {
			what = p.Description
		}
		add([]string{f}, what)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
