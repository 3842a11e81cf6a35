package shims

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestInvoked(t *testing.T) {
	home := shimHome(t, "claude", "bash", "-odd 'n'\n$(x)")
	bin := filepath.Join(home, "shims", "bin")
	work := tempDir(t)
	must(t, os.Symlink(bin, filepath.Join(work, "alias")))
	must(t, os.Symlink(home, filepath.Join(work, "home")))
	must(t, os.MkdirAll(filepath.Join(work, "deep/er"), 0o700))
	must(t, os.Symlink("../../alias/claude", filepath.Join(work, "deep/er/mine"))) // a relative second link
	must(t, os.Symlink("mine", filepath.Join(work, "deep/er/bash")))               // and a third, misnamed
	inner := filepath.Join(home, "shims", "inner")
	must(t, os.Symlink(inner, filepath.Join(work, "inner"))) // the command line, not a shim
	must(t, os.MkdirAll(filepath.Join(work, "tools"), 0o700))
	must(t, os.Symlink("../inner", filepath.Join(work, "tools", "claude"))) // says ../inner, is elsewhere
	write(t, filepath.Join(work, "script"), "#!"+filepath.Join(work, "alias", "bash")+"\n", 0o755)

	claude, bash := "true claude "+home, "true bash "+home
	for _, c := range []struct {
		about, path string
		argv        []string
		dir, want   string
	}{
		{"plainly", filepath.Join(bin, "claude"), []string{"claude"}, work, claude},
		{"by its path", filepath.Join(bin, "claude"), []string{filepath.Join(bin, "claude")}, work, claude},
		{"exec -a", filepath.Join(bin, "claude"), []string{"bash"}, work, claude},
		{"exec -a with another shim's path", filepath.Join(bin, "claude"), []string{filepath.Join(bin, "bash")}, work, claude},
		{"login shell", filepath.Join(bin, "bash"), []string{"-bash"}, work, bash},
		{"no arguments at all", filepath.Join(bin, "bash"), []string{""}, work, bash},
		{"odd name", filepath.Join(bin, "-odd 'n'\n$(x)"), []string{"x"}, work, "true -odd 'n'\n$(x) " + home},
		{"relative", "./claude", []string{"x"}, bin, claude},
		{"relative from below", "../bin/claude", []string{"x"}, bin, claude},
		{"alias of the folder", filepath.Join(work, "alias/claude"), []string{"x"}, work, claude},
		{"relative alias", "alias/claude", []string{"x"}, work, claude},
		{"alias of the home", filepath.Join(work, "home/shims/bin/claude"), []string{"x"}, work, claude},
		{"second link", filepath.Join(work, "deep/er/mine"), []string{"mine"}, work, claude},
		{"third link", "deep/er/bash", []string{"bash"}, work, claude},
		{"first line of a script", filepath.Join(work, "script"), nil, work, bash},
		{"the command line", filepath.Join(work, "inner"), []string{"inner"}, work, "false  "},
		{"the command line by another name", inner, []string{"claude"}, work, "false  "},
		{"a link that only looks like a shim", filepath.Join(work, "tools/claude"), []string{"claude"}, work, "false  "},
	} {
		cmd := &exec.Cmd{Path: c.path, Args: c.argv}
		out, errs, code := runCmd(t, cmd, c.dir, []string{partVar + "=call"})
		if out != c.want || code != 0 {
			t.Errorf("%s: %q (exit %d, %s), want %q", c.about, out, code, errs, c.want)
		}
	}

	must(t, os.Symlink("b", filepath.Join(work, "a")))
	must(t, os.Symlink("a", filepath.Join(work, "b")))
	for _, path := range []string{"", "/", "a/", filepath.Join(work, "a"), filepath.Join(work, "nowhere"), "/proc/self/fd/0"} {
		if c, ok := Invoked(path, path); ok {
			t.Errorf("Invoked(%q) = %+v", path, c)
		}
	}
}

func BenchmarkInvoked(b *testing.B) {
	home := shimHome(b, "claude")
	path := filepath.Join(home, "shims", "bin", "claude")
	for b.Loop() {
		if _, ok := Invoked(path, "claude"); !ok {
			b.Fatal("not invoked")
		}
	}
}
