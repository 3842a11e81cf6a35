package main

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/tell"
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
	var check bool
	c := a.answersOnHost(&cobra.Command{
		Use: "roles", Short: "Show which profile each role has", Args: cobra.NoArgs,
		Long: "Show the table [roles] of config.toml that is in force here: the project's when it is\n" +
			"allowed and has one, else yours.\n\n" +
			"With --check: load each profile, and compare each role of `order` with the one before it.\n" +
			"Exit code 1 when one may do less anywhere than the one before, or cannot be used.",
	}, func(*cobra.Command, []string) (answer, error) {
		out, bad, err := a.roles(check)
		return answer{value: out, words: func() { a.printRoles(out) }, code: oneIf(bad)}, err
	})
	c.Flags().BoolVar(&check, "check", false, "compare the profiles along the order")
	return c
}

// roles is the table of roles, and with check whether something is wrong with it.
func (a *app) roles(check bool) (out rolesAnswer, bad bool, err error) {
	pl, err := a.Here()
	if err != nil {
		return out, false, err
	}
	t, err := a.Roles(pl)
	if err != nil {
		return out, false, a.unusable(err, "")
	}
	if t.Roles == nil {
		_, err := a.RoleOf("", pl)
		return out, false, err
	}
	out = rolesAnswer{File: t.File, Order: t.Order}
	for _, kv := range t.Profiles {
		out.Roles = append(out.Roles, roleRow{Role: kv.Key, Profile: kv.Value})
	}
	if !check {
		return out, false, nil
	}
	specs := map[string]profile.RunConfig{}
	for i, row := range out.Roles {
		spec, err := a.specHere(row.Profile)
		if err != nil {
			out.Roles[i].Error, bad = settings.FirstFault(err), true
			continue
		}
		specs[row.Role] = spec
	}
	if len(t.Order) < 2 {
		return out, false, &fault.Refusal{Code: 125, Kind: fault.KindProfile, Msg: fmt.Sprintf("[roles] of %s has no order to check", a.Short(t.File)), Hint: `add order = ["guest", "member"]`}
	}
	out.Steps = stepsOf(t.Order, specs)
	bad = bad || slices.ContainsFunc(out.Steps, func(s roleStep) bool { return len(s.Narrower) > 0 })
	return out, bad, nil
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

func (a *app) printRoles(out rolesAnswer) {
	rows := [][]string{{"ROLE", "PROFILE", "ORDER"}}
	for _, r := range out.Roles {
		place := "-"
		if i := slices.Index(out.Order, r.Role); i >= 0 {
			place = strconv.Itoa(i + 1)
		}
		rows = append(rows, []string{r.Role, r.Profile, place})
	}
	tell.Table(a.stdout, rows)
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
}
