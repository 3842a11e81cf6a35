package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// systemOf gives a machine the folders of programs: merged into /usr, without Nix.
func systemOf(m host.Facts) {
	for _, p := range profile.SystemFolders() {
		m.Paths[p] = host.Path{Kind: host.Missing, Real: p}
	}
	for _, p := range []string{"/usr", "/etc", "/opt"} {
		m.Paths[p] = host.Path{Kind: host.Dir, Real: p}
	}
	for _, p := range []string{"/bin", "/lib", "/lib64"} {
		m.Paths[p] = host.Path{Kind: host.Dir, Real: "/usr" + p}
	}
}

func minimal(t *testing.T, change func(*profile.RunConfig, *host.Facts, *Staged)) Plan {
	t.Helper()
	rc, m, s := config(), machine(), staged()
	rc.Base, rc.Home = "minimal", "isolated"
	systemOf(m)
	if change != nil {
		change(&rc, &m, &s)
	}
	plan, err := build(rc, m, s)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// Nothing of the host is seen but programs, the working folder and what is mounted.
func TestMinimalShowsNothingElse(t *testing.T) {
	plan := minimal(t, func(rc *profile.RunConfig, m *host.Facts, _ *Staged) {
		m.Paths["/data"] = host.Path{Kind: host.Dir, Real: "/data"}
		rc.Mounts = []profile.Mount{{Source: "/data", Dest: "/srv/data", Mode: profile.RO}}
	})
	r := replayed(plan)
	for p, want := range map[string]string{
		"/":             "",
		"/usr/bin/env":  "/usr/bin/env",
		"/etc/passwd":   "/etc/passwd",
		"/srv":          "",
		"/srv/data/x":   "/data/x",
		"/var/lib/x":    "",
		"/sys":          "",
		"/home":         "",
		testHome + "/x": "",
		testWork + "/x": testWork + "/x",
	} {
		if from, write := r.shown(p); from != want || write && want != "" && p != testWork+"/x" {
			t.Errorf("%s shows %q (written: %v), want %q", p, from, write, want)
		}
	}
	words := strings.Join(plan.Words(), " ")
	for _, want := range []string{"--symlink /usr/bin /bin", "--symlink /usr/lib64 /lib64"} {
		if !strings.Contains(words, want) {
			t.Errorf("no %q in %s", want, words)
		}
	}
	if strings.Contains(words, "bind / /") || strings.Contains(words, "/nix") {
		t.Errorf("the host's root, or what is not there: %s", words)
	}
	// After the last mount point nothing is made in the root any more.
	end := slices.IndexFunc(plan.Ops, func(o Op) bool { return o.Kind == OpSeal && o.Dest == "/" })
	for _, o := range plan.Ops[max(end, 0):] {
		if end < 0 || o.Mounts() {
			t.Fatalf("the root is not read-only after the last mount: %s", words)
		}
	}
}

// A program that lies in none of these folders comes along, and nothing around it.
func TestMinimalShowsTheProgram(t *testing.T) {
	const prog = "/srv/tools/bin/prog"
	plan := minimal(t, func(_ *profile.RunConfig, m *host.Facts, s *Staged) {
		m.Paths["/srv/tools/bin"] = host.Path{Kind: host.Dir, Real: "/srv/tools/bin"}
		m.Paths[prog] = host.Path{Kind: host.File, Real: prog}
		s.Program, s.Argv = prog, []string{"prog"}
	})
	r := replayed(plan)
	if from, write := r.shown(prog); from != prog || write {
		t.Errorf("%s shows %q (written: %v)", prog, from, write)
	}
	if from, _ := r.shown("/srv/tools/bin"); from != "" {
		t.Errorf("%q is seen, too", from)
	}
}

// TestWorkdirIsAHome: the home of the password file is handed over by no working folder either.
func TestWorkdirIsAHome(t *testing.T) {
	for _, other := range []string{testWork, testWork + "/me"} {
		rc, f := config(), machine()
		f.OtherHome = other
		f.Paths[other] = host.Path{Kind: host.Dir, Real: other}
		if _, err := build(rc, f, staged()); err == nil || !strings.Contains(err.Error(), "holds your whole home folder") {
			t.Errorf("%s: %v", other, err)
		}
	}
}

// A home whose name is a link keeps that name, where nothing else shows it.
func TestHomeThatIsALink(t *testing.T) {
	plan := minimal(t, func(_ *profile.RunConfig, m *host.Facts, _ *Staged) {
		m.Home = "/u/me"
		m.Paths["/u/me"] = host.Path{Kind: host.Dir, Real: testHome}
	})
	if words := strings.Join(plan.Words(), " "); !strings.Contains(words, "--symlink "+testHome+" /u/me") {
		t.Errorf("the home has lost its name: %s", words)
	}
}
