package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/isolator/sensitive"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/trust"
)

// listed is one row of `profile list`.
type listed struct {
	Name         string `json:"name"`
	Scope        string `json:"scope"`
	Path         string `json:"path"`
	Description  string `json:"description"`
	Default      bool   `json:"default,omitempty"`
	Experimental bool   `json:"experimental,omitempty"`
	Shadowed     bool   `json:"shadowed,omitempty"`
	Trust        string `json:"trust,omitempty"`
	Error        string `json:"error,omitempty"`
}

func (a *app) cmdProfileList() *cobra.Command {
	var wide bool
	c := a.Answers(&cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List profiles", Args: cobra.NoArgs,
		Long: "List profiles. * marks the default one, [local] those of the project here, [experimental]\n" +
			"those that do not start, [shadowed] your own that the project has one of the same name for.",
	}, func(*cobra.Command, []string) (cli.Answer, error) {
		pl, err := a.Ready()
		if err != nil {
			return cli.Answer{}, err
		}
		if pl.Project != nil && pl.Project.Problem != nil {
			a.Warn("the profiles of %s are not used: %v", a.Short(pl.Root()), pl.Project.Problem)
		}
		rows, err := a.listProfiles(pl)
		return cli.Answer{Value: rows, Words: func() { a.printProfiles(rows, wide) }}, err
	})
	c.Flags().BoolVarP(&wide, "wide", "w", false, "also scope, path and shadowed profiles")
	return c
}

func (a *app) listProfiles(pl settings.Place) ([]listed, error) {
	all, err := a.profilesOf(pl)
	if err != nil {
		return nil, err
	}
	name, err := a.DefaultProfile(pl)
	if err != nil {
		a.Fail(err)
	}
	rows := []listed{}
	taken := map[string]bool{}
	for _, f := range all {
		row := listed{Name: cli.NameOf(f.path), Scope: string(f.scope), Path: f.path}
		row.Shadowed = taken[row.Name]
		row.Default = row.Name == name && !row.Shadowed
		taken[row.Name] = true
		p, err := f.load()
		if err != nil {
			row.Error, _, _ = strings.Cut(err.Error(), "\n")
		} else {
			row.Description, row.Experimental = p.Description, p.Experimental
			if f.scope == profile.Local {
				row.Trust = string(a.Verdict(pl, p).State)
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (a *app) printProfiles(list []listed, wide bool) {
	if len(list) == 0 {
		a.Say("there are no profiles")
		a.Hint("inner init, or inner profile new NAME")
		return
	}
	rows := [][]string{{"NAME", "DESCRIPTION"}}
	if wide {
		rows = [][]string{{"NAME", "SCOPE", "PATH", "DESCRIPTION"}}
	}
	for _, r := range list {
		name := r.Name
		if r.Default {
			name += " *"
		}
		switch {
		case wide:
			rows = append(rows, []string{name, r.Scope, a.Short(r.Path), r.text()})
		case !r.Shadowed:
			rows = append(rows, []string{name, r.text()})
		}
	}
	cli.Table(a.Out, rows)
}

// text is the description of a row, after what there is to know before it.
func (r listed) text() string {
	var marks []string
	if r.Experimental {
		marks = append(marks, "[experimental]")
	}
	if r.Scope == string(profile.Local) {
		marks = append(marks, "[local]")
	}
	if r.Trust != "" && r.Trust != string(trust.Allowed) {
		marks = append(marks, "["+r.Trust+"]")
	}
	if r.Shadowed {
		marks = append(marks, "[shadowed]")
	}
	if r.Error != "" {
		marks = append(marks, "broken: "+r.Error)
	} else if r.Description != "" {
		marks = append(marks, r.Description)
	}
	return strings.Join(marks, " ")
}

// cmdResources prints the table of what a box does not see.
func (a *app) cmdResources() *cobra.Command {
	return a.Answers(&cobra.Command{
		Use:   "resources",
		Short: "List what is hidden from every box, and the key that allows each",
		Args:  cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
	}, func(*cobra.Command, []string) (cli.Answer, error) {
		return cli.Answer{Value: sensitive.Resources(), Words: func() {
			rows := [][]string{{"KEY", "WHAT", "KIND", "METHOD", "PATHS"}}
			for _, r := range sensitive.Resources() {
				shown := strings.Join(r.Paths[:min(3, len(r.Paths))], " ")
				if more := len(r.Paths) - 3; more > 0 {
					shown += fmt.Sprintf(" … and %d more", more)
				}
				rows = append(rows, []string{r.Key, r.What, r.Kind, r.Method, shown})
			}
			cli.Table(a.Out, rows)
		}}, nil
	})
}
