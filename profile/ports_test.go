package profile

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The lists of the network must fit the mode, also when another file says it.
func TestNetworkLists(t *testing.T) {
	const base = "V1\n[sandbox]\nnetwork_mode = \"allowlist\"\nnetwork_allow = [\"a.example\", \"!b.example\"]\npublish = [\"3000\"]\nhost_ports = [\"5432:15432\"]\n"
	yes, no := true, false
	for _, c := range []struct {
		child string
		flag  *bool
		want  string
	}{
		{"", nil, "allowlist [a.example] [b.example] [3000] [5432:15432]"},
		{"[sandbox]\nnetwork_mode = \"ask\"\npublish = [\"-3000\", \"8080:3000\"]", nil, "ask [a.example] [b.example] [8080:3000] [5432:15432]"},
		{"[sandbox]\nnetwork = false", nil, "off [] [b.example] [3000] [5432:15432]"},
		{"", &yes, "G/base.toml:4: sandbox.network_allow: the whole network has no exceptions"},
		{"", &no, "off [a.example] [b.example] [3000] [5432:15432]"},
		{"[sandbox]\nnetwork = true", nil, "G/base.toml:4: sandbox.network_allow: network_mode is \"full\", which reads no list (network_mode = \"allowlist\" does)\nG/base.toml:5: sandbox.publish: network_mode is \"full\": the box has this computer's ports already (take it out)\nG/base.toml:6: sandbox.host_ports: network_mode is \"full\": the box has this computer's ports already (take it out)"},
		{"[sandbox]\nnetwork = true\nnetwork_allow = [\"-!b.example\"]\npublish = [\"-3000\"]\nhost_ports = [\"-5432:15432\"]", nil, "full [] [] [] []"},
		{"[sandbox]\nnetwork = false\nnetwork_allow = [\"c.example\"]", nil, "G/p.toml:5: sandbox.network_allow: network_mode is \"off\", which reads no list (network_mode = \"allowlist\" does)"},
		{"[sandbox]\npublish = [\"3000:4000\"]\nhost_ports = [\"1:15432\"]", nil, "G/p.toml:4: sandbox.publish: port 3000 is listed twice\nG/p.toml:5: sandbox.host_ports: port 15432 is listed twice"},
		{"[sandbox]\npublish = [\"8080:15432\"]", nil, "G/p.toml:4: sandbox.publish: port 15432 of the box is taken by host_ports (G/base.toml:6)"},
	} {
		w := newWorld(t, map[string]string{"base": base, "p": "V1\nextends = \"base\"\n" + c.child})
		must(t, os.MkdirAll(filepath.Join(w.project, "pkg"), 0o700))
		p, err := w.load("p")
		must(t, err)
		ctx := w.context()
		ctx.Overrides.Network = c.flag
		rc, err := p.Resolve(ctx)
		got := w.short(err)
		if err == nil {
			got = fmt.Sprintf("%s %v %v %v %v", rc.Network, rc.NetworkAllow, rc.NetworkDeny, rc.Publish, rc.HostPorts)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s\n%s", c.child, diff)
		}
	}
}
