package shims

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFindReal(t *testing.T) {
	root := tempDir(t)
	p := func(name string) string { return filepath.Join(root, name) }
	bin := p("home/shims/bin")
	write(t, p("home/shims/inner"), "inner", 0o700)
	must(t, os.MkdirAll(bin, 0o700))
	for _, name := range []string{"prog", "only-shim", "second"} {
		must(t, os.Symlink(linkText, filepath.Join(bin, name)))
	}
	must(t, os.Symlink(bin, p("alias")))
	must(t, os.Symlink(p("home/shims/inner"), p("link-to-inner")))
	script(t, p("real/prog"))
	script(t, p("real/-dash"))
	script(t, p("real/odd $(touch x) 'n'\nl"))
	write(t, p("noexec/prog"), "x", 0o644)
	write(t, p("noexec/data"), "x", 0o644)
	must(t, os.MkdirAll(p("folders/prog"), 0o755))
	must(t, os.MkdirAll(p("mine"), 0o755))
	must(t, os.Symlink(filepath.Join(bin, "prog"), p("mine/prog")))
	must(t, os.Symlink(p("nowhere"), p("mine/dangling")))
	must(t, os.Link(p("home/shims/inner"), p("mine/second")))
	script(t, p("real/second"))
	t.Chdir(p("real"))

	self, err := os.Stat(p("home/shims/inner"))
	must(t, err)
	for _, c := range []struct{ about, name, path, want, err string }{
		{"first on PATH", "prog", p("real"), p("real/prog"), ""},
		{"the shim folder", "prog", bin + ":" + p("real"), p("real/prog"), ""},
		{"twice", "prog", bin + ":" + bin + ":" + p("real") + ":" + bin, p("real/prog"), ""},
		{"trailing slash", "prog", bin + "/:" + p("real"), p("real/prog"), ""},
		{"doubled slash and dots", "prog", p("home//shims/./bin/../bin") + ":" + p("real"), p("real/prog"), ""},
		{"alias", "prog", p("alias") + ":" + p("alias/") + ":" + p("real/"), p("real/prog"), ""},
		{"relative", "prog", "../home/shims/bin:../real", "./../real/prog", ""},
		{"empty element", "prog", bin + "::/nowhere", "./prog", ""},
		{"empty last element", "prog", bin + ":", "./prog", ""},
		{"dot", "prog", ".", "././prog", ""},
		{"leading dash", "-dash", "", "", `"-dash": command not found`},
		{"leading dash, relative", "-dash", ":", "./-dash", ""},
		{"odd bytes", "odd $(touch x) 'n'\nl", p("real"), p("real/odd $(touch x) 'n'\nl"), ""},
		{"only the shim", "only-shim", bin + ":" + p("real"), "", `"only-shim": command not found`},
		{"a link to the shim elsewhere", "prog", p("mine") + ":" + p("real"), p("real/prog"), ""},
		{"a hard link to inner", "second", p("mine") + ":" + p("real"), p("real/second"), ""},
		{"a dangling link", "dangling", p("mine"), "", `"dangling": command not found`},
		{"not executable, then one that is", "prog", p("noexec") + ":" + p("real"), p("real/prog"), ""},
		{"not executable", "data", p("noexec"), "", `"data": permission denied`},
		{"a folder", "prog", p("folders"), "", `"prog": command not found`},
		{"a file on PATH", "prog", p("real/prog") + ":" + p("real"), p("real/prog"), ""},
		{"unset", "sh", "", "/usr/bin/sh", ""},
		{"slash", "a/b", p("real"), "", `"a/b": command not found`},
		{"dot dot", "..", p("real"), "", `"..": command not found`},
		{"no name", "", p("real"), "", `"": command not found`},
		{"NUL", "a\x00", p("real"), "", `"a\x00": command not found`},
	} {
		got, err := FindReal(c.name, c.path, bin, func() []os.FileInfo { return []os.FileInfo{self} })
		text := ""
		if err != nil {
			text = err.Error()
		}
		if got != c.want || text != c.err {
			t.Errorf("%s: FindReal(%q, %q) = %q, %q, want %q, %q", c.about, c.name, c.path, got, text, c.want, c.err)
		}
	}
	if _, err := FindReal("data", p("noexec"), bin, nil); ExitCode(err) != ExitRefused {
		t.Errorf("not executable: exit %d", ExitCode(err))
	}
	if _, err := FindReal("none", p("real"), bin, nil); ExitCode(err) != ExitNotFound {
		t.Errorf("not found: exit %d", ExitCode(err))
	}
	// The twin: without the identity of the shim folder the shim itself is found.
	must(t, os.Remove(p("home/shims/inner")))
	script(t, p("home/shims/inner"))
	if got, err := FindReal("prog", bin+":"+p("real"), "/nowhere/bin", nil); err != nil || got != filepath.Join(bin, "prog") {
		t.Errorf("without the folder's identity: %q, %v", got, err)
	}
}

func TestGuard(t *testing.T) {
	const window = loopWindow
	paths := []string{"/a b/100%3A", "/c"}
	written := guard{PID: 7, At: 1000, Depth: 2, Call: 0xabc, Tries: 3, Paths: paths}
	if diff := cmp.Diff(written, parseGuard(written.String())); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	for _, bad := range []string{
		"", "x", "7:1000:2:abc:3:/c", `{"PID":1}`, "1 0 0 0\t/c", "1 0 -3 0 0\t/c", "1 0 0 0 -5\t/c",
		"1 0 0 0 0\t" + strings.Repeat("x:", 200),
	} {
		if g := parseGuard(bad); g.PID != 0 {
			t.Errorf("parseGuard(%q) = %+v, want nothing", bad, g)
		}
	}
	for _, c := range []struct {
		about string
		pid   int
		now   int64
		call  uint64
		depth int
		skip  []string
	}{
		{"the same call comes back", 7, 1001, 0xabc, 3, paths},
		{"another process", 8, 1001, 0xabc, 3, nil},
		{"another call", 7, 1001, 0xabd, 3, nil},
		{"much later", 7, 1000 + window + 1, 0xabc, 0, nil},
		{"before it was written", 7, 999, 0xabc, 0, nil},
	} {
		g := written.enter(c.pid, c.now, c.call)
		if diff := cmp.Diff(c.skip, g.skip()); diff != "" || g.Depth != c.depth || g.PID != c.pid || g.At != c.now {
			t.Errorf("%s: %+v, depth %d, skip (-want +got):\n%s", c.about, g, g.Depth, diff)
		}
	}
}

// Whatever the variable holds, reading it does no harm; what is written is read back.
func FuzzGuard(f *testing.F) {
	f.Add("7 1000 2 2748 3\t/a b:/c", "/x y")
	f.Add("::::", "")
	f.Add("{}", "%3A")
	f.Fuzz(func(t *testing.T, value, path string) {
		g := parseGuard(value)
		if again := parseGuard(g.String()); g.PID != 0 && len(g.Paths) < maxDepth && !cmp.Equal(g, again) {
			t.Errorf("%q: %+v, then %+v", value, g, again)
		}
		left := parseGuard(guard{PID: 1, Paths: []string{path}}.String())
		if path != "" && !strings.Contains(path, ":") && !slices.Equal(left.Paths, []string{path}) {
			t.Errorf("%q comes back as %q", path, left.Paths)
		}
	})
}

// shimHome makes an INNER_HOME by hand whose binary is the test binary.
func shimHome(t testing.TB, names ...string) (home string) {
	t.Helper()
	home = filepath.Join(tempDir(t), "inner home")
	must(t, os.MkdirAll(filepath.Join(home, "shims", "bin"), 0o700))
	data, err := os.ReadFile(self(t))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(home, "shims", "inner"), data, 0o700))
	for _, name := range names {
		must(t, os.Symlink(linkText, filepath.Join(home, "shims", "bin", name)))
	}
	return home
}

// Other managers' shims look the command up on PATH again and find ours.
func TestLoop(t *testing.T) {
	home := shimHome(t, "prog", "bash")
	bin := filepath.Join(home, "shims", "bin")
	work := tempDir(t)
	exec := filepath.Join(work, "exec") // calls back in the same process
	write(t, filepath.Join(exec, "prog"), "#!/bin/sh\nexec prog \"$@\"\n", 0o755)
	fork := filepath.Join(work, "fork") // calls back in a new one
	write(t, filepath.Join(fork, "prog"), "#!/bin/sh\nprog \"$@\"; exit $?\n", 0o755)
	grow := filepath.Join(work, "grow") // calls back with another argument each time
	write(t, filepath.Join(grow, "prog"), "#!/bin/sh\nexec prog \"$@\" x\n", 0o755)
	real := filepath.Join(work, "real")
	script(t, filepath.Join(real, "prog"))

	for _, c := range []struct {
		about, path, out, errs string
		code                   int
	}{
		{"exec, real program behind", bin + ":" + exec + ":" + real, real + "/prog a b", "", 0},
		{"exec, nothing behind", bin + ":" + exec, "", `inner: "prog": command not found; "` + exec + `/prog" leads back to inner` + "\n", 127},
		{"fork", bin + ":" + fork + ":" + real, "", `inner: "prog": the shims on PATH call each other in an endless loop (100 times in a row)` + "\n", 126},
		{"growing arguments", bin + ":" + grow + ":" + real, "", `inner: "prog": the shims on PATH call each other in an endless loop (100 times in a row)` + "\n", 126},
		{"none", bin + ":" + real, real + "/prog a b", "", 0},
	} {
		out, errs, code := run(t, work, []string{partVar + "=shim", "HOME=" + work, "PATH=" + c.path + ":/usr/bin:/bin"}, filepath.Join(bin, "prog"), "a", "b")
		if out != c.out || errs != c.errs || code != c.code {
			t.Errorf("%s: %q, %q, %d, want %q, %q, %d", c.about, out, errs, code, c.out, c.errs, c.code)
		}
	}

	// What is no loop must not be taken for one: a shell that executes itself again
	// and again in one process.
	env := []string{partVar + "=shim", "HOME=" + work, "PATH=" + bin + ":/usr/bin:/bin"}
	nested := "echo done"
	for range 6 {
		nested = "exec bash -c '" + strings.ReplaceAll(nested, "'", `'\''`) + "'"
	}
	if out, errs, code := run(t, work, env, filepath.Join(bin, "bash"), "-c", nested); out != "done\n" || code != 0 {
		t.Errorf("exec bash in bash: %q, %q, %d", out, errs, code)
	}
	write(t, filepath.Join(work, "again"), "#!/usr/bin/env bash\n[ \"$AGAIN\" ] || { AGAIN=1 exec \"$0\" \"$@\"; }\necho \"again $*\"\n", 0o755)
	if out, errs, code := run(t, work, env, filepath.Join(work, "again"), "x"); out != "again x\n" || code != 0 {
		t.Errorf("a script that executes itself: %q, %q, %d", out, errs, code)
	}
}

// What reaches the real program is what was called, byte for byte.
func TestExec(t *testing.T) {
	home := shimHome(t, "prog", "text", "gone", "plain")
	bin := filepath.Join(home, "shims", "bin")
	work := tempDir(t)
	must(t, os.Symlink(filepath.Join(home, "shims", "inner"), filepath.Join(work, "unused")))
	// The real program is another copy of the test binary: the same one is skipped.
	data, err := os.ReadFile(self(t))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(work, "prog"), data, 0o755))
	write(t, filepath.Join(work, "text"), "printf '%s' \"text $*\"\n", 0o755) // no first line
	write(t, filepath.Join(work, "plain"), "x", 0o644)
	env := []string{partVar + "=shim", "HOME=" + work, "PATH=" + bin + ":" + work}

	args := []string{"", " ", "a\nb", "*", "$(touch x)", `'"\`, "\xff\xfe\x80", "-n", "--", strings.Repeat("é", 60<<10), "ünï"}
	out, errs, code := run(t, work, env, append([]string{filepath.Join(bin, "prog")}, args...)...)
	want := "real " + strings.Join(append([]string{filepath.Join(work, "prog")}, args...), "\x00")
	if out != want || code != 0 {
		t.Errorf("arguments: exit %d, %q\n%.300q\nwant\n%.300q", code, errs, out, want)
	}
	for _, c := range []struct {
		about     string
		argv      []string
		out, errs string
		code      int
	}{
		{"a script without a first line", []string{filepath.Join(bin, "text"), "a b"}, "text a b", "", 0},
		{"not found", []string{filepath.Join(bin, "gone")}, "", "inner: \"gone\": command not found\n", 127},
		{"not executable", []string{filepath.Join(bin, "plain")}, "", "inner: \"plain\": permission denied\n", 126},
	} {
		out, errs, code := run(t, work, env, c.argv...)
		if out != c.out || errs != c.errs || code != c.code {
			t.Errorf("%s: %q, %q, %d, want %q, %q, %d", c.about, out, errs, code, c.out, c.errs, c.code)
		}
	}
}
