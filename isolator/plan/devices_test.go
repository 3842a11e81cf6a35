package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// TestDevices: what is named is bound with its nodes, and what of /sys is needed is shown
// where the base does not; nothing else, and nothing that is no device below /dev.
func TestDevices(t *testing.T) {
	f := machine()
	for p, info := range map[string]host.Path{
		"/dev/kvm": {Kind: host.Other, Real: "/dev/kvm"}, "/dev/fuse": {Kind: host.Other, Real: "/dev/fuse"}, "/dev/dri": {Kind: host.Dir, Real: "/dev/dri"},
		"/dev/nvidia0": {Kind: host.Other, Real: "/dev/nvidia0"}, "/dev/kfd": {Kind: host.Other, Real: "/data/kfd"}, "/sys/devices": {Kind: host.Dir, Real: "/sys/devices"},
	} {
		f.Paths[p] = info
	}
	f.Globs["/dev/nvidia[0-9]*"] = []string{"/dev/nvidia0"}
	bound := func(base string, devices ...string) ([]string, Plan) {
		rc := config()
		rc.Base, rc.Devices = base, devices
		if base == "minimal" {
			rc.Home = "isolated"
			systemOf(f)
		}
		plan, err := Build(rc, f, staged())
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, a := range plan.Ops {
			if a.Kind == OpDevice {
				out = append(out, a.Source+" "+a.Dest)
				if a.Key != "sandbox.devices" {
					t.Errorf("%s is there because of %q", a.Dest, a.Key)
				}
			}
		}
		return out, plan
	}
	for _, c := range []struct{ devices, want []string }{
		{nil, nil},
		{[]string{"kvm"}, []string{"/dev/kvm /dev/kvm"}},
		{[]string{"kvm", "gpu"}, []string{"/dev/kvm /dev/kvm", "/dev/dri /dev/dri", "/dev/nvidia0 /dev/nvidia0"}},
	} {
		for _, base := range []string{"host", "minimal"} {
			got, plan := bound(base, c.devices...)
			if !slices.Equal(got, c.want) {
				t.Errorf("%s, %q: %q", base, c.devices, got)
			}
			sys := slices.Contains(c.devices, "gpu") || base == "host"
			if seen, write := replayed(plan).shown("/sys/devices"); (seen == "/sys/devices") != sys || write {
				t.Errorf("%s, %q: /sys/devices shows %q", base, c.devices, seen)
			}
		}
	}
	rc := config()
	rc.Devices = []string{"usb"}
	if _, err := Build(rc, f, staged()); err == nil || !strings.Contains(err.Error(), "no device /dev/bus/usb") {
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
