package plan

import (
	"slices"
	"strings"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/sensitive"
	"github.com/enr/inner/profile"
)

// devices binds the nodes of [sandbox] devices into the box's own /dev, and the folders of
// /sys that their programs read where the base does not show them. bwrap mounts everything
// else of the host nodev.
func (b *builder) devices() error {
	b.because("sandbox.devices")
	for _, name := range b.rc.Devices {
		set, ok := profile.FindDevices(name)
		if !ok {
			return fault.Refuse(125, "", "profile %q: there is no set of devices %q", b.rc.Name, name)
		}
		reason := "the devices of " + name + " (sandbox.devices)"
		found := false
		for _, p := range deviceNodes(set, b.f) {
			real := b.canon(p)
			if !paths.Below("/dev", real) || b.kind(p) != host.Other && b.kind(p) != host.Dir {
				continue
			}
			found = true
			b.mount(Op{Kind: OpDevice, Source: real, Dest: p, Reason: reason})
		}
		if !found {
			return fault.Refuse(125, "take "+quote(name)+" out of devices", "profile %q: this computer has no device %s (sandbox.devices)", b.rc.Name, strings.Join(set.Nodes, ", "))
		}
		for _, p := range set.Sys {
			if l, hostPath := b.view.at(p); b.kind(p) == host.Dir && b.canon(p) == p && (!l.bind() || hostPath != p) {
				b.bind("where the devices of "+name+" are described", p, p, false)
			}
		}
	}
	return nil
}

// Devices are the box paths at which a run may have a device of this computer, or a folder of
// them.
func Devices(rc profile.RunConfig, f host.Facts) (nodes []string) {
	for _, name := range rc.Devices {
		set, _ := profile.FindDevices(name)
		nodes = append(nodes, deviceNodes(set, f)...)
	}
	if slices.Contains(rc.Allow, nestedKey) {
		nodes = append(nodes, nestedDevices()...)
	}
	return nodes
}

// deviceAsks are the paths and patterns of the devices of a run.
func deviceAsks(rc profile.RunConfig) (paths, globs []string) {
	for _, name := range rc.Devices {
		set, _ := profile.FindDevices(name)
		paths = append(paths, set.Sys...)
		for _, p := range set.Nodes {
			if sensitive.IsPattern(p) {
				globs = append(globs, p)
			} else {
				paths = append(paths, p)
			}
		}
	}
	return paths, globs
}

// deviceNodes are the nodes of a set that there may be on this host.
func deviceNodes(set profile.DeviceSet, f host.Facts) []string {
	var out []string
	for _, p := range set.Nodes {
		if sensitive.IsPattern(p) {
			out = append(out, f.Globs[p]...)
		} else if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}
