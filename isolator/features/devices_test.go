package features

import (
	"slices"
	"strings"
	"testing"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
)

// TestDevices: what is named is bound with its nodes, and what of /sys is needed is shown
// where the base does not; nothing else, and nothing that is no device below /dev.
func TestDevices(t *testing.T) {
	run := &Run{}
	run.Facts.Paths = map[string]host.Path{
		"/dev/kvm": {Kind: host.Other, Real: "/dev/kvm"}, "/dev/fuse": {Kind: host.Other, Real: "/dev/fuse"}, "/dev/dri": {Kind: host.Dir, Real: "/dev/dri"},
		"/dev/nvidia0": {Kind: host.Other, Real: "/dev/nvidia0"}, "/dev/kfd": {Kind: host.Other, Real: "/data/kfd"}, "/sys/devices": {Kind: host.Dir, Real: "/sys/devices"},
	}
	run.Facts.Globs = map[string][]string{"/dev/nvidia[0-9]*": {"/dev/nvidia0"}}
	for _, c := range []struct{ devices, nodes, sys []string }{
		{nil, nil, nil},
		{[]string{"kvm"}, []string{"/dev/kvm /dev/kvm"}, nil},
		{[]string{"kvm", "gpu"}, []string{"/dev/kvm /dev/kvm", "/dev/dri /dev/dri", "/dev/nvidia0 /dev/nvidia0"}, []string{"/sys/devices /sys/devices"}},
	} {
		run.Spec.Devices = c.devices
		run.Assets.Parts = nil
		if err := deviceParts(run); err != nil {
			t.Fatal(err)
		}
		var nodes, sys []string
		for _, p := range run.Assets.Parts {
			text := p.Op.Source + " " + p.Op.Dest
			switch {
			case p.Op.Key != "sandbox.devices":
				t.Errorf("%q: %+v", c.devices, p)
			case p.Op.Kind == plan.OpDevice:
				nodes = append(nodes, text)
			case p.Op.Kind == plan.OpReadOnly && p.Absent:
				sys = append(sys, text)
			default:
				t.Errorf("%q: %+v", c.devices, p)
			}
		}
		if !slices.Equal(nodes, c.nodes) || !slices.Equal(sys, c.sys) {
			t.Errorf("%q: %q, %q", c.devices, nodes, sys)
		}
	}
	run.Spec.Devices = []string{"usb"}
	if err := deviceParts(run); err == nil || !strings.Contains(err.Error(), "no device /dev/bus/usb") {
		t.Errorf("a device that is missing: %v", err)
	}
	for _, s := range profile.DeviceSets() {
		for _, p := range s.Nodes {
			if !strings.HasPrefix(p, "/dev/") {
				t.Errorf("%s: %s", s.Name, p)
			}
		}
	}
}
