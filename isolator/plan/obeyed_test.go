package plan

import (
	"slices"
	"testing"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// What tools outside obey, and what settings of git name, is read-only; with the keys that
// give it away it is not.
func TestObeyedIsReadOnly(t *testing.T) {
	obeyed, named := testWork+"/pkg/.vscode", testWork+"/tools/clean.sh"
	facts := func() host.Facts {
		f := machine()
		f.Paths[testWork+"/pkg"], f.Paths[testWork+"/tools"] = host.Path{Kind: host.Dir, Real: testWork + "/pkg"}, host.Path{Kind: host.Dir, Real: testWork + "/tools"}
		f.Paths[obeyed], f.Paths[named] = host.Path{Kind: host.Dir, Real: obeyed}, host.Path{Kind: host.File, Real: named}
		f.Obeyed, f.Named = []string{obeyed}, []string{named, testWork + "/tools/none"}
		return f
	}
	readOnly := func(rc profile.RunConfig, f host.Facts, p string) bool {
		t.Helper()
		plan, err := build(rc, f, staged())
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(plan.Ops, func(o Op) bool { return slices.Equal(o.Words(), []string{"--ro-bind", p, p}) })
	}
	kept := func(rc profile.RunConfig, f host.Facts) []string {
		plan, err := build(rc, f, staged())
		if err != nil {
			t.Fatal(err)
		}
		return plan.Kept
	}
	rc := config()
	for _, p := range []string{obeyed, named} {
		if !readOnly(rc, facts(), p) {
			t.Errorf("%s can be written", p)
		}
		if kept := kept(rc, facts()); !slices.Contains(kept, p) || slices.Contains(kept, testWork+"/tools/none") {
			t.Errorf("what counts as there before: %q", kept)
		}
	}
	rc.Allow = []string{configKey}
	if readOnly(rc, facts(), obeyed) || !readOnly(rc, facts(), named) {
		t.Error("project-config gives what tools obey, and nothing of git")
	}
	if ObeyedRoots(rc) != nil {
		t.Error("nothing is looked for with project-config")
	}
	rc = config()
	rc.GitDir = "rw"
	if readOnly(rc, facts(), named) || !readOnly(rc, facts(), obeyed) {
		t.Error(`git_dir = "rw" gives what git runs, and nothing else`)
	}
	// In the home are the state and the caches of programs.
	rc = config()
	rc.HomeDir = testHome
	rc.Mounts = []profile.Mount{{Source: testHome + "/.cargo", Dest: testHome + "/.cargo", Mode: profile.RW}, {Source: testHome, Dest: testHome, Mode: profile.RW}, {Source: "/data", Dest: "/data"}}
	if got := ObeyedRoots(rc); !slices.Equal(got, []string{testWork, testHome}) {
		t.Errorf("looked for in %q", got)
	}
}

// What links in start-up folders lead to is read-only, whatever the profile allows; what one could make is refused. A link on the
// way to what settings of git name stays, there or not.
func TestLinksOfTheHome(t *testing.T) {
	link, target := testHome+"/.config/fish/config.fish", testWork+"/config.fish"
	rc, f := config(), machine()
	rc.Allow = []string{configKey}
	f.Startup = []string{link}
	f.Paths[link] = host.Path{Kind: host.File, Real: target}
	plan, err := build(rc, f, staged())
	if err != nil || !slices.ContainsFunc(plan.Ops, func(o Op) bool { return slices.Equal(o.Words(), []string{"--ro-bind", target, target}) }) {
		t.Errorf("%s can be written: %v", target, err)
	}
	f.Paths[link] = host.Path{Kind: host.Missing, Real: link, Link: target}
	if _, err := build(rc, f, staged()); fault.AsRefusal(err) == nil {
		t.Errorf("a link to nothing: %v", err)
	}
	f, way := machine(), testWork+"/way"
	named := way + "/clean.sh"
	f.Named = []string{named}
	f.Paths[named] = host.Path{Kind: host.Missing, Real: testWork + "/tools/clean.sh", Hops: []host.Hop{{Path: way, Target: "tools"}}}
	for gitDir, want := range map[string]int{"": 1, "rw": 0} {
		rc.GitDir = gitDir
		if plan, err = build(rc, f, staged()); err != nil || len(plan.Pins) != want {
			t.Errorf("git_dir %q: %v, %v", gitDir, plan.Pins, err)
		}
	}
}
