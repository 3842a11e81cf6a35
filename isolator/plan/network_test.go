package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/enr/inner/profile"
)

// Ports and proxy variables are there when the mode asks for them, and a
// namespace of its own always but with the host's network.
func TestNetwork(t *testing.T) {
	port := profile.Port{Host: 8080, Box: 3000, File: "/x/p.toml", Line: 7}
	for _, c := range []struct {
		mode          profile.Network
		namespace     bool
		listen        string
		publish, http string
	}{
		{profile.NetOff, true, "[{3000 8080 a service of this computer (sandbox.host_ports, p.toml:7)}]", "[{3000 8080 within reach of this computer (sandbox.publish, p.toml:7)}]", "http://inherited"},
		{profile.NetFull, false, "[]", "[]", "http://inherited"},
		{profile.NetAllowlist, true, `[{61080 0 the proxy (sandbox.network_mode = "allowlist")} {3000 8080 a service of this computer (sandbox.host_ports, p.toml:7)}]`, "[{3000 8080 within reach of this computer (sandbox.publish, p.toml:7)}]", "http://127.0.0.1:61080"},
		{profile.NetAsk, true, `[{61080 0 the proxy (sandbox.network_mode = "ask")} {3000 8080 a service of this computer (sandbox.host_ports, p.toml:7)}]`, "[{3000 8080 within reach of this computer (sandbox.publish, p.toml:7)}]", "http://127.0.0.1:61080"},
	} {
		rc := profile.RunConfig{
			Name: "p", Workdir: testWork, Cwd: testWork, WorkdirMode: profile.RW, Home: "host", GitDir: "checked", Proc: "auto", Seccomp: "off", Base: "host",
			Network: c.mode, HostPorts: []profile.Port{port}, Publish: []profile.Port{port},
			Env: profile.Env{Inherit: []string{"HTTP_PROXY"}, Set: []profile.KV{{Key: "no_proxy", Value: "mine"}}},
		}
		f := machine()
		f.Env["HTTP_PROXY"] = "http://inherited"
		p, err := build(rc, f, Staged{RunID: "r", Empty: "/run/user/1000/inner/empty", Program: "/usr/bin/bash", Argv: []string{"bash"}})
		if err != nil {
			t.Errorf("%s: %v", c.mode, err)
			continue
		}
		if got := slices.Contains(p.Words(), "--unshare-net"); got != c.namespace {
			t.Errorf("%s: a namespace of its own: %t", c.mode, got)
		}
		if diff := cmp.Diff([]string{c.listen, c.publish}, []string{fmt.Sprint(p.Listen), fmt.Sprint(p.Publish)}); diff != "" {
			t.Errorf("%s: %s", c.mode, diff)
		}
		env := "\n" + strings.Join(p.Env, "\n") + "\n"
		for _, want := range []string{"HTTP_PROXY=" + c.http, "no_proxy=mine"} {
			if !strings.Contains(env, "\n"+want+"\n") {
				t.Errorf("%s: no %s in %s", c.mode, want, env)
			}
		}
		if got := strings.Contains(env, "\nALL_PROXY=http://127.0.0.1:61080\n"); got != c.mode.ByName() {
			t.Errorf("%s: ALL_PROXY: %t", c.mode, got)
		}
	}
}
