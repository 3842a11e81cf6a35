package plan

import (
	"fmt"
	"maps"
	"math/rand"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/sensitive"
	"github.com/enr/inner/profile"
)

const (
	testHome = "/home/ann"
	testWork = "/home/ann/src/app"
)

// machine is a host with sensitive resources of every kind in place, some of each row.
func machine() host.Facts {
	f := host.Facts{
		UID: 1000, GID: 1000, User: "ann", Home: testHome, Bwrap: "/usr/bin/bwrap",
		StageBase: "/run/user/1000/inner", InnerHome: testHome + "/.inner",
		Paths: map[string]host.Path{}, Env: map[string]string{"PATH": "/usr/bin:/bin", "HOME": testHome, "TERM": "xterm", "USER": "ann"},
	}
	dirs := []string{
		"/", "/dev", "/proc", "/proc/sys", "/run", "/tmp", "/var/tmp", "/usr/bin", "/home", testHome, testHome + "/src", testWork, testWork + "/.inner", testWork + "/.git", testWork + "/.git/hooks",
		testHome + "/.inner", "/run/user/1000/inner", "/data", testHome + "/.config", testHome + "/.ssh/keys", testHome + "/.local", testHome + "/.local/bin",
	}
	for _, d := range dirs {
		f.Paths[d] = host.Path{Kind: host.Dir, Real: d}
	}
	count := map[string]int{}
	for r, spot := range (sensitive.Site{Run: sensitive.Run{Homes: []string{testHome}, UID: 1000, Roots: []string{testWork}}}).Spots() {
		if count[r.What]++; count[r.What] <= 6 {
			p := spot.Path
			if spot.Pattern != "" {
				p = paths.Join(p, spot.Pattern)
				if f.Globs == nil {
					f.Globs = map[string][]string{}
				}
				match := strings.NewReplacer("*", "X", "?", "y").Replace(p)
				f.Globs[p] = []string{match}
				p = match
			}
			kind := host.Dir
			if strings.Contains(filepath.Base(p), "_history") || strings.HasSuffix(p, "rc") || strings.HasSuffix(p, ".json") || r.Part {
				kind = host.File
			}
			if strings.HasSuffix(p, ".sock") || strings.HasSuffix(p, "/bus") {
				kind = host.Socket
			}
			f.Paths[p] = host.Path{Kind: kind, Real: p}
		}
	}
	for _, p := range []string{"/usr/bin/bash", testHome + "/.bashrc", testWork + "/.git/config"} {
		f.Paths[p] = host.Path{Kind: host.File, Real: p}
	}
	f.Sockets = []string{testHome + "/.agent/control.sock", "/data/db.sock"}
	return f
}

// there reports whether a machine has a path.
func there(f host.Facts, p string) bool {
	info, known := f.Paths[p]
	return known && info.Kind != host.Missing
}

func config() profile.RunConfig {
	return profile.RunConfig{
		Name: "web", Project: testWork, Workdir: testWork, Cwd: testWork, WorkdirMode: profile.RW, Base: "host", Home: "host",
		Network: profile.NetOff, GitDir: "checked", Proc: "auto", Seccomp: "default", Backend: "bwrap",
		Entrypoint: profile.Entrypoint{Cmd: "bash", Interactive: true},
	}
}

func staged() Staged {
	return Staged{
		RunID: "r1", Empty: "/run/user/1000/inner/r1/empty", Program: "/usr/bin/bash", Argv: []string{"bash"},
		Repos: []Repo{{Dir: testWork + "/.git", Binds: []Bind{{Host: testWork + "/.git", Box: testWork + "/.git"}}}},
	}
}

// replay is an independent reading of the arguments, as bwrap(1) documents
// them: what host path does a box path show in the end?
type replay []replayedMount

type replayedMount struct {
	source, dest string
	write        bool
}

func replayed(plan Plan) replay {
	var r replay
	words, ways := plan.Words(), map[string]bool{}
	for _, o := range plan.Outside() { // which the launcher makes last
		words = append(words, o.Words()...)
		ways[o.Dest] = o.Bind()
	}
	add := func(s, d string, w bool) {
		r = append(r, replayedMount{s, d, w})
	}
	for i := 0; i < len(words); i++ {
		switch words[i] {
		case "--ro-bind", "--bind":
			var in replay // a folder that the launcher binds onto itself takes along what is mounted in it
			for _, m := range r {
				if ways[words[i+2]] && inside(words[i+2], m.dest) && m.dest != words[i+2] {
					in = append(in, m)
				}
			}
			add(words[i+1], words[i+2], words[i] == "--bind")
			r = append(r, in...)
			i += 2
		case "--ro-bind-data":
			add("", words[i+2], false)
			i += 2
		case "--tmpfs", "--dev", "--proc":
			add("", words[i+1], true)
			i++
		}
	}
	return r
}

func inside(dir, p string) bool {
	return p == dir || dir == "/" || strings.HasPrefix(p, dir+"/")
}

// shown returns the host path seen at box path p, or "".
func (r replay) shown(p string) (hostPath string, write bool) {
	for _, m := range r {
		if inside(m.dest, p) {
			hostPath, write = "", m.write
			if m.source != "" {
				rel, _ := filepath.Rel(m.dest, p)
				hostPath = filepath.Join(m.source, rel)
			}
		}
	}
	return hostPath, write
}

func (r replay) mountPoint(p string) bool {
	for _, m := range r {
		if m.dest == p {
			return true
		}
	}
	return false
}

// everywhere lists the box paths that show host path p in the end.
func (r replay) everywhere(p string) []string {
	var out []string
	for _, m := range r {
		if m.source == "" || !inside(m.source, p) {
			continue
		}
		rel, _ := filepath.Rel(m.source, p)
		box := filepath.Join(m.dest, rel)
		if got, _ := r.shown(box); got == p && !slices.Contains(out, box) {
			out = append(out, box)
		}
	}
	return out
}

// unseen lists the mounts of host paths, on top of all, that the box does not compare with their
// sources. empty is the file that masks are of.
func (r replay) unseen(plan Plan, empty string) (out []string) {
	for i, m := range r {
		covered := slices.ContainsFunc(r[i+1:], func(l replayedMount) bool { return inside(l.dest, m.dest) })
		looked := slices.ContainsFunc(plan.Shown, func(s Shown) bool { return s.Path == m.dest && s.Source == m.source })
		// A git directory is served over what is mounted there, before or after the box looks.
		served := slices.ContainsFunc(plan.Shown, func(s Shown) bool { return s.Path == m.dest && s.Source == "" }) && m.dest == testWork+"/.git"
		outside := slices.ContainsFunc(plan.Outside(), func(o Op) bool { return o.Dest == m.dest }) // the launcher does
		if m.source != "" && m.source != empty && !covered && !looked && !served && !outside {
			out = append(out, m.source+" at "+m.dest)
		}
	}
	return out
}

// TestNothingReexposes builds plans of random profiles and asks of each: is
// any hidden resource, or anything below one, seen anywhere? Can .inner, the
// git hooks or a start-up file be written?
func TestNothingReexposes(t *testing.T) {
	sources := []string{"/", "/data", testHome, testHome + "/.config", testHome + "/src", testHome + "/.local", testWork, testWork + "/.git", "/run"}
	dests := []string{"/data", testHome, testHome + "/src", testHome + "/.config", testWork, "/tmp/x", "/mnt/deep/er", "/run/y", "/var/tmp/z"}
	keys := allowKeys()
	resource := map[string]bool{}
	for _, r := range site(config(), machine()).Places(machine().Match) {
		for _, p := range r.At {
			resource[p] = r.Method != "place" && !r.Part && r.Key != "ssh-keys"
		}
	}
	built := 0
	for seed := range 500 {
		rnd := rand.New(rand.NewSource(int64(seed)))
		rc, f := config(), machine()
		for _, p := range slices.Sorted(maps.Keys(f.Paths)) { // each machine has other secrets
			if resource[p] && rnd.Intn(4) > 0 {
				f.Paths[p] = host.Path{Kind: host.Missing, Real: p}
			}
		}
		if rnd.Intn(2) == 0 {
			rc.Home = "isolated"
			rc.HomeAllow = []string{testHome + "/.local/bin"}
		}
		for range rnd.Intn(4) {
			mode := []profile.Mode{profile.RO, profile.RW, profile.Tmpfs}[rnd.Intn(3)]
			rc.Mounts = append(rc.Mounts, profile.Mount{Source: sources[rnd.Intn(len(sources))], Dest: dests[rnd.Intn(len(dests))], Mode: mode, File: "x.toml", Line: 1})
		}
		for range rnd.Intn(3) {
			rc.Allow = append(rc.Allow, keys[rnd.Intn(len(keys))])
		}
		if rnd.Intn(2) == 0 {
			f.MoveMount = true
		}
		rc.Hide, f.Hide = []string{"/data/private"}, &host.Hide{Paths: []string{"/data/private"}}
		f.Paths["/data/private"] = host.Path{Kind: host.Dir, Real: "/data/private"}
		f.Paths["/run"] = host.Path{Kind: host.Dir, Real: "/run"}
		plan, err := build(rc, f, staged())
		if err != nil {
			continue // refused: nothing runs, nothing leaks
		}
		built++
		r := replayed(plan)
		if list := r.unseen(plan, staged().Empty); len(list) > 0 {
			t.Fatalf("seed %d: nobody looks whether these mounts are what they should be: %q", seed, list)
		}
		secret := func(p, why string) {
			seen := append(r.everywhere(p), r.everywhere(p+"/child")...)
			for _, at := range seen {
				t.Fatalf("seed %d: %s (%s) is seen at %s\nmounts %v\nallow %v\n%s", seed, p, why, at, rc.Mounts, rc.Allow, strings.Join(plan.Words(), " "))
			}
		}
		for _, res := range site(config(), f).Places(f.Match) {
			if slices.Contains(rc.Allow, res.Key) || res.Method == "place" || res.Part && slices.Contains(rc.Allow, "ssh-keys") {
				continue
			}
			for _, p := range res.At {
				if !there(f, p) {
					continue
				}
				secret(p, res.Key)
			}
		}
		for _, s := range f.Sockets {
			secret(s, "listening socket")
		}
		secret("/data/private", "hide")
		secret(f.InnerHome, "inner's own")
		for _, p := range []string{testWork + "/.inner", testWork + "/.git/hooks", testWork + "/.git/config", testHome + "/.bashrc"} {
			for _, at := range r.everywhere(p) {
				if _, write := r.shown(at); write {
					t.Fatalf("seed %d: %s can be written at %s\nmounts %v\n%s", seed, p, at, rc.Mounts, strings.Join(plan.Words(), " "))
				}
				// Nothing above it can be renamed away: a folder in a writable mount
				// is a mount point itself.
				for dir := filepath.Dir(at); dir != "/"; dir = filepath.Dir(dir) {
					_, write := r.shown(filepath.Dir(dir))
					if from, _ := r.shown(dir); write && from != "" && !r.mountPoint(dir) {
						t.Fatalf("seed %d: %s can be renamed, and with it what protects %s\nmounts %v\n%s", seed, dir, at, rc.Mounts, strings.Join(plan.Words(), " "))
					}
				}
			}
		}
	}
	if built < 50 {
		t.Fatalf("only %d of 500 random profiles were built: the test shows too little", built)
	}
}

// TestPlaces: what belongs to others is not seen, and the user's own is.
func TestPlaces(t *testing.T) {
	for _, home := range []string{"host", "isolated"} {
		rc := config()
		rc.Home = home
		plan, err := build(rc, machine(), staged())
		if err != nil {
			t.Fatal(err)
		}
		r := replayed(plan)
		for _, p := range []string{"/home/bob", "/root", "/mnt/disk", "/srv/www", "/var/log/syslog", "/media/x"} {
			if at := r.everywhere(p); len(at) > 0 {
				t.Errorf("home %s: %s is seen at %s", home, p, at)
			}
		}
		if at := r.everywhere(testHome + "/plain.txt"); (len(at) == 1) != (home == "host") {
			t.Errorf("home %s: a file of the home is seen at %q", home, at)
		}
		if at := r.everywhere(testWork + "/main.go"); len(at) != 1 {
			t.Errorf("home %s: a file of the working folder is seen at %q", home, at)
		}
	}
	rc, f := config(), machine()
	f.Paths["/var"] = host.Path{Kind: host.Dir, Real: "/var"}
	for dest, mode := range map[string]profile.Mode{"/tmp/v": profile.RO, "/var": profile.RW} {
		rc.Mounts = []profile.Mount{{Source: "/var", Dest: dest, Mode: mode}}
		plan, err := build(rc, f, staged())
		if err != nil {
			t.Fatal(err)
		}
		r := replayed(plan)
		if at := r.everywhere("/var/log/syslog"); len(at) > 0 || len(r.everywhere("/var/lib/x")) == 0 {
			t.Errorf("/var at %s: its logs are seen at %q", dest, at)
		}
	}
	rc = config()
	rc.Allow = []string{"other-homes"}
	plan, err := build(rc, machine(), staged())
	if err != nil {
		t.Fatal(err)
	}
	if at := replayed(plan).everywhere("/home/bob"); len(at) != 1 {
		t.Errorf("allowed, /home/bob is seen at %q", at)
	}
}

// TestMountOrder: file order, and what lies above another one first.
func TestMountOrder(t *testing.T) {
	rc := config()
	for _, dest := range []string{"/srv/x/y", "/tmp/b", "/srv", "/srv/x"} {
		rc.Mounts = append(rc.Mounts, profile.Mount{Source: dest, Dest: dest, Mode: profile.Tmpfs, Key: dest})
	}
	plan, err := build(rc, machine(), staged())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range plan.Ops {
		if o.Key != "" && o.Key == o.Dest {
			got = append(got, o.Dest)
		}
	}
	if want := []string{"/srv", "/tmp/b", "/srv/x", "/srv/x/y"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestMountPointsAreNeverCreatedInWritableFolders holds the lesson of
// CVE-2026-87766.
func TestMountPointsAreNeverCreatedInWritableFolders(t *testing.T) {
	for _, c := range []struct {
		dest string
		want string
	}{
		{testWork + "/new", `profile "web": mounts."/data" (x.toml:1): dest "/home/ann/src/app/new" does not exist, and nothing is created in a writable folder`},
		{"/nonexistent", `profile "web": mounts."/data" (x.toml:1): dest "/nonexistent" does not exist on the host`},
		{"/etc/passwd", `profile "web": mounts."/data" (x.toml:1): of dest "/etc/passwd" and the source one is a folder and one is not`},
		{"/tmp/new", ""},
		{testWork + "/.inner", ""},
	} {
		rc := config()
		rc.Mounts = []profile.Mount{{Source: "/data", Dest: c.dest, Mode: profile.RO, File: "x.toml", Line: 1}}
		f := machine()
		f.Paths["/etc/passwd"] = host.Path{Kind: host.File, Real: "/etc/passwd"}
		_, err := build(rc, f, staged())
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("dest %s:\n got %q\nwant %q", c.dest, got, c.want)
		}
	}
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*profile.RunConfig, *host.Facts, *Staged)
		want   string
		code   int
	}{
		"no bwrap": {func(_ *profile.RunConfig, f *host.Facts, _ *Staged) {
			f.Bwrap, f.BwrapWhy = "", "bwrap is not installed"
		}, "the sandbox cannot start: bwrap is not installed", 125},
		"mount of a secret": {func(rc *profile.RunConfig, _ *host.Facts, _ *Staged) {
			rc.Mounts = []profile.Mount{{Source: testHome + "/.ssh", Dest: "/data", Mode: profile.RO, File: "x.toml", Line: 3}}
		}, `profile "web": mounts."/home/ann/.ssh" (x.toml:3) is hidden as ssh-keys (SSH keys and configuration)`, 125},
		"mount from inside a secret": {func(rc *profile.RunConfig, _ *host.Facts, _ *Staged) {
			rc.Mounts = []profile.Mount{{Source: testHome + "/.ssh/keys", Dest: "/data", Mode: profile.RO, File: "x.toml", Line: 3}}
		}, `profile "web": mounts."/home/ann/.ssh/keys" (x.toml:3) is hidden as ssh-keys (SSH keys and configuration)`, 125},
		"a source through a link in a writable folder": {func(rc *profile.RunConfig, f *host.Facts, _ *Staged) {
			rc.Mounts = []profile.Mount{{Source: testWork + "/cache", Dest: "/data", Mode: profile.RW, File: "x.toml", Line: 3}}
			f.Paths[testWork+"/cache"] = host.Path{Kind: host.Dir, Real: testHome + "/private"}
		}, `profile "web": mounts."/home/ann/src/app/cache" (x.toml:3): the source leads through a link in a folder that the box can write`, 125},
		"a writable mount of the profiles": {func(rc *profile.RunConfig, f *host.Facts, _ *Staged) {
			p := testWork + "/.inner/profiles"
			rc.Mounts = []profile.Mount{{Source: p, Dest: "/data", Mode: profile.RW, File: "x.toml", Line: 3}}
			f.Paths[p] = host.Path{Kind: host.Dir, Real: p}
		}, `profile "web": mounts."/home/ann/src/app/.inner/profiles" (x.toml:3): profiles cannot be changed from inside`, 125},
		"a writable mount of the hooks": {func(rc *profile.RunConfig, _ *host.Facts, _ *Staged) {
			rc.Mounts = []profile.Mount{{Source: testWork + "/.git/hooks", Dest: "/data", Mode: profile.RW, File: "x.toml", Line: 3}}
		}, `profile "web": mounts."/home/ann/src/app/.git/hooks" (x.toml:3): a repository's own files are protected`, 125},
		"program hidden": {func(rc *profile.RunConfig, f *host.Facts, s *Staged) {
			s.Program = "/tmp/prog"
			f.Paths["/tmp/prog"] = host.Path{Kind: host.File, Real: "/tmp/prog"}
		}, `profile "web": the program "/tmp/prog" cannot be seen in the box`, 127},
		"hide, and nobody looked": {func(rc *profile.RunConfig, _ *host.Facts, _ *Staged) {
			rc.Hide = []string{"/data/private"}
		}, `profile "web": inner has not looked for what sandbox.hide names`, 125},
		"hide, and not all was found": {func(rc *profile.RunConfig, f *host.Facts, _ *Staged) {
			rc.Hide, f.Hide = []string{"/data/**/x"}, &host.Hide{Why: "too much"}
		}, `profile "web": what sandbox.hide names cannot all be hidden: too much`, 125},
		"the working folder is hidden": {func(rc *profile.RunConfig, f *host.Facts, _ *Staged) {
			rc.Hide, f.Hide = []string{testHome + "/src"}, &host.Hide{Paths: []string{testHome + "/src"}}
		}, `profile "web": the working folder "/home/ann/src/app" is hidden (sandbox.hide)`, 126},
		"the working folder is a secret": {func(rc *profile.RunConfig, f *host.Facts, _ *Staged) {
			rc.Workdir, rc.Cwd = testHome+"/.ssh/keys", testHome+"/.ssh/keys"
		}, `profile "web": the working folder "/home/ann/.ssh/keys" is hidden as ssh-keys (SSH keys and configuration)`, 126},
		"the working folder is not shown": {func(rc *profile.RunConfig, _ *host.Facts, s *Staged) {
			rc.Home, rc.WorkdirMode, s.Repos = "isolated", profile.None, nil
		}, `profile "web": the working folder "/home/ann/src/app" is not shown in the box`, 126},
	} {
		rc, f, s := config(), machine(), staged()
		c.change(&rc, &f, &s)
		_, err := build(rc, f, s)
		r := fault.AsRefusal(err)
		if r == nil || r.Msg != c.want || r.Code != c.code {
			t.Errorf("%s: got %v, want %d %q", name, err, c.code, c.want)
		}
	}
}

// TestPartOfHiddenMounted: a mount that shows a part of what sandbox.hide names
// somewhere else is refused; without the hiding the same mount is in order.
func TestPartOfHiddenMounted(t *testing.T) {
	const part = "/data/private/part"
	for name, c := range map[string]struct {
		hide   string
		source string
	}{
		"a folder":                {"/data/private", part},
		"what is below that part": {"/data/private", part + "/deeper"},
		"a pattern":               {"/data/pri*", part},
	} {
		for _, mode := range []profile.Mode{profile.RO, profile.RW} {
			rc, f := config(), machine()
			for _, p := range []string{"/data/private", part, part + "/deeper", "/srv"} {
				f.Paths[p] = host.Path{Kind: host.Dir, Real: p}
			}
			rc.Mounts = []profile.Mount{{Source: c.source, Dest: "/srv/elsewhere", Mode: mode, File: "x.toml", Line: 1}}
			plan, err := build(rc, f, staged())
			if err != nil {
				t.Fatalf("%s: without hide: %v", name, err)
			}
			if got, _ := replayed(plan).shown("/srv/elsewhere/x"); got != c.source+"/x" {
				t.Errorf("%s: without hide it shows %q", name, got)
			}
			rc.Hide, f.Hide = []string{c.hide}, &host.Hide{Paths: []string{"/data/private"}}
			_, err = build(rc, f, staged())
			if r := fault.AsRefusal(err); r == nil || r.Code != 125 || !strings.Contains(r.Msg, "is shown in the box but lies in /data/private, which is hidden: sandbox.hide") {
				t.Errorf("%s, %s: %v", name, mode, err)
			}
		}
	}
}

// TestKeysAreNotListed: the user's keys are in every /proc, and hidden in each; where
// containers mount their own, nothing may cover the box's.
func TestKeysAreNotListed(t *testing.T) {
	for _, mode := range []string{"fresh", "bind", "nested"} {
		rc, f := config(), machine()
		rc.Proc = mode
		if mode == "nested" {
			rc.Proc, rc.Allow, f = "fresh", []string{nestedKey}, nestedMachine()
		}
		f.Paths[procKeys] = host.Path{Kind: host.File, Real: procKeys}
		plan, err := build(rc, f, staged())
		if err != nil {
			t.Fatal(err)
		}
		if covered := after(plan.Words(), "/proc", "--ro-bind", staged().Empty, procKeys); covered != (mode != "nested") {
			t.Errorf("%s: covered %v: %q", mode, covered, plan.Words())
		}
	}
}

// TestBuildIsDeterministic: no map order reaches the arguments.
func TestBuildIsDeterministic(t *testing.T) {
	rc, f := config(), machine()
	rc.Env.InheritAll = true
	for i := range 40 {
		f.Env[fmt.Sprintf("VAR%d", i)] = "x"
	}
	first, err := build(rc, f, staged())
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		again, err := build(rc, f, staged())
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(first.Words(), again.Words()) || !slices.Equal(first.Env, again.Env) {
			t.Fatal("two builds of the same input differ")
		}
	}
}

func TestValuesStayOffTheCommandLine(t *testing.T) {
	rc, f := config(), machine()
	rc.Env.Set = []profile.KV{{Key: "API_TOKEN", Value: "s3cr3t-value"}}
	f.Env["OTHER"] = "another-value"
	rc.Env.InheritAll = true
	plan, err := build(rc, f, staged())
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range plan.Words() {
		if strings.Contains(w, "value") {
			t.Errorf("argument %q holds a value of the environment", w)
		}
	}
	if !slices.Contains(plan.Env, "API_TOKEN=s3cr3t-value") {
		t.Error("the variable does not reach the program")
	}
}

// TestLinkedPlaces: on an image-based system the places are links into /var.
func TestLinkedPlaces(t *testing.T) {
	for _, home := range []string{"host", "isolated"} {
		rc, f := config(), machine()
		rc.Home = home
		for p, real := range map[string]string{"/mnt": "/var/mnt", "/srv": "/var/srv", "/root": "/var/roothome", "/media": "/usr/media", "/lost+found": "/"} {
			f.Paths[p] = host.Path{Kind: host.Dir, Real: real}
		}
		plan, err := build(rc, f, staged())
		if err != nil {
			t.Fatal(err)
		}
		r := replayed(plan)
		for _, p := range []string{"/var/mnt/disk", "/var/srv/www", "/var/roothome/x"} {
			if at := r.everywhere(p); len(at) > 0 {
				t.Errorf("home %s: %s is seen at %s", home, p, at)
			}
		}
		if at := r.everywhere("/usr/bin/env"); len(at) == 0 {
			t.Errorf("home %s: a place that leads to / has emptied it", home)
		}
	}
}

// TestLinkedHome: a home that is a link in /home keeps that name there.
func TestLinkedHome(t *testing.T) {
	rc, f := config(), machine()
	rc.Home = "host"
	f.Home = "/home/link"
	f.Paths["/home/link"] = host.Path{Kind: host.Dir, Real: "/data/me"}
	plan, err := build(rc, f, staged())
	if err != nil {
		t.Fatal(err)
	}
	if words := strings.Join(plan.Words(), " "); !strings.Contains(words, "--symlink /data/me /home/link") {
		t.Errorf("the home has lost its name: %s", words)
	}
}

// TestHomeThatIsMissing: the password file may name a home that is not there.
func TestHomeThatIsMissing(t *testing.T) {
	rc, f := config(), machine()
	rc.Home = "isolated"
	f.OtherHome = "/nonexistent"
	plan, err := build(rc, f, staged())
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(plan.Words(), "/nonexistent") {
		t.Error("a mount point is made for a home that is not there")
	}
}

// build is Build on a machine that has the folders, too, of what it has.
func build(rc profile.RunConfig, f host.Facts, s Staged) (Plan, error) {
	withFolders(&f)
	return Build(rc, f, s)
}

// withFolders adds the folders that a machine must have.
func withFolders(f *host.Facts) {
	f.Paths = maps.Clone(f.Paths)
	there := slices.Clone(f.Sockets)
	for p, info := range f.Paths {
		if info.Kind.Seen() {
			there = append(there, p, info.Real)
		}
	}
	for _, p := range there {
		if _, known := f.Paths[p]; !known {
			f.Paths[p] = host.Path{Kind: host.Other, Real: p}
		}
		for dir := filepath.Dir(p); ; dir = filepath.Dir(dir) {
			if _, known := f.Paths[dir]; known {
				break
			}
			f.Paths[dir] = host.Path{Kind: host.Dir, Real: dir}
		}
	}
}
