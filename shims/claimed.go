package shims

import "slices"

// Claimed returns the commands that do not simply run in the folder e.Cwd: those that
// a project around it, or the user's own config.toml, claims, sorted. Where a claim
// cannot be excluded the agents are among them, for they are refused.
func Claimed(e Env) []string {
	if inBox(e.Marker) || e.SetID || e.CwdErr != nil {
		return nil
	}
	e.Name = "" // which no profile claims, so that every project is looked at
	var d Decision
	d.projects(e)
	d.global(e)
	var out []string
	for _, v := range d.Views {
		out = append(out, v.claimed()...)
		if len(v.Uncertain) > 0 {
			out = append(out, Agents()...)
		}
	}
	if d.Config != nil {
		for _, kv := range d.Config.Shims {
			out = append(out, kv.Key)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// claimed are the commands that do not simply run because of a project.
func (v *View) claimed() (words []string) {
	for _, p := range v.all() {
		for _, c := range p.Claims {
			if c.Guarded && !p.Unread {
				words = append(words, c.Command)
			}
		}
	}
	return words
}
