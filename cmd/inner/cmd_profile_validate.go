package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/builtin"
	"github.com/enr/inner/profile/strict"
	"github.com/enr/inner/shims"
)

func (a *app) cmdProfileValidate() *cobra.Command {
	var all bool
	c := a.Answers(&cobra.Command{
		Use: "validate [NAME|./FILE]…", Short: "Check profiles; exit 1 when one is broken", ValidArgsFunction: a.CompleteProfiles,
		Long: "Check profiles: those that are named, or with --all, or without a name, your own and the\n" +
			"project's. An [error] makes a profile unusable here; with a [warning] it runs.\n" +
			"Exit code 1 when there is an error.",
	}, func(_ *cobra.Command, args []string) (cli.Answer, error) {
		rows := []validated{}
		if all || len(args) == 0 {
			pl, err := a.Ready()
			if err != nil {
				return cli.Answer{}, err
			}
			list, err := a.profilesOf(pl)
			if err != nil {
				return cli.Answer{}, err
			}
			for _, f := range list {
				rows = append(rows, a.validate(f))
			}
		}
		for _, name := range args {
			f, err := a.find(name)
			if err != nil {
				return cli.Answer{}, err
			}
			rows = append(rows, a.validate(f))
		}
		bad := slices.ContainsFunc(rows, func(v validated) bool { return !v.OK })
		return cli.Answer{Value: rows, Words: func() { a.printValidated(rows) }, Code: cli.OneIf(bad)}, nil
	})
	c.Flags().BoolVar(&all, "all", false, "every profile, local and global")
	return c
}

// validated is what is known about one file. Errors make it unusable here;
// warnings do not.
type validated struct {
	Name     string   `json:"name"`
	Path     string   `json:"path"`
	OK       bool     `json:"ok"`
	Errors   []string `json:"errors,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

func (a *app) validate(f found) validated {
	v := validated{Name: cli.NameOf(f.path), Path: f.path}
	p, err := f.load()
	if err != nil {
		v.Errors = strings.Split(err.Error(), "\n")
		return v
	}
	return a.validateLoaded(v, f, p)
}

// validateLoaded goes on where the file itself is in order: does it fit this
// host, and this version of inner?
func (a *app) validateLoaded(v validated, f found, p *profile.Profile) validated {
	rc, _, err := a.Spec(p, f.place, profile.Overrides{}, f.scope == profile.Local)
	switch r := fault.AsRefusal(err); {
	case r != nil && r.Kind == fault.KindWorkdir: // the caller's affair, not the profile's: a project root always serves
		v.Warnings = append(v.Warnings, err.Error())
	case err != nil:
		v.Errors = strings.Split(err.Error(), "\n")
	}
	for _, w := range rc.Warnings() {
		v.Warnings = append(v.Warnings, w.Error())
	}
	if w := a.notInstalled(rc); w != "" {
		v.Warnings = append(v.Warnings, w)
	}
	v.OK = len(v.Errors) == 0
	return v
}

// notInstalled says that the program of a profile is not on this host's PATH, or "". The
// built-in profiles are for agents that one may not have.
func (a *app) notInstalled(rc profile.RunConfig) string {
	cmd := rc.Entrypoint.Cmd
	if cmd == "" || strings.Contains(cmd, "/") || rc.Scope == profile.Global &&
		slices.Contains(builtin.Names(), rc.Name) {
		return ""
	}
	if _, err := a.FindReal(cmd, os.Getenv("PATH")); err == nil {
		return ""
	}
	text := fmt.Sprintf("entrypoint.cmd %q is not installed here", cmd)
	if near := strict.Nearest(cmd, shims.Agents()); near != "" && near != cmd {
		text += fmt.Sprintf(" (did you mean %q?)", near)
	}
	return text
}

func (a *app) printValidated(rows []validated) {
	for _, v := range rows {
		if v.OK {
			fmt.Fprintf(a.Out, "%s: ok\n", cli.Printable(v.Name))
		}
		for _, e := range v.Errors {
			fmt.Fprintf(a.Out, "%s: [error] %s\n", cli.Printable(v.Name), cli.Printable(e))
		}
		for _, w := range v.Warnings {
			fmt.Fprintf(a.Out, "%s: [warning] %s\n", cli.Printable(v.Name), cli.Printable(w))
		}
	}
}
