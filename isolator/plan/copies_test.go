package plan

import (
	"fmt"
	"math/rand"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// TestOriginalsAreNotWritten builds plans of random profiles with copies and
// asks of each: can the original of one be written anywhere, unless a mount
// names a part of it as rw? Is anything hidden seen, or inner's own folder?
func TestOriginalsAreNotWritten(t *testing.T) {
	sources := []string{"/data", testHome, testHome + "/src", testHome + "/.config", testWork}
	dests := []string{"/data", testHome + "/src", testHome + "/.config", testWork, "/tmp/x", "/run/y", testHome + "/.inner/workspaces/w", testHome + "/.inner/workspaces/w/in"}
	built, elsewhere := 0, 0
	for seed := range 700 {
		rnd := rand.New(rand.NewSource(int64(seed)))
		rc, f, s := config(), machine(), staged()
		for range 1 + rnd.Intn(3) {
			m := profile.Mount{
				Source: sources[rnd.Intn(len(sources))], Dest: dests[rnd.Intn(len(dests))],
				Mode: []profile.Mode{profile.RO, profile.RW, profile.SafeRW, profile.SafeRW}[rnd.Intn(4)], File: "x.toml", Line: 1,
			}
			m.Workspace = strings.Contains(m.Dest, "/workspaces/")
			if m.Mode == profile.SafeRW {
				s.Copies = append(s.Copies, Copy{Dest: m.Dest, Host: fmt.Sprintf("%s/.inner/copies/r1/tree-%d", testHome, len(s.Copies))})
				if inside(m.Source, testWork) { // as the profile resolves it
					rc.WorkdirMode = profile.RO
				}
			}
			rc.Mounts = append(rc.Mounts, m)
			f.Paths[m.Dest] = host.Path{Kind: host.Dir, Real: m.Dest}
		}
		plan, err := build(rc, f, s)
		if err != nil {
			continue
		}
		built++
		r := replayed(plan)
		fail := func(format string, args ...any) {
			t.Helper()
			t.Fatalf("seed %d: %s\nmounts %v\n%s", seed, fmt.Sprintf(format, args...), rc.Mounts, strings.Join(plan.Words(), " "))
		}
		for _, m := range rc.Mounts {
			if m.Mode != profile.SafeRW {
				continue
			}
			for _, part := range []string{"", "/file", "/app/file"} {
				p := m.Source + part
				named := slices.ContainsFunc(rc.Mounts, func(o profile.Mount) bool {
					return o.Mode == profile.RW && inside(m.Source, o.Source) && inside(o.Source, p) && o.Source != m.Source
				})
				for _, at := range r.everywhere(p) {
					elsewhere++
					if _, write := r.shown(at); write && !named {
						fail("%s, the original of a copy, can be written at %s", p, at)
					}
				}
			}
		}
		for _, p := range []string{testHome + "/.inner", testHome + "/.inner/trust", testHome + "/.ssh"} {
			if at := r.everywhere(p); len(at) > 0 {
				fail("%s is seen at %s", p, at)
			}
		}
		// Every mount that nothing covers shows what it should.
		for i, m := range rc.Mounts {
			if slices.ContainsFunc(rc.Mounts[i+1:], func(o profile.Mount) bool { return o.Dest == m.Dest }) || m.Source == testHome {
				continue
			}
			want := m.Source
			for _, c := range s.Copies {
				if c.Dest == m.Dest && m.Mode == profile.SafeRW {
					want = c.Host // of several for one dest any will do
				}
			}
			got, _ := r.shown(m.Dest)
			if got != want && !strings.HasPrefix(got, testHome+"/.inner/copies/") {
				fail("%s shows %q, want %q", m.Dest, got, want)
			}
		}
	}
	if built < 300 || elsewhere < 300 {
		t.Fatalf("only %d plans were built and %d originals seen: the test shows too little", built, elsewhere)
	}
}

// TestHiddenIsNotCopied: a copy leaves out what a mount of the same folder
// would hide.
func TestHiddenIsNotCopied(t *testing.T) {
	rc, f := config(), machine()
	rc.Hide = []string{testWork + "/private", testWork + "/*.pem"}
	rc.Allow = []string{"bash-history"}
	f.Hide = &host.Hide{Paths: []string{testWork + "/private", testWork + "/a.pem"}}
	f.Paths[testHome+"/.ssh"] = host.Path{Kind: host.Dir, Real: "/elsewhere/ssh"}
	got := Hidden(rc, f, Staged{GitFiles: []string{testHome + "/.gitconfig"}})
	for p, want := range map[string]bool{
		testWork + "/private": true, testWork + "/a.pem": true, "/elsewhere/ssh": true, testHome + "/.inner": true, testHome + "/.gitconfig": true,
		testHome + "/.bash_history": false, testHome + "/.zsh_history": true, testWork: false, filepath.Dir(testHome): false,
	} {
		if slices.Contains(got, p) != want {
			t.Errorf("%s: hidden %v, want %v", p, !want, want)
		}
	}
}

// TestNoCopyNoRun: a safe-rw mount without its copy never becomes the original.
func TestNoCopyNoRun(t *testing.T) {
	rc := config()
	rc.Mounts = []profile.Mount{{Source: "/data", Dest: "/data", Mode: profile.SafeRW}}
	if _, err := build(rc, machine(), staged()); err == nil || !strings.Contains(err.Error(), "no copy was made") {
		t.Errorf("built: %v", err)
	}
}
