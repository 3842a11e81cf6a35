package plan

import (
	"slices"
	"testing"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// TestParts: what a feature adds is there with its key and its variables; what the box
// has anyway is not added, and hiding comes after all of it.
func TestParts(t *testing.T) {
	f := machine()
	f.Paths["/dev/kvm"] = host.Path{Kind: host.Other, Real: "/dev/kvm"}
	f.Paths["/sys/devices"] = host.Path{Kind: host.Dir, Real: "/sys/devices"}
	parts := []Part{
		{Op: Op{Kind: OpData, Perms: 0o444, Dest: "/run/inner/x", Key: "b"}, Data: []byte("x"), Env: []profile.KV{{Key: "X", Value: "1"}}},
		{Op: Op{Kind: OpDevice, Source: "/dev/kvm", Dest: "/dev/kvm", Key: "a"}},
		{Op: Op{Kind: OpReadOnly, Source: "/sys/devices", Dest: "/sys/devices", Key: "a"}, Absent: true},
		{Op: Op{Kind: OpReadOnly, Source: testHome, Dest: testHome, Key: "c"}},
	}
	for _, base := range []string{"host", "minimal"} {
		rc, s := config(), staged()
		rc.Base, s.Parts = base, parts
		if base == "minimal" {
			rc.Home = "isolated"
			systemOf(f)
		}
		p, err := build(rc, f, s)
		if err != nil {
			t.Fatal(err)
		}
		at := func(key string) int { return slices.IndexFunc(p.Ops, func(o Op) bool { return o.Key == key }) }
		tmp := slices.IndexFunc(p.Ops, func(o Op) bool { return o.Dest == "/tmp" })
		if at("b") < tmp || at("a") < at("b") || at("c") < at("a") || !slices.Contains(p.Env, "X=1") {
			t.Errorf("%s: %d %d %d %d", base, at("a"), tmp, at("b"), at("c"))
		}
		twice := slices.ContainsFunc(p.Ops, func(o Op) bool { return o.Key == "a" && o.Kind == OpReadOnly })
		if twice != (base == "minimal") {
			t.Errorf("%s: /sys/devices is added: %t", base, twice)
		}
		if got := replayed(p).everywhere(testHome + "/.ssh"); len(got) > 0 {
			t.Errorf("%s: what is hidden is shown again: %q", base, got)
		}
	}
	// A socket that somebody listens on is shown by itself, and not with its folder.
	for source, want := range map[string]bool{"/data/db.sock": true, "/data": false} {
		s := staged()
		s.Parts = []Part{{Op: Op{Kind: OpReadOnly, Source: source, Dest: "/run/inner/x"}}}
		p, err := build(config(), f, s)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(replayed(p).everywhere("/data/db.sock")) > 0; got != want {
			t.Errorf("%s is added: its socket is shown: %t", source, got)
		}
	}
	for _, kind := range []OpKind{OpBind, OpMask, OpSwitch, OpSeal, OpProc, OpDev, OpFilter} {
		s := staged()
		s.Parts = []Part{{Op: Op{Kind: kind, Source: "/data", Dest: "/data"}}}
		if _, err := build(config(), f, s); err == nil {
			t.Errorf("kind %d is added", kind)
		}
	}
}
