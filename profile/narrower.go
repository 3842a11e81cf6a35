package profile

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/paths"
)

// Narrower says where a run may do less than another: what from grants and to does not, and
// what to takes away and from does not. It is what DiffGrants finds narrower, without what
// is another form of the same or of more: a folder that was read and can be written now,
// a host of a list when the whole network is open, a limit that is higher. What a run
// executes is not compared.
//
// Where it cannot tell, it says narrower.
func Narrower(from, to RunConfig) []Grant {
	_, narrower := DiffGrants(Grants(from), Grants(to))
	narrower = keep(narrower, func(g Grant) bool { return g.Kind != "runs" && (len(g.Items) > 0 || !coveredWhole(g, to)) })
	return Without(narrower, func(g Grant, it Item) bool { return covered(g, it, from, to) })
}

// coveredWhole reports whether a grant of one sentence that is gone is part of another.
func coveredWhole(g Grant, to RunConfig) bool {
	switch {
	case g.Kind == "reads" && g.Key == "minimal "+listedHome.key:
		return !g.Tightens && to.Base != "minimal"
	case g.Kind == "reads" && (strings.HasSuffix(g.Key, wholeHome.key) || g.Key == Toolchains || g.Key == System):
		return !g.Tightens && to.Base != "minimal" && to.Home == "host"
	case g.Kind == "network" && !g.Tightens:
		return to.Network == NetFull
	}
	return false
}

// covered is coveredWhole for an item of a list.
func covered(g Grant, it Item, from, to RunConfig) bool {
	switch g.Kind {
	case "limit":
		return slices.ContainsFunc(Grants(from), func(was Grant) bool {
			return was.Kind == "limit" && slices.ContainsFunc(was.Items, it.contains)
		})
	case "network":
		return to.Network == NetFull && (!g.Tightens || g.Key != "deny")
	case "reads", "writes", "copies": // whoever writes to the folder itself needs no copy
		if g.Kind == "writes" && g.Key == "sandbox.writable" {
			return shows(to, filepath.Join(from.Workdir, it.Text), true)
		}
		return !g.Tightens && it.At == "" && it.Path != "" && shows(to, it.Path, g.Kind != "reads")
	}
	return false
}

// contains reports whether a limit is of the same thing as another one, and is not lower.
func (it Item) contains(other Item) bool {
	key, value, _ := strings.Cut(it.id(), " ")
	of, least, _ := strings.Cut(other.id(), " ")
	high, ok := limitAmount(key, value)
	low, good := limitAmount(of, least)
	return key == of && ok && good && low <= high
}

// shows reports whether a run has a folder of the host at its own place, by its working
// folder or a mount; with write whether it can change it.
func shows(rc RunConfig, path string, write bool) bool {
	holds := func(dir string, mode Mode) bool {
		return paths.Below(cmp.Or(rc.Real[dir], dir), path) && (mode == RW || mode == RO && !write)
	}
	switch {
	case slices.ContainsFunc(rc.Mounts, func(m Mount) bool { return m.Mode == Tmpfs && paths.Below(m.Dest, path) }):
		return false // what is mounted below or over it is another matter
	case holds(rc.Workdir, rc.WorkdirMode):
		return true
	case slices.ContainsFunc(rc.Mounts, func(m Mount) bool { return m.Source == m.Dest && holds(m.Source, m.Mode) }):
		return true
	}
	return !write && rc.Base != "minimal" && rc.Home == "host"
}
