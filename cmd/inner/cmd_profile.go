package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/enr/inner/isolator"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/trust"
	"github.com/spf13/cobra"
)

func (a *app) cmdProfile() *cobra.Command {
	c := &cobra.Command{Use: "profile", Short: "List, show and validate profiles"}
	c.AddCommand(a.cmdProfileList(), a.cmdProfileShow(), a.cmdProfileValidate())
	return c
}

// listed is one row of `profile list`.
type listed struct {
	Name         string `json:"name"`
	Scope        string `json:"scope"`
	Path         string `json:"path"`
	Description  string `json:"description"`
	Experimental bool   `json:"experimental,omitempty"`
	Shadowed     bool   `json:"shadowed,omitempty"`
	Trust        string `json:"trust,omitempty"`
	Error        string `json:"error,omitempty"`
}

func (a *app) listProfiles(pl place) []listed {
	l := a.loader(pl)
	var rows []listed
	taken := map[string]bool{}
	add := func(path string, scope profile.Scope) {
		row := listed{Name: strings.TrimSuffix(filepath.Base(path), ".toml"), Scope: string(scope), Path: path}
		row.Shadowed = taken[row.Name]
		taken[row.Name] = true
		p, err := l.Load(path, scope)
		if err != nil {
			row.Error, _, _ = strings.Cut(err.Error(), "\n")
		} else {
			row.Description, row.Experimental = p.Description, p.Experimental
			if scope == profile.Local {
				row.Trust = string(a.verdict(pl, p).State)
			}
		}
		rows = append(rows, row)
	}
	if l.Project != nil {
		files, _ := l.Project.ProfileFiles()
		for _, f := range files {
			add(f, profile.Local)
		}
	}
	local := len(rows)
	files, _ := filepath.Glob(filepath.Join(a.profilesDir(), "*.toml"))
	for _, f := range files {
		add(f, profile.Global)
	}
	byName := func(x, y listed) int { return strings.Compare(x.Name, y.Name) }
	slices.SortFunc(rows[:local], byName)
	slices.SortFunc(rows[local:], byName)
	return rows
}

func (a *app) cmdProfileList() *cobra.Command {
	var wide, asJSON bool
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List profiles", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := a.firstUse(); err != nil {
				return err
			}
			pl, err := a.here()
			if err != nil {
				return err
			}
			rows := a.listProfiles(pl)
			if asJSON {
				return a.printJSON(rows)
			}
			w := tabwriter.NewWriter(a.stdout, 0, 4, 2, ' ', 0)
			for _, r := range rows {
				if r.Shadowed && !wide {
					continue
				}
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
				text := r.Description
				if r.Error != "" {
					text = "broken: " + r.Error
				}
				line := strings.Join(append(marks, text), " ")
				if wide {
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", printable(r.Name), r.Scope, printable(r.Path), printable(line))
				} else {
					fmt.Fprintf(w, "%s\t%s\n", printable(r.Name), printable(line))
				}
			}
			return w.Flush()
		},
	}
	c.Flags().BoolVarP(&wide, "wide", "w", false, "also scope, path and shadowed profiles")
	c.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return c
}

// find is a profile by name, ./FILE or absolute path, for looking at: nothing
// is run, so no approval is needed.
func (a *app) find(name string) (place, *profile.Loader, string, profile.Scope, error) {
	if err := a.firstUse(); err != nil {
		return place{}, nil, "", "", err
	}
	pl, err := a.here()
	if err != nil {
		return place{}, nil, "", "", err
	}
	l := a.loader(pl)
	if name == "" {
		if name, err = a.defaultProfile(pl); err != nil {
			return pl, l, "", "", err
		}
	}
	if strings.ContainsRune(name, '/') {
		path, err := filepath.Abs(name)
		return pl, l, path, profile.Direct, err
	}
	path, scope, err := l.Find(name)
	return pl, l, path, scope, err
}

func (a *app) cmdProfileShow() *cobra.Command {
	var explain, asJSON bool
	c := &cobra.Command{
		Use: "show [NAME|./FILE]", Short: "Print a profile", Args: cobra.MaximumNArgs(1), ValidArgsFunction: a.completeProfiles,
		RunE: func(_ *cobra.Command, args []string) error {
			pl, l, path, scope, err := a.find(strings.Join(args, ""))
			if err != nil {
				return err
			}
			file, err := profile.ReadFile(path)
			if err != nil {
				return err
			}
			if !asJSON {
				if isTerminal(os.Stdout) {
					for _, line := range strings.SplitAfter(string(file.Data), "\n") {
						fmt.Fprint(a.stdout, printable(strings.TrimSuffix(line, "\n")), strings.Repeat("\n", strings.Count(line, "\n")))
					}
				} else {
					a.stdout.Write(file.Data)
				}
			}
			if !explain && !asJSON {
				return nil
			}
			p, err := l.Load(path, scope)
			if err != nil {
				return err
			}
			c, err := a.context(pl, profile.Overrides{}, false)
			if err != nil {
				return err
			}
			rc, err := resolve(p, c)
			if err != nil && isolator.AsRefusal(err) == nil {
				return err // a working folder that cannot be used is not the profile's fault
			}
			if asJSON {
				return a.printJSON(map[string]any{"name": p.Name, "path": p.Path, "scope": p.Scope, "sha256": file.Digest, "toml": string(file.Data), "grants": profile.Grants(rc)})
			}
			fmt.Fprintf(a.stdout, "\n# ── what it grants ───\n")
			a.printGrants(profile.Grants(rc))
			a.explainCapabilities(rc)
			return nil
		},
	}
	c.Flags().BoolVar(&explain, "explain", false, "also what it grants, in words")
	c.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return c
}

func (a *app) cmdProfileValidate() *cobra.Command {
	var all, asJSON bool
	c := &cobra.Command{
		Use: "validate [NAME|./FILE]…", Short: "Check profiles; exit 1 when one is broken", ValidArgsFunction: a.completeProfiles,
		RunE: func(_ *cobra.Command, args []string) error {
			var rows []validated
			if all || len(args) == 0 {
				if err := a.firstUse(); err != nil {
					return err
				}
				pl, err := a.here()
				if err != nil {
					return err
				}
				for _, r := range a.listProfiles(pl) {
					rows = append(rows, a.validate(r.Path, profile.Scope(r.Scope)))
				}
			}
			for _, name := range args {
				_, _, path, scope, err := a.find(name)
				if err != nil {
					return err
				}
				rows = append(rows, a.validate(path, scope))
			}
			return a.printValidated(rows, asJSON)
		},
	}
	c.Flags().BoolVar(&all, "all", false, "every profile, local and global")
	c.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return c
}

// validated is what is known about one file. Errors make it unusable;
// warnings say why a run would be refused here.
type validated struct {
	Name     string   `json:"name"`
	Path     string   `json:"path"`
	OK       bool     `json:"ok"`
	Errors   []string `json:"errors,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

func (a *app) validate(path string, scope profile.Scope) validated {
	v := validated{Name: strings.TrimSuffix(filepath.Base(path), ".toml"), Path: path}
	pl, err := a.here()
	if err != nil {
		v.Errors = []string{err.Error()}
		return v
	}
	p, err := a.loader(pl).Load(path, scope)
	if err != nil {
		v.Errors = strings.Split(err.Error(), "\n")
		return v
	}
	c, err := a.context(pl, profile.Overrides{}, scope == profile.Local)
	if err != nil {
		v.Errors = []string{err.Error()}
		return v
	}
	// The working folder is the caller's affair, not the profile's: a project
	// root always serves.
	rc, err := resolve(p, c)
	switch {
	case err != nil && isolator.AsRefusal(err) == nil:
		v.Errors = strings.Split(err.Error(), "\n")
	case err != nil:
		v.Warnings = append(v.Warnings, err.Error())
	}
	v.OK = len(v.Errors) == 0
	if err == nil {
		for _, n := range rc.NotEnforced() {
			v.Warnings = append(v.Warnings, "does not run with this version: "+n)
		}
	}
	return v
}

func (a *app) printValidated(rows []validated, asJSON bool) error {
	bad := false
	for _, v := range rows {
		bad = bad || !v.OK
	}
	if asJSON {
		if err := a.printJSON(rows); err != nil {
			return err
		}
	} else {
		for _, v := range rows {
			if v.OK {
				fmt.Fprintf(a.stdout, "%s: ok\n", printable(v.Name))
			}
			for _, e := range v.Errors {
				fmt.Fprintf(a.stdout, "%s: [error] %s\n", printable(v.Name), printable(e))
			}
			for _, w := range v.Warnings {
				fmt.Fprintf(a.stdout, "%s: [warning] %s\n", printable(v.Name), printable(w))
			}
		}
	}
	if bad {
		return exit(1)
	}
	return nil
}
