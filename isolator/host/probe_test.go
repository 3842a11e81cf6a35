package host

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
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

	want := map[string]Path{
		j("dir"):           {Kind: Dir, Real: j("dir")},
		j("dir/file"):      {Kind: File, Real: j("dir/file")},
		j("link"):          {Kind: Dir, Real: j("dir")},
		j("link/file"):     {Kind: File, Real: j("dir/file")},
		j("link/sub/no"):   {Kind: Missing, Real: j("dir/sub/no")},
		j("abs"):           {Kind: File, Real: j("dir/file")},
		j("dangling"):      {Kind: Missing, Real: j("dangling")},
		j("dangling/x"):    {Kind: Missing, Real: j("dangling/x")},
		j("no/where/ever"): {Kind: Missing, Real: j("no/where/ever")},
		j("dir/file/x"):    {Kind: Missing, Real: j("dir/file/x")},
		j("loop"):          {Kind: Denied, Real: j("loop")},
		j("link/sock"):     {Kind: Socket, Real: j("dir/sock")},
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
		if got.ID = (ID{}); got != w {
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
	if _, ok := guardGit(d); ok {
		t.Error("a guard without a repository")
	}
	for _, sub := range []string{"hooks", "info", "modules/a/hooks"} {
		must(t, os.MkdirAll(filepath.Join(git, sub), 0o755))
	}
	for _, file := range []string{"config", "HEAD", "modules/a/config", "info/attributes"} {
		must(t, os.WriteFile(filepath.Join(git, file), nil, 0o644))
	}
	g, ok := guardGit(d)
	var got []string
	for _, p := range g.ReadOnly {
		rel, _ := filepath.Rel(git, p)
		got = append(got, rel)
	}
	if want := []string{"hooks", "config", "info/attributes", "modules"}; !ok || g.Dir != git || !slices.Equal(got, want) {
		t.Errorf("got %v %v, want %v", g.Dir, got, want)
	}
	w := t.TempDir()
	must(t, os.WriteFile(filepath.Join(w, ".git"), []byte("gitdir: /x\n"), 0o644))
	if g, ok := guardGit(w); !ok || !g.Pointer {
		t.Errorf("pointer file: %v %v", g, ok)
	}
}

// TestFindBwrapIgnoresPlants: a program called bwrap that anybody could have
// written is never used.
func TestFindBwrapIgnoresPlants(t *testing.T) {
	d := t.TempDir()
	must(t, os.WriteFile(filepath.Join(d, "bwrap"), []byte("#!/bin/sh\nexit 0\n"), 0o777))
	must(t, os.Chmod(filepath.Join(d, "bwrap"), 0o777))
	if path, _ := FindBwrap(d + ":."); filepath.Dir(path) == d {
		t.Errorf("FindBwrap took %s", path)
	}
	if err := rootOwned(filepath.Join(d, "bwrap")); err == nil {
		t.Error("a world-writable program passes for root's")
	}
}
