package plan

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// dice draws choices from the bytes of a fuzz input.
type dice []byte

func (d *dice) roll(n int) int {
	if len(*d) == 0 || n < 2 {
		return 0
	}
	v := int((*d)[0])
	*d = (*d)[1:]
	return v % n
}

// pick draws one of the words.
func (d *dice) pick(words ...string) string { return words[d.roll(len(words))] }

// FuzzPlan makes a profile and a machine of the bytes. Of every plan that Build
// makes of them it wants that what is hidden, or denied anywhere, is seen nowhere,
// whatever is mounted in whichever order; that what is protected cannot be written or
// renamed away; that the original of a copy cannot be written; and that bwrap never
// has to make a mount point below a folder the box can write.
func FuzzPlan(f *testing.F) {
	for _, seed := range []string{"", "isolated home", "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c", "mounts in all kinds of orders, and links", strings.Repeat("\xff\x07", 30)} {
		f.Add([]byte(seed))
	}
	places := []string{
		"/", "/data", "/data/private", testHome, testHome + "/.config", testHome + "/src", testHome + "/.local", testHome + "/.ssh", testWork, testWork + "/.git",
		testWork + "/sub", testWork + "/link", "/run", "/tmp/x", "/mnt/deep/er", "/run/y", "/var/tmp/z", testHome + "/new/place", testWork + "/.inner",
	}
	keys := allowKeys()
	f.Fuzz(func(t *testing.T, data []byte) {
		d := dice(data)
		rc, m, s := config(), machine(), staged()
		for _, p := range []string{"/data/private", "/run", "/mnt", testWork + "/sub", testWork + "/sub/.git", testWork + "/sub/.git/hooks"} {
			m.Paths[p] = host.Path{Kind: host.Dir, Real: p}
		}
		// Some of the secrets there are: with all of them a plan takes too long to read.
		some, every := d.roll(17), 0
		for _, res := range site(config(), m).Places(m.Match) {
			for _, p := range res.At {
				if every++; res.Method != "place" && !res.Part && res.Key != "ssh-keys" && every%17 != some {
					m.Paths[p] = host.Path{Kind: host.Missing, Real: p}
				}
			}
		}
		// A link that leads anywhere.
		m.Paths[testWork+"/link"] = host.Path{Kind: host.Dir, Real: d.pick(places...)}
		if d.roll(2) == 1 {
			s.GitStays = append(s.GitStays, testWork+"/sub/.git")
		}
		rc.Home = d.pick("host", "isolated")
		rc.GitDir = d.pick("checked", "ro")
		rc.WorkdirMode = []profile.Mode{profile.RW, profile.RO, profile.None}[d.roll(3)]
		for range d.roll(3) {
			rc.HomeAllow = append(rc.HomeAllow, d.pick(testHome+"/.local/bin", testHome+"/.config", testHome+"/.local", testHome+"/.ssh/keys"))
		}
		for range d.roll(6) {
			mode := []profile.Mode{profile.RO, profile.RW, profile.Tmpfs, profile.SafeRW}[d.roll(4)]
			at := profile.Mount{Source: places[d.roll(len(places))], Dest: places[d.roll(len(places))], Mode: mode, File: "x.toml", Line: 1}
			if real := func(p string) bool { return p == "/" || p == testWork+"/link" && m.Paths[p].Real == "/" }; real(at.Dest) || real(at.Source) && mode != profile.RO {
				continue // the language has no such mount
			}
			if m.Paths[at.Source].Kind == "" {
				continue // nor one of what is not there
			}
			if mode == profile.SafeRW {
				s.Copies = append(s.Copies, Copy{Dest: at.Dest, Host: "/run/user/1000/inner/r1/copy" + at.Source})
			}
			rc.Mounts = append(rc.Mounts, at)
		}
		for range d.roll(4) {
			rc.Hide = append(rc.Hide, d.pick("/data/private", "/data", testHome+"/src", testWork+"/sub", testHome+"/.local/bin"))
		}
		m.Hide = &host.Hide{Paths: rc.Hide}
		for range d.roll(3) {
			rc.Allow = append(rc.Allow, keys[d.roll(len(keys))])
		}
		if d.roll(2) == 1 {
			m.MoveMount = true
		}
		if d.roll(3) == 1 {
			rc.Base, rc.Home = "minimal", "isolated"
			systemOf(m)
		}
		plan, err := build(rc, m, s)
		if err != nil {
			return // refused: nothing runs
		}
		checkPlan(t, rc, m, s, plan)
	})
}

// checkPlan asks what TestNothingReexposes asks, and more, of one plan.
func checkPlan(t *testing.T, rc profile.RunConfig, f host.Facts, s Staged, plan Plan) {
	r := replayed(plan)
	fail := func(format string, args ...any) {
		t.Fatalf(format+"\nmounts %v\nallow %v hide %v\n%s", append(args, rc.Mounts, rc.Allow, rc.Hide, strings.Join(plan.Words(), " "))...)
	}
	if list := r.unseen(plan, s.Empty); len(list) > 0 {
		fail("nobody looks whether these mounts are what they should be: %q", list)
	}
	hidden := append(slices.Clone(f.Sockets), f.InnerHome)
	hidden = append(hidden, rc.Hide...)
	var allowed []string
	for _, res := range site(config(), f).Places(f.Match) {
		if slices.Contains(rc.Allow, res.Key) {
			allowed = append(allowed, res.At...)
		}
		if slices.Contains(rc.Allow, res.Key) || res.Method == "place" || res.Part && slices.Contains(rc.Allow, "ssh-keys") {
			continue
		}
		for _, p := range res.At {
			if there(f, p) {
				hidden = append(hidden, p)
			}
		}
	}
	for _, p := range hidden {
		// Which of two decides, an allowed one around or in a hidden one, is for the
		// tests of the table. What is denied by the profile always is.
		near := func(q string) bool { return inside(q, p) || inside(p, q) }
		if slices.ContainsFunc(allowed, near) && !slices.Contains(rc.Hide, p) {
			continue
		}
		for _, at := range append(r.everywhere(p), r.everywhere(p+"/child")...) {
			fail("%s is hidden, and seen at %s", p, at)
		}
	}
	protected := []string{testWork + "/.inner", testHome + "/.bashrc"}
	protected = append(protected, s.GitStays...)
	for _, r := range s.Repos {
		protected = append(protected, r.Dir)
	}
	for _, p := range protected {
		for _, at := range r.everywhere(p) {
			if _, write := r.shown(at); write {
				fail("%s can be written at %s", p, at)
			}
			for dir := filepath.Dir(at); dir != "/"; dir = filepath.Dir(dir) {
				_, write := r.shown(filepath.Dir(dir))
				if from, _ := r.shown(dir); write && from != "" && !r.mountPoint(dir) {
					fail("%s can be renamed, and with it what protects %s", dir, at)
				}
			}
		}
	}
	for _, m := range rc.Mounts {
		if m.Mode != profile.SafeRW {
			continue
		}
		for _, at := range r.everywhere(f.Paths[m.Source].Real) {
			if _, write := r.shown(at); write {
				fail("%s is copied, and its original can be written at %s", m.Source, at)
			}
		}
	}
	// bwrap makes what is not there. It must never have to where the box writes.
	for i, at := range r {
		before := r[:i]
		if from, write := before.shown(at.dest); write && from != "" && f.Paths[from].Kind == "" && before.deciding(at.dest) != at.dest && !insideCopy(from) && !known(f, from) {
			fail("the mount point %s is made in a folder that the box can write (%s)", at.dest, from)
		}
	}
}

// deciding is where the mount lies that shows what is at p.
func (r replay) deciding(p string) string {
	for _, m := range slices.Backward(r) {
		if inside(m.dest, p) {
			return m.dest
		}
	}
	return ""
}

func insideCopy(p string) bool { return inside("/run/user/1000/inner/r1", p) }

// known reports whether something that the facts know of lies at or below p, so that
// p is there.
func known(f host.Facts, p string) bool {
	if slices.Contains([]string{"/tmp", "/var/tmp", "/run", "/home", "/mnt"}, p) {
		return true
	}
	for q, info := range f.Paths {
		if info.Kind != host.Missing && inside(p, q) {
			return true
		}
	}
	for _, s := range append(slices.Clone(f.Sockets), f.InnerHome) {
		if inside(p, s) {
			return true
		}
	}
	return false
}
