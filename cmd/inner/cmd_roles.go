package main

import (
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
)

// rolesAnswer is what `inner roles` shows.
type rolesAnswer struct {
	File  string     `json:"file"` // the config.toml of the table
	Roles []roleRow  `json:"roles"`
	Order []string   `json:"order,omitempty"`
	Steps []roleStep `json:"steps,omitempty"` // with --check
}

type roleRow struct {
	Role    string `json:"role"`
	Profile string `json:"profile"`
	Error   string `json:"error,omitempty"` // why the profile cannot be used here; with --check
}

// roleStep compares two neighbours of the order.
type roleStep struct {
	From     string   `json:"from"`
	To       string   `json:"to"`
	Narrower []string `json:"narrower"` // where the second may do less than the first
}

func (a *app) cmdRoles() *cobra.Command {
	var asJSON, check bool
	c := &cobra.Command{
		Use: "roles", Short: "Show which profile each role has", Args: cobra.NoArgs,
		Long: "Show the table [roles] of config.toml that is in force here: the project's when it is\n" +
			"allowed and has one, else yours.\n\n" +
			"With --check: load each profile, and compare each role of `order` with the one before it.\n" +
			"Exit code 1 when one may do less anywhere than the one before, or cannot be used.",
		RunE: a.onHost(func(_ *cobra.Command, _ []string) error { return a.roles(check, asJSON) }),
	}
	c.Flags().BoolVar(&check, "check", false, "compare the profiles along the order")
	c.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return c
}

func (a *app) roles(check, asJSON bool) error {
	pl, err := a.Here()
	if err != nil {
		return err
	}
	t, err := a.Roles(pl)
	if err != nil {
		return a.unusable(err, "")
	}
	if t.Roles == nil {
		_, err := a.RoleOf("", pl)
		return err
	}
	out := rolesAnswer{File: t.File, Order: t.Order}
	specs := map[string]profile.RunConfig{}
	bad := false
	for _, kv := range t.Profiles {
		row := roleRow{Role: kv.Key, Profile: kv.Value}
		if check {
			spec, err := a.specOfRole(kv.Value, pl)
			if err != nil {
				row.Error, bad = settings.FirstFault(err), true
			} else {
				specs[kv.Key] = spec
			}
		}
		out.Roles = append(out.Roles, row)
	}
	if check {
		if len(t.Order) < 2 {
			return &fault.Refusal{Code: 125, Kind: fault.KindProfile, Msg: fmt.Sprintf("[roles] of %s has no order to check", a.Short(t.File)), Hint: `add order = ["guest", "member"]`}
		}
		out.Steps = stepsOf(t.Order, specs)
		bad = bad || slices.ContainsFunc(out.Steps, func(s roleStep) bool { return len(s.Narrower) > 0 })
	}
	if asJSON {
		err = a.printJSON(out)
	} else {
		err = a.printRoles(out)
	}
	if err == nil && bad {
		return exit(1)
	}
	return err
}

// specOfRole is what the profile of a role comes to here; one that would not run is an error.
func (a *app) specOfRole(name string, pl settings.Place) (profile.RunConfig, error) {
	p, err := a.Choose(name, pl)
	if err != nil {
		return profile.RunConfig{}, err
	}
	c, err := a.Context(pl, profile.Overrides{}, false)
	if err != nil {
		return profile.RunConfig{}, err
	}
	return settings.Resolve(p, c)
}

func stepsOf(order []string, specs map[string]profile.RunConfig) []roleStep {
	var out []roleStep
	for i := 1; i < len(order); i++ {
		from, ok1 := specs[order[i-1]]
		to, ok2 := specs[order[i]]
		if !ok1 || !ok2 {
			continue // that is told with the role
		}
		step := roleStep{From: order[i-1], To: order[i], Narrower: []string{}}
		for _, g := range profile.Narrower(from, to) {
			text := g.Text
			if !g.Tightens {
				text = "no longer: " + text
			}
			step.Narrower = append(step.Narrower, text)
		}
		out = append(out, step)
	}
	return out
}

func (a *app) printRoles(out rolesAnswer) error {
	t := tabwriter.NewWriter(a.stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "ROLE\tPROFILE\tORDER")
	for _, r := range out.Roles {
		place := "-"
		if i := slices.Index(out.Order, r.Role); i >= 0 {
			place = fmt.Sprint(i + 1)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", printable(r.Role), printable(r.Profile), place)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, r := range out.Roles {
		if r.Error != "" {
			a.Say("role %q: %s", r.Role, r.Error)
		}
	}
	for _, s := range out.Steps {
		for _, text := range s.Narrower {
			a.Say("%s may do less than %s: %s", s.To, s.From, text)
		}
	}
	return nil
}
