package host

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
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

	link := []Hop{{Path: j("link"), Target: "dir"}}
	want := map[string]Path{
		j("dir"):           {Kind: Dir, Real: j("dir")},
		j("dir/file"):      {Kind: File, Real: j("dir/file")},
		j("link"):          {Kind: Dir, Real: j("dir"), Hops: link},
		j("link/file"):     {Kind: File, Real: j("dir/file"), Hops: link},
		j("link/sub/no"):   {Kind: Missing, Real: j("dir/sub/no"), Hops: link},
		j("abs"):           {Kind: File, Real: j("dir/file"), Hops: []Hop{{Path: j("abs"), Target: j("dir/file")}}},
		j("dangling"):      {Kind: Missing, Real: j("dangling"), Link: j("nowhere"), Hops: []Hop{{Path: j("dangling"), Target: "nowhere"}}},
		j("dangling/x"):    {Kind: Missing, Real: j("dangling/x"), Hops: []Hop{{Path: j("dangling"), Target: "nowhere"}}},
		j("no/where/ever"): {Kind: Missing, Real: j("no/where/ever")},
		j("dir/file/x"):    {Kind: Missing, Real: j("dir/file/x")},
		j("loop"):          {Kind: Missing, Real: j("loop"), Link: j("loop")},
		j("link/sock"):     {Kind: Socket, Real: j("dir/sock"), Hops: link},
		"/":                {Kind: Dir, Real: "/"},
	}
	f := Probe(Begin(Facts{}), Request{})
	for p, w := range want {
		got := f.Look(p)
		if (got.Kind == Missing) == (got.ID.Ino != 0) && p != "/" && got.Kind != Denied {
			t.Errorf("%s: %v has the identity %v", p, got.Kind, got.ID)
		}
		if got.ID = (ID{}); !reflect.DeepEqual(got, w) {
			t.Errorf("%s: got %v, want %v", p, f.Paths[p], w)
		}
	}
	if got := f.Match(d, "dir/*", ""); !slices.Equal(got, []string{j("dir/file"), j("dir/sock"), j("dir/sub")}) {
		t.Errorf("glob: %v", got)
	}
	if !slices.Contains(f.Sockets, j("dir/sock")) {
		t.Errorf("the listening socket is not among %v", f.Sockets)
	}
}

// A user has a name where the environment says none.
func TestUserName(t *testing.T) {
	for _, c := range []struct{ env, uid, want string }{{"me", "0", "me"}, {"", "0", "root"}, {"", "3999999999", "3999999999"}} {
		if got := userName(c.env, c.uid); got != c.want {
			t.Errorf("USER %q, uid %s: %q, want %q", c.env, c.uid, got, c.want)
		}
	}
	if got := Probe(Begin(Facts{}), Request{}).User; got != userName("", strconv.Itoa(os.Getuid())) {
		t.Errorf("without USER: %q", got)
	}
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

// TestRootOwned: a helper program counts for root's where nobody else can change or replace it.
func TestRootOwned(t *testing.T) {
	const program = "/opt/tool/bin/helper"
	for _, c := range []struct {
		changed string
		mode    fs.FileMode
		uid     uint32
		want    string
	}{
		{"", 0, 0, ""},
		{"/opt", fs.ModeDir | fs.ModeSticky | 0o777, 0, ""}, // as /tmp: names in it belong to their owners
		{"/opt", fs.ModeDir | 0o777, 0, "/opt can be changed by others than root (mode 0777)"},
		{"/opt/tool", fs.ModeDir | 0o775, 0, "/opt/tool can be changed by others than root (mode 0775)"},
		{"/opt/tool/bin", fs.ModeDir | 0o757, 0, "/opt/tool/bin can be changed by others than root (mode 0757)"},
		{"/", fs.ModeDir | 0o777, 0, "/ can be changed by others than root (mode 0777)"},
		{"/opt/tool", fs.ModeDir | 0o755, 1000, "/opt/tool does not belong to root"},
		{"/opt/tool", fs.ModeSymlink | 0o777, 0, "/opt/tool is a link"},
		{program, 0o775, 0, program + " can be changed by others than root (mode 0775)"},
		{program, fs.ModeSticky | 0o777, 0, program + " can be changed by others than root (mode 0777)"},
		{program, 0o755, 1000, program + " does not belong to root"},
		{program, 0o644, 0, program + " is not executable"},
		{program, fs.ModeDir | 0o755, 0, program + " is not a file"},
	} {
		err := rootOwned(program, func(path string) (fs.FileInfo, error) {
			switch {
			case path == c.changed:
				return madeUp{mode: c.mode, sys: &syscall.Stat_t{Uid: c.uid}}, nil
			case path == program:
				return madeUp{mode: 0o755, sys: &syscall.Stat_t{}}, nil
			}
			return madeUp{mode: fs.ModeDir | 0o755, sys: &syscall.Stat_t{}}, nil
		})
		if got := fmt.Sprint(err); got != c.want && (err != nil || c.want != "") {
			t.Errorf("%s %v of %d: %q, want %q", c.changed, c.mode, c.uid, got, c.want)
		}
	}
}

// madeUp is a file that is not there.
type madeUp struct {
	fs.FileInfo
	mode fs.FileMode
	sys  *syscall.Stat_t
}

func (f madeUp) Mode() fs.FileMode { return f.mode }
func (f madeUp) IsDir() bool       { return f.mode.IsDir() }
func (f madeUp) Sys() any          { return f.sys }

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
	l := newLooker()
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
		for _, p := range l.glob(dir, pattern[1:]) {
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

// TestGlobMatches is every pattern against every name: what a listing says of names in advance leaves none out.
func TestGlobMatches(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	names := []string{"a", "A", "ab", "a.pem", "A.PEM", ".pem", ".env", ".env.x", "é", "xé", "[x]", "x*y", "\xff", "zz~", "@", "`"}
	for _, n := range names {
		must(t, os.WriteFile(filepath.Join(dir, n), nil, 0o600))
	}
	slices.Sort(names)
	l := newLooker()
	for _, pattern := range []string{"*", "a*", "*m", "*.pem", ".env*", ".env", "a.pem", "*é", "é*", "é", "?", "[ab]*", "*[b]", `\[x]`, `x\**`, "*\xff", "\xff*", "z*~", "@", "none", "*none", "none*"} {
		var want []string
		for _, n := range names {
			if ok, err := filepath.Match(pattern, n); err == nil && ok {
				want = append(want, dir+"/"+n)
			}
		}
		if got := l.glob(dir, pattern); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", pattern, got, want)
		}
	}
	// Where the file system does not tell case, as a second name in capitals makes it seem here.
	must(t, os.WriteFile(filepath.Join(dir, ".Env.x"), nil, 0o600))
	must(t, os.Link(filepath.Join(dir, ".Env.x"), filepath.Join(dir, ".ENV.X")))
	if got := newLooker().glob(dir, ".env.*"); !slices.Contains(got, dir+"/.Env.x") {
		t.Errorf("in another case: %q", got)
	}
	for pattern, want := range map[string]string{"et*": "/etc", "e?c/pass*d": "/etc/passwd", "etc": "/etc", "**/passw[d]": "/etc/passwd"} {
		if got := l.glob("/", pattern); want != "" && !slices.Contains(got, want) || want == "" && got != nil {
			t.Errorf("%q: %q, want %q", pattern, got, want)
		}
	}
}

// TestMatchOfFolders: the name of a folder is no pattern, and what was asked of another one is not the answer.
func TestMatchOfFolders(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	odd := filepath.Join(dir, "**")
	must(t, os.Mkdir(odd, 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "a.key"), nil, 0o600))
	f := Facts{Globs: map[string][]string{}, on: newLooker()}
	if got := f.Match(odd, "*.key", ""); len(got) != 0 {
		t.Errorf("%q", got)
	}
	if got := f.Match(dir, "**/*.key", ""); len(got) != 1 {
		t.Errorf("%q", got)
	}
	if got := f.Match(dir, "**/*.key", "PRIVATE"); len(got) != 0 {
		t.Errorf("%q", got)
	}
}
