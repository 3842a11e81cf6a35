package main

import (
	"slices"

	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/config"
)

// rolesAnswer is what inner doctor --roles shows.
type rolesAnswer struct {
	File  string     `json:"file"` // the config.toml of the table
	Roles []roleRow  `json:"roles"`
	Steps []roleStep `json:"steps,omitempty"`
}

type roleRow struct {
	Role    string `json:"role"`
	Profile string `json:"profile"`
	Error   string `json:"error,omitempty"` // why the profile cannot be used here
}

// roleStep compares two neighbours.
type roleStep struct {
	From     string   `json:"from"`
	To       string   `json:"to"`
	Narrower []string `json:"narrower"` // where the second may do less than the first
}

// roles is the table of roles that is in force here, and whether something is wrong with it: each profile is loaded,
// and each role compared with the one before it.
func (a *app) roles() (out rolesAnswer, bad bool, err error) {
	pl, err := a.Here()
	if err != nil {
		return out, false, err
	}
	t, err := a.Roles(pl)
	if err != nil {
		return out, false, a.Unusable(err, "")
	}
	if t.Roles == nil {
		_, err := a.RoleOf("", pl)
		return out, false, err
	}
	out = rolesAnswer{File: t.File}
	for _, kv := range t.Profiles {
		out.Roles = append(out.Roles, roleRow{Role: kv.Key, Profile: kv.Value})
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
	out.Steps = stepsOf(out.Roles, specs)
	bad = bad || slices.ContainsFunc(out.Steps, func(s roleStep) bool { return len(s.Narrower) > 0 })
	return out, bad, nil
}

// stepsOf compares each role with the one before it, as far as they can be used. Who has none is no step.
func stepsOf(rows []roleRow, specs map[string]profile.RunConfig) []roleStep {
	var out []roleStep
	last := ""
	for _, row := range rows {
		to, ok := specs[row.Role]
		if !ok || row.Role == config.AnyRole {
			continue
		}
		before := last
		if last = row.Role; before == "" {
			continue
		}
		from := specs[before]
		step := roleStep{From: before, To: row.Role, Narrower: []string{}}
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
	rows := [][]string{{"ROLE", "PROFILE"}}
	for _, r := range out.Roles {
		rows = append(rows, []string{r.Role, r.Profile})
	}
	tell.Table(a.Out, rows)
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
