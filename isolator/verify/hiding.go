package verify

import (
	"slices"
	"strings"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/sensitive"
	"github.com/enr/inner/profile"
)

func (c *checker) hiding() {
	at := map[string]int{} // the check of each key
	for _, r := range c.table {
		i, seen := at[r.Key]
		if !seen {
			i = len(c.list)
			at[r.Key] = i
			c.resource(r.Resource)
		}
		c.list[i].Places = append(c.list[i].Places, c.placesOf(r)...)
	}
	c.waysThrough()
	ch := c.add("hidden-paths", High, "hidden", "hidden: sandbox.hide")
	if h := c.Facts.Hide; h != nil {
		for _, p := range h.Paths {
			ch.Places = append(ch.Places, c.place(p))
		}
	}
	c.dropEmpty()
	ch = c.add("listening-sockets", High, "sockets", "nothing that listens on the host in the file system can be reached")
	for _, s := range c.Facts.Sockets {
		if !c.grantedSocket(s) {
			ch.Places = append(ch.Places, Place{Path: s, Kind: host.Socket})
		}
	}
}

// resource adds the check of a key of the table.
func (c *checker) resource(r sensitive.Resource) {
	ch := c.add(r.Key, resourceSeverity(r.Key), "hidden", "hidden: "+r.What)
	ch.Hint = "check the mounts of the profile: inner run --dry-run"
	if slices.Contains(profile.AllowKeys(), r.Key) {
		ch.Key = r.Key
	}
	ch.lift(c.allowed[r.Key], "allow")
}

// placesOf returns the places of a row that the box must not have, under both of their names.
func (c *checker) placesOf(r sensitive.Place) (out []Place) {
	for _, p := range r.At {
		if c.lifted(p) || c.Config.Home == "host" && slices.Contains(c.Facts.Homes(), p) {
			continue // the second is the user's own
		}
		place := c.place(p)
		place.Covered = c.covered(p) || c.Staged.Heads[c.canon(p)] != ""
		out = append(out, place)
		if real := c.canon(p); real != p {
			place.Path = real
			out = append(out, place)
		}
	}
	return out
}

// waysThrough lets a hidden folder show the one entry that leads to a declared
// place, or is one: the folder that holds all homes is empty but for this one, and
// a file can be shown alone in a folder that stays hidden.
func (c *checker) waysThrough() {
	var ways []string
	for _, p := range slices.Concat(plan.ToolPlaces(), c.Facts.Homes(), c.granted()) {
		ways = append(ways, p, c.canon(p))
	}
	for i := range c.list {
		ch := &c.list[i]
		if ch.Probe != "hidden" {
			continue
		}
		for _, place := range ch.Places {
			for _, p := range ways {
				if rest, ok := strings.CutPrefix(p, place.Path+"/"); ok {
					first, _, _ := strings.Cut(rest, "/")
					ch.Names = append(ch.Names, first)
				}
			}
		}
		slices.Sort(ch.Names)
		ch.Names = slices.Compact(ch.Names)
	}
}

// lifted reports whether a place of the table lies in one that the profile
// allows under another key.
func (c *checker) lifted(p string) bool {
	return slices.ContainsFunc(c.table, func(r sensitive.Place) bool {
		return c.allowed[r.Key] && slices.ContainsFunc(r.At, func(q string) bool { return q != p && paths.Below(q, p) })
	})
}

// covered reports whether the profile itself put something at a host path that
// is hidden: a clone, or a mount from elsewhere.
func (c *checker) covered(p string) bool {
	p = c.canon(p)
	if home := c.canon(c.Facts.Home); c.Config.Home == "own" && p != home && paths.Below(home, p) {
		return true // see home-own: whatever lies there is the box's
	}
	if slices.ContainsFunc(c.Plan.Caches, func(own plan.CachePlace) bool { return paths.Below(own.At, p) }) {
		return true // whatever lies there is the box's
	}
	for _, box := range c.Staged.Places() {
		if box = c.canon(box); paths.Below(p, box) || paths.Below(box, p) {
			return true
		}
	}
	return slices.ContainsFunc(c.Config.Mounts, func(m profile.Mount) bool {
		return m.Mode != profile.Tmpfs && paths.Below(c.canon(m.Dest), p) && c.canon(m.Source) != c.canon(m.Dest)
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
