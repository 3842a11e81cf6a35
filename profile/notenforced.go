package profile

import "fmt"

// NotEnforced lists what the profile asks for and this version of inner cannot
// enforce, one line each. When it is not empty nothing may run: no layer is
// dropped in silence.
func (rc RunConfig) NotEnforced() []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if rc.Network == NetFull && len(rc.NetworkDeny) > 0 {
		add("sandbox.network_deny: the whole network has no exceptions")
	}
	if !rc.PIDNamespace {
		add("sandbox.pid_namespace = false: without it processes could outlive the run")
	}
	if rc.CgroupManager == "systemd" {
		add(`sandbox.cgroup_manager = "systemd": inner makes control groups itself, and asks no systemd`)
	}
	return out
}
