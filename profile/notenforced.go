package profile

import "fmt"

// NotEnforced lists what the profile asks for and this version of inner cannot
// enforce, one line each. When it is not empty nothing may run: no layer is
// dropped in silence.
func (rc RunConfig) NotEnforced() []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if rc.Network == NetFull && len(rc.NetworkDeny) > 0 {
		add("sandbox.network_allow: the whole network has no exceptions")
	}
	return out
}
