package host

import (
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestPaths(t *testing.T) {
	d, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	j := func(p string) string { return filepath.Join(d, p) }
	must(t, os.MkdirAll(j("dir/sub"), 0o755))
	must(t, os.WriteFile(j("dir/file"), nil, 0o644))
	must(t, os.Symlink("dir", j("link")))
	must(t, os.Symlink(j("dir/file"), j("abs")))
	must(t, os.Symlink("nowhere", j("dangling")))
	must(t, os.Symlink("loop", j("loop")))
	sock, err := net.Listen("unix", j("dir/sock"))
	must(t, err)
	defer sock.Close()

	link := []Hop{{j("link"), "dir"}}
	want := map[string]Path{
		j("dir"):           {Kind: Dir, Real: j("dir")},
		j("dir/file"):      {Kind: File, Real: j("dir/file")},
		j("link"):          {Kind: Dir, Real: j("dir"), Hops: link},
		j("link/file"):     {Kind: File, Real: j("dir/file"), Hops: link},
		j("link/sub/no"):   {Kind: Missing, Real: j("dir/sub/no"), Hops: link},
		j("abs"):           {Kind: File, Real: j("dir/file"), Hops: []Hop{{j("abs"), j("dir/file")}}},
		j("dangling"):      {Kind: Missing, Real: j("dangling"), Link: true, Hops: []Hop{{j("dangling"), "nowhere"}}},
		j("dangling/x"):    {Kind: Missing, Real: j("dangling/x"), Hops: []Hop{{j("dangling"), "nowhere"}}},
		j("no/where/ever"): {Kind: Missing, Real: j("no/where/ever")},
		j("dir/file/x"):    {Kind: Missing, Real: j("dir/file/x")},
		j("loop"):          {Kind: Denied, Real: j("loop")},
		j("link/sock"):     {Kind: Socket, Real: j("dir/sock"), Hops: link},
		"/":                {Kind: Dir, Real: "/"},
	}
	var ask []string
	for p := range want {
		ask = append(ask, p)
	}
	f := Probe(Request{Paths: ask, Globs: []string{j("dir/*")}})
	for p, w := range want {
		got := f.Paths[p]
		if (got.Kind == Missing) == (got.ID.Ino != 0) && p != "/" && got.Kind != Denied {
			t.Errorf("%s: %v has the identity %v", p, got.Kind, got.ID)
		}
		if got.ID, got.links = (ID{}), 0; !reflect.DeepEqual(got, w) {
			t.Errorf("%s: got %v, want %v", p, f.Paths[p], w)
		}
	}
	if got := f.Globs[j("dir/*")]; !slices.Equal(got, []string{j("dir/file"), j("dir/sock"), j("dir/sub")}) {
		t.Errorf("glob: %v", got)
	}
	if !slices.Contains(f.Sockets, j("dir/sock")) {
		t.Errorf("the listening socket is not among %v", f.Sockets)
	}
}

func TestGuardGit(t *testing.T) {
	d := t.TempDir()
	git := filepath.Join(d, ".git")
	if guardGit(d) != nil {
		t.Error("a guard without a repository")
	}
	for _, sub := range []string{"hooks", "info", "modules/a/hooks"} {
		must(t, os.MkdirAll(filepath.Join(git, sub), 0o755))
	}
	for _, file := range []string{"config", "HEAD", "modules/a/config", "info/attributes"} {
		must(t, os.WriteFile(filepath.Join(git, file), nil, 0o644))
	}
	check := func(about string, want ...GitGuard) {
		t.Helper()
		got := guardGit(d)
		for i := range got {
			got[i].Missing = nil
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", about, diff)
		}
	}
	j := func(rel string) string { return filepath.Join(git, rel) }
	check("a repository", GitGuard{Dir: git, ReadOnly: []string{j("hooks"), j("config"), j("info/attributes"), j("modules")}})
	if got, want := guardGit(d)[0].Missing, []Placeholder{{j("commondir"), []byte(".\n")}}; !cmp.Equal(got, want) {
		t.Errorf("missing: %v", got)
	}
	must(t, os.Remove(j("config")))
	must(t, os.RemoveAll(j("hooks")))
	if got, want := guardGit(d)[0].Missing, []Placeholder{{j("config"), []byte{}}, {j("hooks"), nil}, {j("commondir"), []byte(".\n")}}; !cmp.Equal(got, want) {
		t.Errorf("missing: %v", got)
	}
	// A link could be exchanged, and a pipe never ends.
	must(t, os.Symlink("../hooks", j("hooks")))
	must(t, syscall.Mkfifo(j("config"), 0o600))
	check("a link and a pipe", GitGuard{Dir: git, ReadOnly: []string{j("info/attributes"), j("modules")}}, GitGuard{Dir: j("hooks"), Link: true}, GitGuard{Dir: j("config"), Link: true})
	// Where nothing can be made, nothing is to be made.
	must(t, os.Remove(j("hooks")))
	must(t, os.Remove(j("config")))
	must(t, os.Chmod(git, 0o555))
	if os.Getuid() == 0 {
		t.Fatal("root may write everything: run me as a plain user")
	}
	check("a repository that cannot be written", GitGuard{Dir: git, Pointer: true})
	must(t, os.Chmod(git, 0o755))
	must(t, os.RemoveAll(git))
	must(t, os.WriteFile(git, []byte("gitdir: /x\n"), 0o644))
	check("a pointer", GitGuard{Dir: git, Pointer: true})
	must(t, os.Remove(git))
	must(t, os.Symlink("elsewhere", git))
	check("a link", GitGuard{Dir: git, Link: true})
}

// TestLinkedRepositories: links are told apart from what they lead to, which is
// guarded where the box can write it.
func TestLinkedRepositories(t *testing.T) {
	d, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	j := func(rel string) string { return filepath.Join(d, rel) }
	for _, repo := range []string{"far/.git", "far/side.git", "outside/.git"} {
		must(t, os.MkdirAll(j(repo+"/hooks"), 0o755))
		must(t, os.WriteFile(j(repo+"/config"), nil, 0o644))
		must(t, os.WriteFile(j(repo+"/HEAD"), nil, 0o644))
	}
	must(t, os.MkdirAll(j("work/a"), 0o755))
	must(t, os.Rename(j("far"), j("work/far")))
	look := func() []GitGuard {
		l := looker{dirs: map[string]Path{}, names: map[string][]name{}, held: map[string]map[string]bool{}}
		list, _ := l.guards([]string{j("work")})
		return list
	}
	has := func(about string, list []GitGuard, ok func(GitGuard) bool) {
		t.Helper()
		if !slices.ContainsFunc(list, ok) {
			t.Errorf("%s: %+v", about, list)
		}
	}
	hop := func(path, target string) func(GitGuard) bool {
		return func(g GitGuard) bool { return slices.Contains(g.Hops, Hop{j(path), target}) }
	}
	readOnly := func(path string) func(GitGuard) bool {
		return func(g GitGuard) bool {
			return slices.Contains(g.ReadOnly, j(path)) || g.Pointer && g.Dir == j(path)
		}
	}
	git := j("work/a/.git")
	must(t, os.Symlink("../way", git))
	must(t, os.Symlink("far/side.git", j("work/way")))
	list := look()
	has("the link", list, hop("work/a/.git", "../way"))
	has("the link behind it", list, hop("work/way", "far/side.git"))
	has("the hooks there", list, readOnly("work/far/side.git/hooks"))
	must(t, os.Remove(git))
	must(t, os.Symlink(j("outside/.git"), git))
	list = look()
	has("a link out", list, hop("work/a/.git", j("outside/.git")))
	if slices.ContainsFunc(list, readOnly("outside/.git/hooks")) {
		t.Errorf("what the box cannot write is guarded: %+v", list)
	}
	must(t, os.Remove(git))
	must(t, os.WriteFile(j("work/pointer"), []byte("gitdir: ../far/side.git\n"), 0o644))
	must(t, os.Symlink("../pointer", git))
	list = look()
	has("a link to a pointer", list, hop("work/a/.git", "../pointer"))
	has("the pointer", list, readOnly("work/pointer"))
	has("what it points to", list, readOnly("work/far/side.git/config"))
	must(t, os.Remove(git))
	must(t, os.Symlink("nowhere", git))
	has("a link to nothing", look(), func(g GitGuard) bool { return g.Link && g.Dir == git })
}

// TestFindBwrapIgnoresPlants: a program called bwrap that anybody could have
// written is never used.
func TestFindBwrapIgnoresPlants(t *testing.T) {
	d := t.TempDir()
	must(t, os.WriteFile(filepath.Join(d, "bwrap"), []byte("#!/bin/sh\nexit 0\n"), 0o777))
	must(t, os.Chmod(filepath.Join(d, "bwrap"), 0o777))
	if path, _, _ := FindBwrap(d+":.", nil); filepath.Dir(path) == d {
		t.Errorf("FindBwrap took %s", path)
	}
	if err := rootOwned(filepath.Join(d, "bwrap"), os.Lstat); err == nil {
		t.Error("a world-writable program passes for root's")
	}
}

// TestSetuidBwrap: a program that starts with the rights of root is used when
// the user says so, and not otherwise. newuidmap is one that is there.
func TestSetuidBwrap(t *testing.T) {
	yes, no := func() bool { return true }, func() bool { return false }
	for _, c := range []struct {
		name   string
		setuid func() bool
		found  bool
	}{{"true", nil, true}, {"true", no, true}, {"newuidmap", nil, false}, {"newuidmap", no, false}, {"newuidmap", yes, true}} {
		path, why, fix := findPlain(c.name, "uidmap", "", c.setuid)
		if (path != "") != c.found || c.found != (why == "") || !c.found && (!strings.Contains(why, "with the rights of root") || !strings.HasPrefix(fix, "sudo ")) {
			t.Errorf("%s: %q, %q, %q", c.name, path, why, fix)
		}
	}
	if path, why, fix := findPlain("no-such-bwrap", "bubblewrap", "", yes); path != "" || why != "no-such-bwrap is not installed" || fix != "sudo apt-get install bubblewrap" {
		t.Errorf("%q, %q, %q", path, why, fix)
	}
}

func TestPatterns(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "odd[1]*")
	for _, p := range []string{
		".env", ".env.local", "a/.env", "a/b/.env", "a/b/c/.env", "node_modules/x/.env", "one.pem", "state/x/history", "state/y/other", ".a_history", "plain",
	} {
		p = filepath.Join(dir, p)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	escaped := strings.NewReplacer("[", `\[`, "*", `\*`).Replace(dir)
	l := looker{dirs: map[string]Path{}, names: map[string][]name{}, meant: map[string][]string{}, held: map[string]map[string]bool{}}
	for pattern, want := range map[string][]string{
		"/**/.env":         {".env", "a/.env", "a/b/.env"},
		"/**/.env.*":       {".env.local"},
		"/*.pem":           {"one.pem"},
		"/.*_history":      {".a_history"},
		"/state/*/history": {"state/x/history"},
		"/nothing/*":       nil,
		"/plai?":           {"plain"},
	} {
		var got []string
		for _, p := range l.glob(escaped + pattern) {
			rel, err := filepath.Rel(dir, p)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, rel)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", pattern, got, want)
		}
	}
}
