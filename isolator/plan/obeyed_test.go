package plan

import (
	"slices"
	"testing"

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
		plan, err := Build(rc, f, staged())
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(plan.Ops, func(o Op) bool { return slices.Equal(o.Words(), []string{"--ro-bind", p, p}) })
	}
	rc := config()
	for _, p := range []string{obeyed, named} {
		if !readOnly(rc, facts(), p) {
			t.Errorf("%s can be written", p)
		}
		if kept := KeptPlaces(rc, facts()); !slices.Contains(kept, p) || slices.Contains(kept, testWork+"/tools/none") {
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
