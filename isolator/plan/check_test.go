package plan

import (
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// TestCheck: random operations, added to or taken from the plans of random profiles, are refused where an
// independent reading of the list sees what is hidden, can write what is held, or writes what no grant gives.
func TestCheck(t *testing.T) {
	sources := []string{"/", "/data", "/data/private", "/home", testHome, testHome + "/.ssh", testHome + "/.ssh/keys", testHome + "/.config", testHome + "/.bashrc", testWork, testWork + "/.inner", testWork + "/.git"}
	dests := append([]string{"/mnt", "/tmp/x", "/opt/y"}, sources[1:]...)
	refused, bad := 0, 0
	for seed := range 400 {
		rnd := rand.New(rand.NewSource(int64(seed)))
		any := func(list []string) string { return list[rnd.Intn(len(list))] }
		rc, f, s := config(), machine(), staged()
		f.Paths["/data/private"] = host.Path{Kind: host.Dir, Real: "/data/private"}
		rc.Home, rc.Hide = any([]string{"host", "isolated"}), []string{"/data/private"}
		f.Hide = &host.Hide{Paths: rc.Hide}
		for range rnd.Intn(3) {
			rc.Mounts = append(rc.Mounts, profile.Mount{Source: any(sources[:5]), Dest: any(dests[:4]), Mode: []profile.Mode{profile.RO, profile.RW}[rnd.Intn(2)], File: "x.toml", Line: 1})
		}
		plan, err := build(rc, f, s)
		if err != nil {
			continue
		}
		ops, i := slices.Clone(plan.Ops), rnd.Intn(len(plan.Ops))
		if o := (Op{Kind: []OpKind{OpReadOnly, OpBind}[rnd.Intn(2)], Source: any(sources), Dest: any(dests), Reason: "random"}); rnd.Intn(3) > 0 {
			ops = slices.Insert(ops, i, o)
		} else if ops[i].Kind != OpSwitch {
			ops = slices.Delete(ops, i, i+1)
		}
		b := newBuilder(rc, f, s)
		b.home, b.plan.Ops = b.canon(f.Home), ops
		err = b.check()
		r, why := replayed(b.plan), ""
		for _, h := range b.hidden() {
			if h.kind.Seen() && len(r.everywhere(h.real))+len(r.everywhere(h.real+"/child")) > 0 {
				why = h.real + " is seen"
			}
		}
		for _, p := range []string{testWork + "/.inner", testHome + "/.bashrc"} {
			for _, at := range r.everywhere(p) {
				if _, write := r.shown(at); write {
					why = p + " can be written"
				}
			}
		}
		for _, m := range r {
			granted := slices.ContainsFunc(rc.WritableRoots(), func(root string) bool { return inside(root, m.source) })
			if m.source != "" && m.write && !granted && !inside("/run/user/1000/inner", m.source) && !inside(testHome+"/.inner", m.source) {
				why = "nothing grants " + m.source
			}
		}
		if why != "" {
			bad++
		}
		if err != nil {
			refused++
		}
		if why != "" && err == nil {
			t.Errorf("seed %d: %s, and the check says nothing\n%s", seed, why, strings.Join(b.plan.Words(), " "))
		}
	}
	if bad < 50 || refused < bad {
		t.Errorf("of the lists %d were bad and %d refused", bad, refused)
	}
}

// TestCheckMade: what bwrap makes lies in memory: it would write over a file of the host.
func TestCheckMade(t *testing.T) {
	for _, kind := range []OpKind{OpFile, OpDir, OpSymlink} {
		for dest, wrong := range map[string]bool{"/run/inner/x": false, testWork + "/x": true, "/etc/passwd": true} {
			rc, f, s := config(), machine(), staged()
			b := newBuilder(rc, f, s)
			b.home = b.canon(f.Home)
			b.plan.Ops = []Op{{Kind: OpReadOnly, Source: "/", Dest: "/"}, {Kind: OpTmpfs, Dest: "/run"}, {Kind: OpBind, Source: testWork, Dest: testWork}, {Kind: kind, Dest: dest}}
			if err := b.check(); (err != nil && strings.Contains(err.Error(), "not in memory")) != wrong {
				t.Errorf("%v at %s: %v", kind, dest, err)
			}
		}
	}
}

// TestCheckCopy: a copy of what lies in a hidden folder shows a part of that.
func TestCheckCopy(t *testing.T) {
	for original, wrong := range map[string]bool{"/data/private/sub": true, "/data/private": true, "/data": false} {
		rc, f, s := config(), machine(), staged()
		f.Paths["/data/private"] = host.Path{Kind: host.Dir, Real: "/data/private"}
		rc.Hide = []string{"/data/private"}
		f.Hide = &host.Hide{Paths: rc.Hide}
		b := newBuilder(rc, f, s)
		b.home = b.canon(f.Home)
		b.plan.Ops = []Op{{Kind: OpTmpfs, Dest: "/"}, {Kind: OpBind, Source: testHome + "/.inner/copies/1/0", original: original, Dest: "/tmp/x"}}
		if err := b.check(); (err != nil) != wrong {
			t.Errorf("a copy of %s: %v", original, err)
		}
	}
}

// TestCheckOutside: what the launcher makes last covers nothing that bwrap mounts for the box to see.
func TestCheckOutside(t *testing.T) {
	mask, bind := Op{Kind: OpTmpfs, Perms: 0o555, Dest: testWork, Outside: true}, Op{Kind: OpReadOnly, Source: "/data", Dest: testWork + "/x"}
	for wrong, ops := range map[bool][]Op{true: {mask, bind}, false: {bind, mask}} {
		b := newBuilder(config(), machine(), staged())
		b.home = testHome
		b.plan.Ops = append([]Op{{Kind: OpTmpfs, Dest: "/"}}, ops...)
		if err := b.check(); (err != nil && strings.Contains(err.Error(), "would cover")) != wrong {
			t.Errorf("%v: %v", ops, err)
		}
	}
}
