package features

import (
	"cmp"
	"slices"
	"strings"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/sensitive"
	"github.com/enr/inner/profile"
)

// devices binds the nodes of [sandbox] devices into the box's own /dev, and the folders of
// /sys that their programs read where the base does not show them. bwrap mounts everything
// else of the host nodev.
func devices() Feature {
	return Feature{Name: "devices", Keys: []string{"sandbox.devices"}, Make: deviceParts}
}

func deviceParts(run *Run) error {
	add := func(kind plan.OpKind, source, dest, reason string) {
		op := plan.Op{Kind: kind, Source: source, Dest: dest, Reason: reason, Key: "sandbox.devices"}
		run.Assets.Parts = append(run.Assets.Parts, plan.Part{Op: op, Absent: kind == plan.OpReadOnly})
	}
	facts := run.Facts
	for _, name := range run.Spec.Devices {
		set, ok := profile.FindDevices(name)
		if !ok {
			return fault.Refuse(125, "", "profile %q: there is no set of devices %q", run.Spec.Name, name)
		}
		before := len(run.Assets.Parts)
		for _, p := range deviceNodes(set, facts) {
			node := facts.Look(p)
			real := cmp.Or(node.Real, p)
			if !paths.Below("/dev", real) || node.Kind != host.Other && node.Kind != host.Dir {
				continue
			}
			add(plan.OpDevice, real, p, "the devices of "+name+" (sandbox.devices)")
		}
		if len(run.Assets.Parts) == before {
			return fault.Refuse(125, "take \""+name+"\" out of devices",
				"profile %q: this computer has no device %s (sandbox.devices)", run.Spec.Name, strings.Join(set.Nodes, ", "))
		}
		for _, p := range set.Sys {
			if folder := facts.Look(p); folder.Kind == host.Dir && folder.Real == p {
				add(plan.OpReadOnly, p, p, "where the devices of "+name+" are described")
			}
		}
	}
	return nil
}

// deviceNodes are the nodes of a set that there may be on this host.
func deviceNodes(set profile.DeviceSet, f host.Facts) []string {
	var out []string
	for _, p := range set.Nodes {
		if sensitive.IsPattern(p) {
			out = append(out, f.Match("/", p[1:], "")...)
		} else if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}
