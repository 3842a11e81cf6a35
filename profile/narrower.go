package profile

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/profile/strict"
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
	var out []Grant
	for _, g := range narrower {
		if g.Kind == "runs" {
			continue
		}
		if len(g.Items) > 0 {
			g.Items = slices.DeleteFunc(slices.Clone(g.Items), func(it Item) bool { return covered(g, it, from, to) })
			if len(g.Items) == 0 {
				continue
			}
			g.Render()
		} else if coveredWhole(g, to) {
			continue
		}
		out = append(out, g)
	}
	return out
}

// coveredWhole reports whether a grant of one sentence that is gone is part of another.
func coveredWhole(g Grant, to RunConfig) bool {
	switch {
	case g.Kind == "reads" && g.Key == "minimal "+listedHome.key:
		return !g.Tightens && to.Base != "minimal"
	case g.Kind == "reads" && (strings.HasSuffix(g.Key, wholeHome.key) || g.Key == Toolchains):
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
		if strings.HasPrefix(it.Text, "time ") {
			return !sooner(from, to)
		}
		return limitKey(it) != "" && !lower(limitKey(it), from.Limits, to.Limits)
	case "network":
		return to.Network == NetFull && (!g.Tightens || g.Key != "deny")
	case "reads":
		return !g.Tightens && it.At == "" && it.Path != "" && shows(to, it.Path, false)
	case "writes":
		if g.Key == "sandbox.writable" {
			return shows(to, filepath.Join(from.Workdir, it.Text), true)
		}
		return !g.Tightens && it.At == "" && it.Path != "" && shows(to, it.Path, true)
	case "copies": // whoever writes to the folder itself needs no copy
		return !g.Tightens && it.At == "" && it.Path != "" && shows(to, it.Path, true)
	}
	return false
}

// shows reports whether a run has a folder of the host at its own place, by its working
// folder or a mount; with write whether it can change it.
func shows(rc RunConfig, path string, write bool) bool {
	real := func(p string) string {
		if r := rc.Real[p]; r != "" {
			return r
		}
		return p
	}
	for _, m := range rc.Mounts { // what is mounted below or over it is another matter
		if m.Mode == Tmpfs && paths.Below(m.Dest, path) {
			return false
		}
	}
	if paths.Below(real(rc.Workdir), path) && (rc.WorkdirMode == RW || rc.WorkdirMode == RO && !write) {
		return true
	}
	for _, m := range rc.Mounts {
		if m.Source == m.Dest && paths.Below(real(m.Source), path) && (m.Mode == RW || m.Mode == RO && !write) {
			return true
		}
	}
	return !write && rc.Base != "minimal" && rc.Home == "host"
}

func limitKey(it Item) string {
	key, _, _ := strings.Cut(it.ID, " ")
	return key
}

// sooner reports whether the time limit of to is the shorter one.
func sooner(from, to RunConfig) bool {
	return to.Output.Timeout > 0 && (from.Output.Timeout == 0 || to.Output.Timeout < from.Output.Timeout)
}

// lower reports whether one limit of to is lower than that of from, or there and not in from.
func lower(key string, from, to Limits) bool {
	return LimitField{key, strict.Number{V: strict.Scalar(*to.field(key))}}.below(*from.field(key))
}
