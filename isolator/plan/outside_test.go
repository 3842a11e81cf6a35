package plan

import (
	"slices"
	"testing"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// TestOutside: what is hidden where somebody may write is the launcher's, with the folders on the way, as it was looked
// at; what is in memory, in the system, or holds something that is shown is bwrap's.
func TestOutside(t *testing.T) {
	secret, id := testWork+"/a/b/x.pem", host.ID{Dev: 1, Ino: 77}
	made := func(change func(*profile.RunConfig, *host.Facts)) (outside []string, plan Plan) {
		rc, f := config(), machine()
		f.MoveMount = true
		rc.Hide, f.Hide = []string{"x.pem"}, &host.Hide{Paths: []string{secret, "/etc/x.pem"}}
		for _, dir := range []string{testWork + "/a", testWork + "/a/b"} {
			f.Paths[dir] = host.Path{Kind: host.Dir, Real: dir}
		}
		f.Paths[secret] = host.Path{Kind: host.File, Real: secret, ID: id}
		f.Paths["/etc/x.pem"] = host.Path{Kind: host.File, Real: "/etc/x.pem"}
		change(&rc, &f)
		plan, err := build(rc, f, staged())
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range plan.Outside() {
			outside = append(outside, o.Dest)
		}
		return outside, plan
	}
	same := func(*profile.RunConfig, *host.Facts) {}
	outside, plan := made(same)
	for _, p := range []string{testWork + "/a", testWork + "/a/b", secret} {
		if !slices.Contains(outside, p) || slices.Contains(plan.Words(), p) {
			t.Errorf("%s: outside %q, bwrap %q", p, outside, plan.Words())
		}
	}
	for _, o := range plan.Outside() {
		if o.Dest == secret && o.Probed != id {
			t.Errorf("%v instead of %v", o.Probed, id)
		}
	}
	for _, p := range []string{"/etc/x.pem", testHome + "/.inner"} {
		if slices.Contains(outside, p) || !slices.Contains(plan.Words(), p) {
			t.Errorf("%s: outside %q, bwrap %q", p, outside, plan.Words())
		}
	}
	if outside, _ = made(func(_ *profile.RunConfig, f *host.Facts) { f.MoveMount = false }); len(outside) > 0 {
		t.Errorf("what cannot be mounted from outside: %q", outside)
	}
	// What is read-only is the launcher's, too, unless it is hidden as well.
	held := testWork + "/a/.envrc"
	for _, hidden := range []bool{false, true} {
		outside, plan = made(func(rc *profile.RunConfig, f *host.Facts) {
			f.Obeyed = []string{held}
			if f.Paths[held] = (host.Path{Kind: host.File, Real: held}); hidden {
				f.Hide.Paths = append(f.Hide.Paths, held)
			}
		})
		if n := len(slices.DeleteFunc(slices.Clone(plan.Ops), func(o Op) bool { return o.Dest != held })); n != 1 || !slices.Contains(outside, held) {
			t.Errorf("%t: outside %q, bwrap %q", hidden, outside, plan.Words())
		}
	}
	// A file in a folder that is hidden, too, is not hidden twice.
	_, plan = made(func(rc *profile.RunConfig, f *host.Facts) { f.Hide.Paths = []string{secret, testWork + "/a"} })
	if slices.ContainsFunc(plan.Ops, func(o Op) bool { return o.Dest == secret }) {
		t.Errorf("%q", plan.Words())
	}
}
