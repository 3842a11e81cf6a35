package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/plan"
)

// TestHidden: while bwrap makes the box, who writes the folder moves, removes or exchanges what is hidden, or a folder
// on the way. Either that is hidden, or nothing starts: and nothing is made, neither there nor where a link leads.
func TestHidden(t *testing.T) {
	for attack, starts := range map[string]bool{
		"true":                   true,
		"echo MORE >>a/sub/.env": true,
		"ln a/sub/.env hard":     true, // a name that nobody hides
		"mv a b; mv b a":         true,
		"rm a/sub/.env":          false,
		"rm -r a/sub":            false,
		"mv a/sub/.env a/sub/.x": false,
		"mv a/sub/.env .env":     false,
		"mv a/sub a/sub2":        false,
		"mv a b":                 false,
		"mv a b; cp -r b a":      false,
		"mv a/sub sub; mkdir a/sub; mv sub/.env a/sub/.x; echo SECRET >a/sub/.env": false,
		"mv a/sub sub; mkdir a/sub":                                  false,
		"mv a/sub sub; ln -s ../sub a/sub":                           false,
		"mv a/sub sub; ln -s $PWD/victim a/sub":                      false,
		"mv a/sub sub; ln -s /oldroot$PWD/victim a/sub":              false,
		"mv a b; ln -s /oldroot$PWD/victim a; mkdir victim/sub":      false,
		"mv a/sub/.env x; ln -s ../../x a/sub/.env":                  false,
		"mv a/sub/.env x; ln -s /oldroot$PWD/victim/.env a/sub/.env": false,
		"rm a/sub/.env; mkdir a/sub/.env":                            false,
		"mv a/sub/.env x; ln other a/sub/.env; mv x other":           false,
		"mv hidden x; mkdir hidden":                                  false,
		"mv hidden x; ln -s x hidden":                                false,
		"rm -r hidden; echo SECRET >hidden":                          false,
		"mv hidden x; ln -s /oldroot$PWD/victim/hidden hidden":       false,
		"mv hidden x; mv a hidden; mv x a; cp -r hidden/sub a":       false,
		"mv empty.pem x; ln other empty.pem":                         false,
		"mv empty.pem x; mv other empty.pem; mv x other":             false,
		"rm empty.pem hidden/file; rmdir hidden":                     false,
	} {
		dir := t.TempDir()
		for _, d := range []string{"a/sub", "hidden", "victim"} {
			must(t, os.MkdirAll(filepath.Join(dir, d), 0o755))
		}
		for _, f := range []string{"a/sub/.env", "hidden/file", "empty.pem", "other"} {
			must(t, os.WriteFile(filepath.Join(dir, f), []byte("SECRET\n"), 0o644))
		}
		j := sh("cat a/sub/.env hidden/* empty.pem 2>&1; mv a b; rm -f a/sub/.env; (echo x >a/sub/.env); touch hidden/x; ls hidden")
		j.Args, j.Dir, j.Attack = []string{"--bind", dir, dir}, dir, "cd "+dir+"; "+attack
		j.Data = [][]byte{[]byte("MASK\n")}
		for _, o := range []plan.Op{
			{Kind: plan.OpBind, Dest: "a"},
			{Kind: plan.OpBind, Dest: "a/sub"},
			{Kind: plan.OpData, Dest: "a/sub/.env"},
			{Kind: plan.OpTmpfs, Perms: 0o555, Dest: "hidden"},
			{Kind: plan.OpMask, Dest: "empty.pem"},
		} {
			o.Dest, o.Outside = filepath.Join(dir, o.Dest), true
			if o.Kind != plan.OpBind {
				o.Probed = host.Look(o.Dest).ID
			}
			j.Outside = append(j.Outside, o)
		}
		before := filesIn(t, dir)
		r, out, errs := j.run(t)
		switch {
		case starts && (r.Code != 0 || !strings.HasPrefix(out, "MASK\ncat: ") || strings.Contains(out, "SECRET")):
			t.Errorf("%s: %+v %q %q", attack, r, out, errs)
		case !starts && (r.Started || out != "" || !strings.Contains(r.Reason, "was replaced")):
			t.Errorf("%s: it started: %+v %q %q", attack, r, out, errs)
		}
		for at, ino := range filesIn(t, dir) { // by the box, or for it
			if text, _ := os.ReadFile(at); len(text) == 0 && before[at] != ino {
				t.Errorf("%s: %s was made", attack, at)
			}
		}
	}
}

// TestHeld: what is read-only in a folder that somebody writes is what was found there, in its place, or nothing starts.
func TestHeld(t *testing.T) {
	for attack, starts := range map[string]bool{
		"true":                                true,
		"mv a b; mv b a":                      true,
		"rm a/.envrc":                         false,
		"mv a/.envrc a/x; echo x >a/.envrc":   false,
		"mv a b; ln -s /oldroot$PWD/victim a": false,
		"mv a b; cp -r b a":                   false,
		"mv a/tools x; ln -s ../x a/tools":    false,
		"mv a/tools x; mkdir a/tools":         false,
	} {
		dir := t.TempDir()
		for _, d := range []string{"a/tools", "victim"} {
			must(t, os.MkdirAll(filepath.Join(dir, d), 0o755))
		}
		for _, f := range []string{"a/.envrc", "a/tools/x", "a/tools/.env"} {
			must(t, os.WriteFile(filepath.Join(dir, f), []byte("HERE\n"), 0o644))
		}
		j := sh("cat a/.envrc a/tools/*; ls -A a; (echo x >>a/.envrc; touch a/tools/y; rm a/.envrc; mv a b) 2>/dev/null; grep -r x a; cat a/tools/.env")
		j.Args, j.Dir, j.Attack = []string{"--bind", dir, dir}, dir, "cd "+dir+"; "+attack
		j.Outside = (plan.Plan{Ops: []plan.Op{
			{Kind: plan.OpBind, Dest: filepath.Join(dir, "a"), Outside: true},
			{Kind: plan.OpReadOnly, Dest: filepath.Join(dir, "a/.envrc"), Outside: true},
			{Kind: plan.OpReadOnly, Dest: filepath.Join(dir, "a/tools"), Outside: true},
			{Kind: plan.OpMask, Dest: filepath.Join(dir, "a/tools/.env"), Outside: true},
		}}).Outside()
		for i := range j.Outside {
			if o := &j.Outside[i]; o.Kind != plan.OpBind {
				o.Probed = host.Look(o.Dest).ID
			}
		}
		before := filesIn(t, dir)
		r, out, errs := j.run(t)
		if starts && out != "HERE\nHERE\n.envrc\ntools\n" || !starts && (r.Started || !strings.Contains(r.Reason, "was replaced")) {
			t.Errorf("%s: %+v %q %q", attack, r, out, errs)
		}
		for at, ino := range filesIn(t, dir) {
			if text, _ := os.ReadFile(at); len(text) == 0 && before[at] != ino {
				t.Errorf("%s: %s was made", attack, at)
			}
		}
	}
}

// TestHiddenNotOpened: what cannot be opened, for whatever reason, is looked at anew: no other box is made in which bwrap
// hides it.
func TestHiddenNotOpened(t *testing.T) {
	dir := t.TempDir()
	j := sh("true")
	j.Args = []string{"--bind", dir, dir}
	j.Outside = []plan.Op{{Kind: plan.OpMask, Dest: filepath.Join(dir, strings.Repeat("x", 256)), Outside: true}}
	if r, _, _ := j.run(t); r.Started || r.Forbidden || !strings.Contains(r.Reason, "was replaced") {
		t.Errorf("%+v", r)
	}
}

// TestHiddenInLate: so it is for what is hidden in a folder that the launcher mounts, at the start or later.
func TestHiddenInLate(t *testing.T) {
	for attack, starts := range map[string]bool{
		"true":                             true,
		"mv sub sub2; mv sub2 sub":         true,
		"rm sub/.env":                      false,
		"mv sub/.env x; mv y sub/.env":     false,
		"mv sub/.env sub/x; cp y sub/.env": false,
		"mv sub x; ln -s x sub":            false,
		"mv hidden x; mkdir hidden":        false,
		"mv hidden x; mv y hidden":         false,
	} {
		dir := t.TempDir()
		for _, d := range []string{"sub", "hidden"} {
			must(t, os.Mkdir(filepath.Join(dir, d), 0o755))
		}
		for _, f := range []string{"sub/.env", "hidden/file", "y"} {
			must(t, os.WriteFile(filepath.Join(dir, f), []byte("SECRET\n"), 0o644))
		}
		found := func(path string) host.ID { return host.Look(filepath.Join(dir, path)).ID }
		j := sh("cd /mnt; cat sub/.env hidden/*; ls")
		j.Args, j.Attack = []string{"--dir", "/mnt"}, "cd "+dir+"; "+attack
		j.Late = []plan.Live{{Source: dir, Dest: "/mnt", ID: found(""), Covered: []plan.Covered{
			{Path: "sub/.env", ID: found("sub/.env")}, {Path: "hidden", Folder: true, ID: found("hidden")},
		}}}
		r, out, errs := j.run(t)
		if starts && (!r.Started || out != "hidden\nsub\ny\n") || !starts && (r.Started || !strings.Contains(r.Reason, "was replaced")) {
			t.Errorf("%s: %+v %q %q", attack, r, out, errs)
		}
	}
}

// filesIn are the regular files in a folder.
func filesIn(t *testing.T, dir string) map[string]uint64 {
	t.Helper()
	found := map[string]uint64{}
	must(t, filepath.WalkDir(dir, func(p string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			var st syscall.Stat_t
			err = syscall.Lstat(p, &st)
			found[p] = st.Ino
		}
		return err
	}))
	return found
}

// TestHiddenMoved: what is moved when it is hidden takes the cover along.
func TestHiddenMoved(t *testing.T) {
	for _, attack := range []string{"mv .env x", "mv sub x", "mv sub x; ln -s x sub", "mv sub x; mkdir sub", "mv sub/.env sub/x", "mv sub/.env x", "mv sub/deep/.env x", "mv sub/deep/.env sub/x", "mv sub/deep x"} {
		dir := t.TempDir()
		must(t, os.MkdirAll(filepath.Join(dir, "sub/deep"), 0o755))
		j := sh("grep -rh SECRET .; true")
		j.Args, j.Dir, j.After = []string{"--bind", dir, dir}, dir, "cd "+dir+"; "+attack
		for _, way := range []string{"sub", "sub/deep"} {
			j.Outside = append(j.Outside, plan.Op{Kind: plan.OpBind, Dest: filepath.Join(dir, way), Outside: true})
		}
		for _, name := range []string{".env", "sub/.env", "sub/deep/.env"} {
			at := filepath.Join(dir, name)
			must(t, os.WriteFile(at, []byte("SECRET\n"), 0o600))
			j.Outside = append(j.Outside, plan.Op{Kind: plan.OpMask, Dest: at, Probed: host.Look(at).ID, Outside: true})
		}
		if r, out, errs := j.run(t); !r.Started || out != "" {
			t.Errorf("%s: %+v %q %q", attack, r, out, errs)
		}
	}
}

// TestManyHidden: many files are hidden by one process, and each with a text of its own.
func TestManyHidden(t *testing.T) {
	dir := t.TempDir()
	j := sh("cat *.env")
	j.Args, j.Dir = []string{"--bind", dir, dir}, dir
	want := ""
	for i := range 1000 {
		at, text := filepath.Join(dir, fmt.Sprintf("%04d.env", i)), fmt.Sprintf("%d\n", i)
		must(t, os.WriteFile(at, []byte("SECRET\n"), 0o600))
		j.Outside = append(j.Outside, plan.Op{Kind: plan.OpData, Data: i, Dest: at, Probed: host.Look(at).ID, Outside: true})
		j.Data, want = append(j.Data, []byte(text)), want+text
	}
	if r, out, errs := j.run(t); r.Code != 0 || out != want {
		t.Errorf("%+v %.200q %q", r, out, errs)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
