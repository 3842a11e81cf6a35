package verify

import (
	"slices"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/sensitive"
	"github.com/enr/inner/profile"
)

// hiding looks for every resource of the table, and for what the profile hides.
func (c *checker) hiding() (list []Check) {
	at := map[string]int{} // the check of each key
	for _, r := range c.table {
		i, seen := at[r.Key]
		if !seen {
			i = len(list)
			at[r.Key] = i
			ch := Check{ID: r.Key, Severity: resourceSeverity(r.Key), Probe: "hidden", What: "hidden: " + r.What, Allowed: lifted(c.allowed[r.Key], "allow")}
			ch.Hint = "check the mounts of the profile: inner run --dry-run"
			if slices.Contains(profile.AllowKeys(), r.Key) {
				ch.Key = r.Key
			}
			list = append(list, ch)
		}
		list[i].Places = append(list[i].Places, c.placesOf(r)...)
	}
	if h := c.Facts.Hide; h != nil && len(h.Paths) > 0 {
		ch := Check{ID: "hidden-paths", Severity: High, Probe: "hidden", What: "hidden: sandbox.hide"}
		for _, p := range h.Paths {
			ch.Places = append(ch.Places, c.place(p))
		}
		list = append(list, ch)
	}
	ch := Check{ID: "listening-sockets", Severity: High, Probe: "sockets", What: "nothing that listens on the host in the file system can be reached"}
	for _, s := range c.Facts.Sockets {
		if !c.grantedSocket(s) {
			ch.Places = append(ch.Places, Place{Path: s, Kind: host.Socket})
		}
	}
	return append(list, ch)
}

// placesOf returns the places of a row that the box must not have, under both of their names.
func (c *checker) placesOf(r sensitive.Place) (out []Place) {
	for _, p := range r.At {
		if c.inAllowed(p) || c.Config.Alone(r.Key, c.canon(p)) || c.Config.Home == "host" && slices.Contains(c.Facts.Homes(), p) {
			continue // the second is the user's own
		}
		place := c.place(p)
		out = append(out, place)
		if real := c.canon(p); real != p {
			place.Path = real
			out = append(out, place)
		}
	}
	return out
}

// inAllowed reports whether a place of the table lies in one that the profile
// allows under another key.
func (c *checker) inAllowed(p string) bool {
	return slices.ContainsFunc(c.table, func(r sensitive.Place) bool {
		return c.allowed[r.Key] && slices.ContainsFunc(r.At, func(q string) bool { return q != p && paths.Below(q, p) })
	})
}

func (c *checker) grantedSocket(s string) bool {
	for _, r := range c.table {
		if c.allowed[r.Key] && slices.ContainsFunc(r.At, func(p string) bool { return paths.Below(c.canon(p), s) }) {
			return true
		}
	}
	return slices.ContainsFunc(c.Config.Mounts, func(m profile.Mount) bool { return c.canon(m.Source) == s }) ||
		slices.ContainsFunc(c.Staged.Parts, func(p plan.Part) bool { return p.Op.Bind() && p.Op.Source == s })
}

// resourceSeverity returns how severe it is when a resource of the table is visible.
func resourceSeverity(key string) Severity {
	switch key {
	case "git-credentials":
		return Critical
	case "docker-socket", "netrc", "bash-history", "zsh-history", "fish-history", "repl-history":
		return Medium
	}
	return High
}
