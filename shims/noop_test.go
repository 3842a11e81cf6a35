package shims

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/enr/inner/profile"
)

// scriptShells are the shells that may be behind /bin/sh.
func scriptShells(t testing.TB) []string {
	t.Helper()
	var list []string
	for _, name := range []string{"dash", "bash"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatalf("%s is needed: %v", name, err)
		}
		list = append(list, path)
	}
	return list
}

// written is [noop] as a file has it.
type written struct {
	Block            []string
	Rewrite, Message []profile.KV
}

func (w written) noop() (n profile.Noop) {
	for _, text := range w.Block {
		n.Rules = append(n.Rules, profile.NoopRule{Words: split(text)})
	}
	for _, kv := range w.Rewrite {
		n.Rules = append(n.Rules, profile.NoopRule{Words: split(kv.Key), Target: split(kv.Value)})
	}
	for _, m := range w.Message {
		for i, r := range n.Rules {
			if r.String() == strings.Join(split(m.Key), " ") {
				n.Rules[i].Message = m.Value
			}
		}
	}
	return n
}

func split(rule string) []string {
	return strings.FieldsFunc(rule, func(r rune) bool { return r == ' ' || r == '\t' })
}

// noopBox lays out what a box has: the noop folder first on PATH, real programs
// behind. It returns the PATH and the noop folder.
func noopBox(t testing.TB, n written, real ...string) (path, noop string) {
	t.Helper()
	work := filepath.Join(tempDir(t), "a b*$(touch x)'\n\xff")
	noop = filepath.Join(work, "noop")
	scripts := NoopScripts(n.noop(), "web", noop, filepath.Join(work, "blocked"))
	for _, s := range scripts {
		write(t, filepath.Join(noop, s.Name), string(s.Text), 0o755)
	}
	for _, name := range real {
		write(t, filepath.Join(work, "real", name), "#!/bin/sh\nprintf '%s\\0' \"${0##*/}\" \"$@\"\n", 0o755)
	}
	return noop + ":" + filepath.Join(work, "real"), noop
}

func TestNoopScripts(t *testing.T) {
	rules := written{
		Block: []string{"apt", "pip install", "pip  install\t--user", "podman push", "npm run (", "ba*d", "-x"},
		Rewrite: []profile.KV{
			{Key: "docker", Value: "podman --remote"},
			{Key: "npm install", Value: "pnpm add --save it's $(touch x)"},
			{Key: "a", Value: "b"},
			{Key: "b", Value: "a"},
			{Key: "self", Value: "self --quiet"},
			{Key: "sys", Value: "/bin/echo sys"},
			{Key: "none", Value: "nowhere"},
			{Key: "get", Value: "apt get"},
		},
		Message: []profile.KV{{Key: "apt", Value: "ask\nsomebody \x1b[2J"}, {Key: "pip install --user", Value: "use uv"}},
	}
	path, _ := noopBox(t, rules, "pip", "podman", "npm", "pnpm", "a", "b", "self", "docker", "-x", "apt", "ba*d")
	blocked := func(what string) string { return `inner: "` + what + `" is blocked by profile "web"` + "\n" }
	for _, c := range []struct {
		argv []string
		out  []string
		errs string
		code int
	}{
		{argv: []string{"apt"}, errs: blocked("apt") + "inner: ask somebody  [2J\n", code: 1},
		{argv: []string{"apt", "install"}, errs: blocked("apt") + "inner: ask somebody  [2J\n", code: 1},
		{argv: []string{"pip", "install"}, errs: blocked("pip install"), code: 1},
		{argv: []string{"pip", "install", "x"}, errs: blocked("pip install"), code: 1},
		{argv: []string{"pip", "install", "--user", "x"}, errs: blocked("pip install --user") + "inner: use uv\n", code: 1},
		{argv: []string{"pip", "list"}, out: []string{"pip", "list"}},
		{argv: []string{"pip"}, out: []string{"pip"}},
		{argv: []string{"pip", "installed"}, out: []string{"pip", "installed"}},
		{argv: []string{"pip", "-q", "install"}, out: []string{"pip", "-q", "install"}},
		{argv: []string{"pip", ""}, out: []string{"pip", ""}},
		{argv: []string{"npm", "run", "("}, errs: blocked("npm run ("), code: 1},
		{argv: []string{"npm", "run", "!"}, out: []string{"npm", "run", "!"}},
		{argv: []string{"npm", "(", "-a", "="}, out: []string{"npm", "(", "-a", "="}},
		{argv: []string{"npm", "install", "x"}, out: []string{"pnpm", "add", "--save", "it's", "$(touch", "x)", "x"}},
		{argv: []string{"docker", "ps"}, out: []string{"podman", "--remote", "ps"}},
		{argv: []string{"docker", "push"}, out: []string{"podman", "--remote", "push"}},
		{argv: []string{"podman", "push", "x"}, errs: blocked("podman push"), code: 1},
		{argv: []string{"a", "1"}, out: []string{"b", "1"}},
		{argv: []string{"b", "1"}, out: []string{"a", "1"}},
		{argv: []string{"self", "1"}, out: []string{"self", "--quiet", "1"}},
		{argv: []string{"sys", "1"}, out: []string{"sys 1\n"}},
		{argv: []string{"none"}, errs: "inner: nowhere: command not found\n", code: 127},
		{argv: []string{"get"}, errs: blocked("apt") + "inner: ask somebody  [2J\n", code: 1},
		{argv: []string{"-x"}, errs: blocked("-x"), code: 1},
		{argv: []string{"ba*d"}, errs: blocked("ba*d"), code: 1},
		{
			argv: []string{"pip", "\n", "\xff\xc3", "*", "$(touch x)", "`x`", `'"\`, strings.Repeat("x", 100000)},
			out:  []string{"pip", "\n", "\xff\xc3", "*", "$(touch x)", "`x`", `'"\`, strings.Repeat("x", 100000)},
		},
	} {
		for _, sh := range scriptShells(t) {
			work := t.TempDir()
			out, errs, code := run(t, work, []string{"PATH=" + path + ":/bin", "LC_ALL=C.UTF-8"},
				append([]string{sh, filepath.Join(strings.SplitN(path, ":", 2)[0], c.argv[0])}, c.argv[1:]...)...)
			want := ""
			if len(c.out) == 1 && strings.HasSuffix(c.out[0], "\n") {
				want = c.out[0]
			} else if c.out != nil {
				want = strings.Join(c.out, "\x00") + "\x00"
			}
			if out != want || errs != c.errs || code != c.code {
				t.Errorf("%s %.200q: %.300q, %q, %d, want %.300q, %q, %d", filepath.Base(sh), c.argv, out, errs, code, want, c.errs, c.code)
			}
			if left, _ := os.ReadDir(work); len(left) > 0 {
				t.Fatalf("%s %.200q: something was executed: %v", sh, c.argv, left)
			}
		}
	}
}

// docker push must be blocked where podman push is, when the replacement has no words
// of its own in between.
func TestNoopTargetRules(t *testing.T) {
	path, _ := noopBox(t, written{Block: []string{"podman push"}, Rewrite: []profile.KV{{Key: "docker", Value: "podman"}}}, "podman")
	noop := strings.SplitN(path, ":", 2)[0]
	for _, sh := range scriptShells(t) {
		out, errs, code := run(t, "/", []string{"PATH=" + path}, sh, filepath.Join(noop, "docker"), "push", "x")
		if out != "" || errs != "inner: \"podman push\" is blocked by profile \"web\"\n" || code != 1 {
			t.Errorf("%s: %q, %q, %d", sh, out, errs, code)
		}
		if out, errs, code = run(t, "/", []string{"PATH=" + path}, sh, filepath.Join(noop, "docker"), "pull", "x"); out != "podman\x00pull\x00x\x00" || code != 0 {
			t.Errorf("%s: %q, %q, %d", sh, out, errs, code)
		}
	}
}

// However the noop folder is written on PATH, the program behind it is found, and the
// environment it gets is the caller's.
func TestNoopPath(t *testing.T) {
	path, noop := noopBox(t, written{Block: []string{"pip install"}}, "pip")
	real := filepath.Join(filepath.Dir(noop), "real")
	work := tempDir(t)
	must(t, os.Symlink(noop, filepath.Join(work, "alias")))
	must(t, os.MkdirAll(filepath.Join(work, "-d"), 0o755))
	must(t, os.Symlink(filepath.Join(noop, "pip"), filepath.Join(work, "-d", "pip")))
	write(t, filepath.Join(work, "plain", "pip"), "x", 0o644)
	must(t, os.MkdirAll(filepath.Join(work, "folder", "pip"), 0o755))
	write(t, filepath.Join(work, "cwd", "pip"), "#!/bin/sh\nprintf 'cwd\\0'\n", 0o755)
	env := filepath.Join(work, "env")
	write(t, filepath.Join(env, "pip"), "#!/bin/sh\nexec /usr/bin/env -0\n", 0o755)
	for _, c := range []struct {
		about, path, out, errs string
		code                   int
	}{
		{"plainly", path, "pip\x00", "", 0},
		{"twice", noop + ":" + path, "pip\x00", "", 0},
		{"trailing slash, dots", noop + "/:" + noop + "/../noop:" + real, "pip\x00", "", 0},
		{"alias", work + "/alias:" + real, "pip\x00", "", 0},
		{"a link to the script", "../-d:" + work + "/-d:" + real, "pip\x00", "", 0},
		{"not executable, a folder, missing", work + "/plain:" + work + "/folder:/nowhere:" + real, "pip\x00", "", 0},
		{"not executable", noop + ":" + work + "/plain", "", "inner: pip: permission denied\n", 126},
		{"nothing behind", path[:len(noop)], "", "inner: pip: command not found\n", 127},
		{"empty", "", "cwd\x00", "", 0},
		{"empty element", noop + "::" + real, "cwd\x00", "", 0},
		{"empty last element", noop + ":", "cwd\x00", "", 0},
		{"relative", noop + ":../cwd", "cwd\x00", "", 0},
	} {
		for _, sh := range scriptShells(t) {
			out, errs, code := run(t, filepath.Join(work, "cwd"), []string{"PATH=" + c.path}, sh, filepath.Join(noop, "pip"))
			if out != c.out || errs != c.errs || code != c.code {
				t.Errorf("%s, %s: %q, %q, %d, want %q, %q, %d", filepath.Base(sh), c.about, out, errs, code, c.out, c.errs, c.code)
			}
		}
	}
	given := []string{"PATH=" + noop + ":" + env, "IFS=/o", "LC_ALL=C", "X=1\n2 \xff", "PWD=" + work, "OLDPWD=/"}
	for _, sh := range scriptShells(t) {
		direct, _, _ := run(t, work, given, sh, filepath.Join(env, "pip"))
		out, _, _ := run(t, work, given, sh, filepath.Join(noop, "pip"))
		drop := func(s string) []string { // what every shell sets anew: bash's own two
			var list []string
			for _, kv := range strings.Split(s, "\x00") {
				if !strings.HasPrefix(kv, "_=") && !strings.HasPrefix(kv, "SHLVL=") {
					list = append(list, kv)
				}
			}
			slices.Sort(list)
			return list
		}
		if diff := cmp.Diff(drop(direct), drop(out)); diff != "" {
			t.Errorf("%s: environment (-direct +through the script):\n%s", filepath.Base(sh), diff)
		}
	}
}

// No process is started on the way, and the text is clean for shellcheck.
func TestNoopText(t *testing.T) {
	n := written{
		Block:   []string{"pip install", "npm run x"},
		Rewrite: []profile.KV{{Key: "npm", Value: "pnpm -q"}, {Key: "npm i", Value: "pnpm add"}, {Key: "echo", Value: "/bin/echo"}},
		Message: []profile.KV{{Key: "pip install", Value: "it's not here"}},
	}
	scripts := NoopScripts(n.noop(), "we\nb", "/run/inner/no op", "/run/inner/bl ocked")
	var names []string
	dir := t.TempDir()
	for _, s := range scripts {
		names = append(names, s.Name)
		file := filepath.Join(dir, s.Name)
		write(t, file, string(s.Text), 0o755)
		for _, argv := range [][]string{{"dash", "-n", file}, {"bash", "--posix", "-n", file}, {"shellcheck", "-s", "sh", "-o", "all", "-e", "SC2250,SC2209", file}} {
			if path, err := exec.LookPath(argv[0]); err != nil {
				t.Fatalf("%s is needed: %v", argv[0], err)
			} else if out, err := exec.Command(path, argv[1:]...).CombinedOutput(); err != nil {
				t.Errorf("%q: %v\n%s\n%s", argv, err, out, s.Text)
			}
		}
		if !strings.HasPrefix(string(s.Text), "#!/bin/sh\n# Written by inner for one run: \""+s.Name+"\" under [noop] of profile \"we\\nb\".\n") {
			t.Errorf("first lines of %q:\n%.200s", s.Name, s.Text)
		}
		if strings.Contains(string(s.Text), "$(") || strings.Contains(string(s.Text), "`") {
			t.Errorf("%q starts a process:\n%s", s.Name, s.Text)
		}
	}
	if diff := cmp.Diff([]string{"pip", "npm", "echo"}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

// Every blocked call is counted, whoever wrote what else into the pipe, and a script
// that cannot write to it blocks all the same.
func TestBlocked(t *testing.T) {
	n := written{
		Block:   []string{"apt", "pip  install", "pip install --user", "ba*d"},
		Rewrite: []profile.KV{{Key: "get", Value: "apt get"}, {Key: "fine", Value: "true"}},
	}
	path, noop := noopBox(t, n, "pip")
	record := filepath.Join(filepath.Dir(noop), "blocked")
	for _, gone := range []bool{false, true} {
		must(t, os.RemoveAll(record))
		count, err := CountBlocked(record, n.noop())
		must(t, err)
		if gone {
			must(t, os.Remove(record))
			must(t, os.Mkdir(record, 0o755))
		}
		for _, sh := range scriptShells(t) {
			for _, c := range [][]string{{"apt"}, {"apt", "x"}, {"pip", "install", "secret"}, {"pip", "install", "--user"}, {"ba*d"}, {"get"}, {"fine"}, {"pip", "list"}} {
				_, errs, code := run(t, "/", []string{"PATH=" + path + ":/bin"}, append([]string{sh, filepath.Join(noop, c[0])}, c[1:]...)...)
				code1, lines := 1, 1
				if c[0] == "fine" || c[len(c)-1] == "list" {
					code1, lines = 0, 0
				}
				if code != code1 || strings.Count(errs, "\n") != lines {
					t.Errorf("%s %q: %q, %d", sh, c, errs, code)
				}
			}
		}
		want := map[string]int{}
		if !gone {
			f, err := os.OpenFile(record, os.O_WRONLY, 0)
			must(t, err)
			_, err = f.WriteString("apt \nap\x00t\nnot a rule\n\n" + strings.Repeat("apt", 100_000) + "\napt\n" + strings.Repeat("x", 5000) + "apt")
			must(t, err)
			must(t, f.Close())
			shells := len(scriptShells(t))
			want = map[string]int{"apt": 3*shells + 1, "pip install": shells, "pip install --user": shells, "ba*d": shells}
		}
		if diff := cmp.Diff(want, count.Close()); diff != "" {
			t.Errorf("counts (-want +got):\n%s", diff)
		}
	}
	// Somebody who holds the pipe open does not hold up the end.
	count, err := CountBlocked(record+"2", n.noop())
	must(t, err)
	f, err := os.OpenFile(record+"2", os.O_WRONLY, 0)
	must(t, err)
	defer f.Close()
	_, err = f.WriteString("apt\n")
	must(t, err)
	if diff := cmp.Diff(map[string]int{"apt": 1}, count.Close()); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

// Whatever a command, a replacement, an argument or a folder is called, the shells
// take it for exactly that.
func FuzzNoop(f *testing.F) {
	for _, s := range []string{"x", "it's", "$(touch x)", "`touch x`", "a\nb", "\xff\xfe", "-n", "=x", "~", "*?[", "\\", "é", "A=b", "\x01", "'\"'\"'", "!", "(", "#"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, name, arg string) {
		if name == "" || name == "." || name == ".." || strings.ContainsAny(name, " \t/\x00") || len(name) > 200 ||
			strings.ContainsRune(arg, 0) || len(arg) > 1000 {
			return
		}
		word := strings.Map(func(r rune) rune {
			if r == ' ' || r == '\t' {
				return '_'
			}
			return r
		}, arg) + "!"
		path, noop := noopBox(t, written{
			Block:   []string{name + " blocked" + word},
			Rewrite: []profile.KV{{Key: name + " go", Value: name + " " + word}},
		}, name)
		work := t.TempDir()
		for _, sh := range scriptShells(t) {
			file := filepath.Join(noop, name)
			out, errs, code := run(t, work, []string{"PATH=" + path}, sh, file, arg, "blocked"+word)
			if out != name+"\x00"+arg+"\x00blocked"+word+"\x00" || code != 0 {
				t.Errorf("%s: %q, %q, %d", sh, out, errs, code)
			}
			out, errs, code = run(t, work, []string{"PATH=" + path}, sh, file, "go", arg)
			if out != name+"\x00"+word+"\x00"+arg+"\x00" || code != 0 {
				t.Errorf("%s, rewritten: %q, %q, %d", sh, out, errs, code)
			}
			out, errs, code = run(t, work, []string{"PATH=" + path}, sh, file, "blocked"+word)
			if out != "" || code != 1 || strings.Count(errs, "\n") != 1 {
				t.Errorf("%s, blocked: %q, %q, %d", sh, out, errs, code)
			}
		}
		if left, _ := os.ReadDir(work); len(left) > 0 {
			t.Errorf("something was executed: %v", left)
		}
	})
}

// What was written before Take is in what it returns, each once, whatever else is there.
func TestBlockedTaken(t *testing.T) {
	n := profile.Noop{Rules: []profile.NoopRule{{Words: []string{"apt"}}}}
	pipe := filepath.Join(t.TempDir(), "blocked")
	count, err := CountBlocked(pipe, n)
	must(t, err)
	f, err := os.OpenFile(pipe, os.O_WRONLY, 0)
	must(t, err)
	defer f.Close()
	for i := range 200 {
		_, err := f.WriteString("apt\n" + strings.Repeat("x", i))
		must(t, err)
		if diff := cmp.Diff(map[string]int{"apt": 1}, count.Take()); diff != "" {
			t.Fatalf("round %d (-want +got):\n%s", i, diff)
		}
	}
	if rest := count.Close(); len(rest) > 0 {
		t.Errorf("counted again: %v", rest)
	}
}
