package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/enr/inner/profile"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newStore(t testing.TB) Store {
	t.Helper()
	return Store{filepath.Join(t.TempDir(), "home", "trust")}
}

// file is a file as it was read.
func file(path, content string) profile.File {
	sum := sha256.Sum256([]byte(content))
	return profile.File{Path: path, Digest: hex.EncodeToString(sum[:]), Data: []byte(content)}
}

// local is a profile of a project, made of the given files.
func local(files ...profile.File) *profile.Profile {
	return &profile.Profile{Name: nameOf(files[0].Path), Path: files[0].Path, Scope: profile.Local, Files: files}
}

// where says what a verdict is and about which file.
func where(v Verdict) string {
	return strings.TrimSuffix(fmt.Sprintf("%s %s", v.State, v.File), " ")
}

func TestCheck(t *testing.T) {
	s := newStore(t)
	global := filepath.Join(filepath.Dir(s.Dir), "profiles")
	must(t, os.MkdirAll(global, 0o700))
	alias := filepath.Join(t.TempDir(), "alias")
	must(t, os.Symlink(global, alias))

	const root = "/a/proj"
	web, base, conf := file("/a/proj/.inner/profiles/web.toml", "1"), file("/home/u/base.toml", "2"), file("/a/proj/.inner/config.toml", "3")
	shared := file(filepath.Join(global, "shared.toml"), "4")
	must(t, s.Allow(root, Approval{Profile: local(web, base, shared), Config: &conf}))
	must(t, s.Allow(root, Approval{Profile: local(file("/a/proj/.inner/profiles/noconf.toml", "5"))}))
	// The second yes came without a config: it is not the one of now.
	must(t, s.Allow(root, Approval{Profile: local(web, base, shared), Config: &conf}))
	must(t, s.Deny(root, "/a/proj/.inner/profiles/no.toml"))

	edited := func(f profile.File) profile.File { return file(f.Path, string(f.Data)+" ") }
	changedConf := edited(conf)
	for _, c := range []struct {
		about  string
		root   string
		p      *profile.Profile
		config *profile.File
		want   string
	}{
		{"as allowed", root, local(web, base, shared), &conf, "allowed"},
		{"a trailing slash", root + "/", local(web, base, shared), &conf, "allowed"},
		{"edited", root, local(edited(web), base, shared), &conf, "changed " + web.Path},
		{"a base edited", root, local(web, edited(base), shared), &conf, "changed " + base.Path},
		{"a global base edited", root, local(web, base, edited(shared)), &conf, "allowed"},
		{"the global folder by another name", root, local(web, base, file(filepath.Join(alias, "shared.toml"), "x")), &conf, "allowed"},
		{"a file below the global folder", root, local(web, base, file(filepath.Join(global, "sub", "x.toml"), "x")), &conf, "changed " + filepath.Join(global, "sub", "x.toml")},
		{"another base", root, local(web, file("/home/u/base2.toml", "2"), shared), &conf, "changed /home/u/base2.toml"},
		{"one more base", root, local(web, base, shared, file("/x.toml", "")), &conf, "changed /x.toml"},
		{"no base any more", root, local(web), &conf, "changed " + base.Path},
		{"config edited", root, local(web, base), &changedConf, "changed " + conf.Path},
		{"config gone", root, local(web, base), nil, "changed " + conf.Path},
		{"config come later", root, local(file("/a/proj/.inner/profiles/noconf.toml", "5")), &conf, "changed " + conf.Path},
		{"no config, as allowed", root, local(file("/a/proj/.inner/profiles/noconf.toml", "5")), nil, "allowed"},
		{"never allowed", root, local(file("/a/proj/.inner/profiles/new.toml", "1")), &conf, "untrusted /a/proj/.inner/profiles/new.toml"},
		{"denied", root, local(file("/a/proj/.inner/profiles/no.toml", "1")), &conf, "denied /a/proj/.inner/profiles/no.toml"},
		{"a copy in another project", "/a/project", local(file("/a/project/.inner/profiles/web.toml", "1")), nil, "untrusted /a/project/.inner/profiles/web.toml"},
		{"the same file for another project", "/a", local(web, base, shared), &conf, "untrusted " + web.Path},
		{"a global profile", root, &profile.Profile{Path: shared.Path, Scope: profile.Global, Files: []profile.File{shared}}, &conf, "allowed"},
		{"a file on the command line", root, &profile.Profile{Path: "/x.toml", Scope: profile.Direct}, nil, "allowed"},
	} {
		if got := where(s.check(c.root, c.p, c.config)); got != c.want {
			t.Errorf("%s: %s, want %s", c.about, got, c.want)
		}
	}

	must(t, s.Deny(root, conf.Path))
	if got := where(s.check(root, local(web, base), &conf)); got != "denied "+conf.Path {
		t.Errorf("config denied: %s", got)
	}
	must(t, s.Deny(root, web.Path))
	if got := where(s.check(root, local(edited(web), base), &conf)); got != "denied "+web.Path {
		t.Errorf("denied after a yes: %s", got)
	}
	rec, err := s.Project(root)
	must(t, err)
	if p := rec.Profile(web.Path); !p.WasApproved() || p.Decision != Denied {
		t.Errorf("after a no the last yes is forgotten: %+v", p)
	}
	must(t, s.Allow(root, Approval{Profile: local(edited(web)), Config: &conf}))
	if got := where(s.check(root, local(edited(web)), &conf)); got != "allowed" {
		t.Errorf("allowed again: %s", got)
	}
	must(t, s.Revoke(root, web.Path, conf.Path))
	if got := where(s.check(root, local(edited(web)), &conf)); got != "untrusted "+web.Path {
		t.Errorf("revoked: %s", got)
	}
	if got := where(s.check(root, local(file("/a/proj/.inner/profiles/no.toml", "1")), nil)); got != "denied /a/proj/.inner/profiles/no.toml" {
		t.Errorf("the other one after a revoke: %s", got)
	}
}

func TestCheckConfig(t *testing.T) {
	s := newStore(t)
	const root = "/a/proj"
	conf := file("/a/proj/.inner/config.toml", "3")
	changed := file(conf.Path, "4")
	state := func(f *profile.File) State {
		t.Helper()
		rec, err := s.Project(root)
		must(t, err)
		return rec.CheckConfig(f).State
	}
	check := func(about string, none, as, edited State) {
		t.Helper()
		got := []State{state(nil), state(&conf), state(&changed)}
		if diff := cmp.Diff([]State{none, as, edited}, got); diff != "" {
			t.Errorf("%s: no file, as allowed, edited (-want +got):\n%s", about, diff)
		}
	}
	check("nothing recorded", Allowed, Untrusted, Untrusted)
	must(t, s.Enter(root))
	check("entered", Allowed, Untrusted, Untrusted)
	must(t, s.Allow(root, Approval{Config: &conf, ConfigCommands: []string{"claude"}}))
	check("allowed", Deleted, Allowed, Changed)
	must(t, s.Deny(root, conf.Path))
	check("denied after a yes", Deleted, Denied, Denied)
	must(t, s.Revoke(root, conf.Path))
	check("revoked", Allowed, Untrusted, Untrusted)
	must(t, s.Deny(root, conf.Path))
	check("denied", Allowed, Denied, Denied)
}

// What is recorded comes back as it was, whatever bytes are in it.
func TestRecord(t *testing.T) {
	s := newStore(t)
	root := "/a/\xff\xfe \n\"'$(x)\u00e9\u2028<&>"
	path := root + "/.inner/profiles/\x80.toml"
	conf := file(root+"/.inner/config.toml", "c")
	grants := []profile.Grant{{Kind: "writes", Text: "\xff"}, {Kind: "hides", Text: "hex:x", Tightens: true}}
	must(t, s.Enter(root))
	entered, err := s.Project(root)
	must(t, err)
	must(t, s.Allow(root, Approval{Profile: local(file(path, "p")), Grants: grants, Config: &conf, ConfigCommands: []string{"claude", "hex:zz"}}))
	must(t, s.Deny(root, root+"/.inner/profiles/a.toml"))
	want := []ProjectRecord{{
		Schema:  schema,
		Root:    root,
		Entered: entered.Entered,
		Config: &ProfileRecord{
			Path: conf.Path, Name: "config.toml", Decision: Allowed,
			Files: []FileRecord{{conf.Path, conf.Digest}}, Commands: []string{"claude", "hex:zz"},
		},
		Profiles: []ProfileRecord{
			{Path: root + "/.inner/profiles/a.toml", Name: "a", Decision: Denied},
			{
				Path: path, Name: "\x80", Decision: Allowed, ShimWhen: "always", Grants: grants,
				Files: []FileRecord{{path, file(path, "p").Digest}, {conf.Path, conf.Digest}},
			},
		},
	}}
	got, err := s.Projects()
	must(t, err)
	recent := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".When" }, cmp.Comparer(func(a, b time.Time) bool { return true }))
	if diff := cmp.Diff(want, got, recent, cmpopts.EquateApproxTime(0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if since := time.Since(got[0].Profiles[1].When); since < 0 || since > time.Minute {
		t.Errorf("decided %v ago", since)
	}
	for _, p := range []struct {
		path string
		mode os.FileMode
	}{{s.Dir, 0o700 | os.ModeDir}, {s.path(root), 0o600}} {
		if info, err := os.Lstat(p.path); err != nil || info.Mode() != p.mode {
			t.Errorf("%q: %v, %v", p.path, info.Mode(), err)
		}
	}
	entries, err := os.ReadDir(s.Dir)
	must(t, err)
	if len(entries) != 2 { // the record and the lock
		t.Errorf("in the folder: %v", entries)
	}
}

func TestEnterAndRevoke(t *testing.T) {
	s := newStore(t)
	root := t.TempDir()
	if rec, err := s.Project(root); rec != nil || err != nil {
		t.Errorf("before: %v, %v", rec, err)
	}
	must(t, s.Revoke(root)) // nothing to forget
	must(t, s.Enter(root))
	info, err := os.Stat(s.path(root))
	must(t, err)
	must(t, s.Enter(root))
	again, err := os.Stat(s.path(root))
	must(t, err)
	if !os.SameFile(info, again) {
		t.Error("entering again wrote again")
	}
	must(t, s.Revoke(root))
	if rec, err := s.Project(root); rec != nil || err != nil {
		t.Errorf("a project that is gone, revoked: %v, %v", rec, err)
	}
	must(t, os.Mkdir(filepath.Join(root, ".inner"), 0o700))
	web := file(filepath.Join(root, ".inner/profiles/web.toml"), "1")
	must(t, s.Allow(root, Approval{Profile: local(web)}))
	must(t, s.Revoke(root))
	if rec, err := s.Project(root); err != nil || rec == nil || rec.Entered.IsZero() || len(rec.Profiles) != 0 {
		t.Errorf("a project that is there, revoked: %+v, %v", rec, err)
	}
	for _, err := range []error{s.Enter("rel"), s.Revoke("rel"), s.Deny("rel", "x"), s.Allow("rel", Approval{})} {
		if err == nil || err.Error() != `project "rel": not an absolute path` {
			t.Errorf("a relative root: %v", err)
		}
	}
	for about, p := range map[string]*profile.Profile{
		`profile "/g.toml": only a profile of a project is allowed`:                  {Path: "/g.toml", Scope: profile.Global},
		`profile "/p.toml": its own file is not among those that were read`:          {Path: "/p.toml", Scope: profile.Local},
		`profile "/p.toml": its own file is not among those that were read` + "\x00": {Path: "/p.toml", Scope: profile.Local, Files: []profile.File{web}},
	} {
		if err := s.Allow(root, Approval{Profile: p}); err == nil || err.Error() != strings.TrimSuffix(about, "\x00") {
			t.Errorf("Allow: %v, want %s", err, about)
		}
	}
}

// A record that is there and of no use refuses; it is never taken for none.
func TestDamaged(t *testing.T) {
	const root = "/a/proj"
	digest := strings.Repeat("0", 64)
	entry := func(s string) string { return `{"schema":1,"root":"/a/proj","profiles":[` + s + `]}` }
	for _, c := range []struct{ about, content, want string }{
		{"empty", "", "unexpected end of JSON input"},
		{"cut off", `{"schema":1,`, "unexpected end of JSON input"},
		{"not JSON", "\x00\xff", "invalid character '\\x00' looking for beginning of value"},
		{"two values", entry("") + "{}", "invalid character '{' after top-level value"},
		{"no schema", `{"root":"/a/proj"}`, "schema 0 is not known"},
		{"a later schema", `{"schema":3,"root":"/a/proj"}`, "written by a newer inner (schema 3, this one knows 2)"},
		{"another project's", `{"schema":1,"root":"/a/other"}`, `it is the record of "/a/other"`},
		{"no root", `{"schema":1}`, `root "" is not an absolute path`},
		{"bad bytes", `{"schema":1,"root":"hex:zz"}`, "encoding/hex: invalid byte: U+007A 'z'"},
		{"a decision nobody knows", entry(`{"path":"/x","decision":"maybe"}`), `profile "/x": decision "maybe" is not known`},
		{"allowed without a file", entry(`{"path":"/x","decision":"allowed"}`), `profile "/x": allowed, and no file is named`},
		{"not a digest", entry(`{"path":"/x","decision":"allowed","files":[{"path":"/x","sha256":"1"}]}`), `profile "/x": "1" is not a digest`},
		{"a relative profile", entry(`{"path":"x","decision":"allowed","files":[{"path":"/x","sha256":"` + digest + `"}]}`), `profile "x" is not an absolute path`},
	} {
		s := newStore(t)
		must(t, s.Enter(root))
		path := s.path(root)
		must(t, os.WriteFile(path, []byte(c.content), 0o600))
		s.wantDamaged(t, c.about, root, c.want)
		if c.about != "another project's" && c.about != "no root" {
			if err := s.Allow(root, Approval{}); err == nil {
				t.Errorf("%s: Allow wrote over it", c.about)
			}
		}
		must(t, s.Revoke(root))
		if _, err := s.Project(root); err != nil {
			t.Errorf("%s: after revoke: %v", c.about, err)
		}
	}
	for _, c := range []struct {
		want  string
		spoil func(path string)
	}{
		{"not a regular file", func(path string) {
			must(t, os.Remove(path))
			must(t, os.Mkdir(path, 0o700))
		}},
		{"not a regular file", func(path string) {
			must(t, os.Rename(path, path+".2"))
			must(t, os.Symlink(path+".2", path))
		}},
		{"others can write it (mode 0666)", func(path string) { must(t, os.Chmod(path, 0o666)) }},
		{"it is larger than 8388608 bytes", func(path string) { must(t, os.Truncate(path, maxRecord+1)) }},
	} {
		s := newStore(t)
		must(t, s.Enter(root))
		c.spoil(s.path(root))
		s.wantDamaged(t, c.want, root, c.want)
	}
	if os.Getuid() == 0 {
		s := newStore(t)
		must(t, s.Enter(root))
		must(t, os.Chown(s.path(root), 54321, 54321))
		s.wantDamaged(t, "another user's", root, "it belongs to user 54321")
	}
}

func (s Store) wantDamaged(t *testing.T, about, root, want string) {
	t.Helper()
	path := s.path(root)
	want = fmt.Sprintf("trust record %q: %s", path, want)
	_, err := s.Project(root)
	var damaged *Damaged
	if !errors.As(err, &damaged) || err.Error() != want || damaged.File != path {
		t.Errorf("%s: Project: %v, want %s", about, err, want)
	}
	list, err := s.Projects()
	if len(list) != 0 || err == nil || err.Error() != want {
		t.Errorf("%s: Projects: %v, %v, want %s", about, list, err, want)
	}
}

// Writers take turns: nothing that one recorded is lost to another.
func TestConcurrent(t *testing.T) {
	s := newStore(t)
	const root, n = "/a/proj", 20
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			f := file(fmt.Sprintf("%s/.inner/profiles/%02d.toml", root, i), "x")
			if err := s.Allow(root, Approval{Profile: local(f)}); err != nil {
				t.Error(err)
			}
			if err := s.Enter(fmt.Sprintf("/a/proj%d", i%3)); err != nil {
				t.Error(err)
			}
			for range 20 { // a reader never sees half a record
				if _, err := s.Project(root); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	rec, err := s.Project(root)
	must(t, err)
	if len(rec.Profiles) != n {
		t.Errorf("%d of %d approvals are left", len(rec.Profiles), n)
	}
	list, err := s.Projects()
	must(t, err)
	if len(list) != 4 {
		t.Errorf("%d projects", len(list))
	}
}

func BenchmarkCheck(b *testing.B) {
	s := newStore(b)
	f := file("/a/proj/.inner/profiles/web.toml", "x")
	var grants []profile.Grant
	for i := range 60 {
		grants = append(grants, profile.Grant{Kind: "reads", Text: fmt.Sprintf("the folder number %d, read-only", i)})
	}
	must(b, s.Allow("/a/proj", Approval{Profile: local(f), Grants: grants}))
	for b.Loop() {
		if v := s.check("/a/proj", local(f), nil); v.State != Allowed {
			b.Fatal(v)
		}
	}
}

// check judges a profile as its project's record on the disk says.
func (s Store) check(root string, p *profile.Profile, config *profile.File) Verdict {
	rec, err := s.Project(root)
	if err != nil {
		return Verdict{State: Unreadable, Err: err}
	}
	return s.Judge(rec, p, config)
}

// TestPutBackConfig: of a config.toml that nobody has any more, what is typed makes one that inner allow shows.
func TestPutBackConfig(t *testing.T) {
	dir := t.TempDir()
	at := filepath.Join(dir, ".inner", "config.toml")
	want := "mkdir -p " + dir + "/.inner && touch " + at + " && inner allow " + dir
	if got := PutBack(dir, at); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
