package plan

import (
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/enr/inner/profile"
)

// ports says what listens on the loopback of the box, and what of it is reached
// from outside. With the host's own network there is no loopback of the box.
func (b *builder) ports() {
	if b.rc.Network == profile.NetFull {
		return
	}
	where := func(p profile.Port) string {
		if p.Line == 0 { // a setting of the user's, not of a profile
			return p.File
		}
		return fmt.Sprintf("%s:%d", filepath.Base(p.File), p.Line)
	}
	if b.rc.Network.ByName() {
		b.plan.Listen = append(b.plan.Listen,
			Listen{Port: profile.ProxyPort, Reason: fmt.Sprintf("the proxy (sandbox.network_mode = %q)", b.rc.Network)})
	}
	for _, p := range b.rc.HostPorts {
		b.plan.Listen = append(b.plan.Listen,
			Listen{Port: p.Box, HostPort: p.Host, Reason: "a service of this computer (sandbox.host_ports, " + where(p) + ")"})
	}
	for _, p := range b.rc.Publish {
		b.plan.Publish = append(b.plan.Publish,
			Publish{Port: p.Box, HostPort: p.Host, Reason: "within reach of this computer (sandbox.publish, " + where(p) + ")"})
	}
}

// proxyEnv tells programs where the proxy is, for those that ask one: others reach the same by the names of hosts. What
// is on the box's own loopback is reached without it.
func proxyEnv(rc profile.RunConfig) []profile.KV {
	if !rc.Network.ByName() {
		return nil
	}
	at := "127.0.0.1:" + strconv.Itoa(profile.ProxyPort)
	var env []profile.KV
	set := func(value string, names ...string) {
		for _, n := range names {
			env = append(env, profile.KV{Key: n, Value: value})
		}
	}
	// curl reads http_proxy in lower case only, others the one or the other.
	set("http://"+at, "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
	set("localhost,127.0.0.1,::1", "NO_PROXY", "no_proxy")
	return env
}
