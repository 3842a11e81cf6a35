package shims

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The true thing: a copy of the binary behind a link, called by a shell.
func TestShim(t *testing.T) {
	home := shimHome(t, "claude", "codex")
	dir := filepath.Dir(home)
	w := &world{t, dir, Home{Inner: home, User: dir}}
	bin := filepath.Join(home, "shims", "bin")
	real := filepath.Join(dir, "real")
	script(t, filepath.Join(real, "claude"))
	script(t, filepath.Join(real, "codex"))
	w.profile("app", "claude", toml("claude"))
	must(t, os.MkdirAll(w.path("app/gone"), 0o700))
	must(t, os.Symlink(w.path("app"), w.path("link")))
	env := []string{partVar + "=shim", "HOME=" + dir, "PATH=" + bin + ":" + real + ":/usr/bin:/bin"}
	call := func(about, cmd, out, errs string, code int, more ...string) {
		t.Helper()
		o, e, c := run(t, dir, append(env[:len(env):len(env)], more...), "sh", "-c", cmd)
		if o != out || e != errs || c != code {
			t.Errorf("%s: %s: %q, %q, %d, want %q, %q, %d", about, cmd, o, e, c, out, errs, code)
		}
	}
	refused := fmt.Sprintf("inner: profile \"claude\" of %q is not allowed\ninner: hint: inner allow\n", w.path("app"))
	call("outside", "claude a", real+"/claude a", "", 0)
	call("one line", "cd app && claude a", "", refused, 126)
	call("a subshell", "(cd app/gone; claude)", "", refused, 126)
	call("by a link", "cd link && claude", "", refused, 126)
	call("a wrong PWD", "cd app && PWD=/ claude", "", refused, 126)
	call("the path of the shim", "cd app && "+"../'inner home'/shims/bin/claude", "", refused, 126)
	call("another command", "cd app && codex", real+"/codex ", "", 0)
	// No variable leads to another, emptier home, or claims to be inside.
	call("variables", "cd app && claude", "", refused, 126, "INNER_HOME=/nowhere", "INNER_SANDBOX=x", "INNER_RUN_ID=x", "INNER_BYPASS=1", "__INNER_SHIM="+guard{PID: 1, Tries: 9, Paths: []string{real + "/claude"}}.String())
	call("HOME is the project", "cd app && HOME=$PWD claude", "", refused, 126)
	call("no HOME", "cd app && env -u HOME claude", "", refused, 126)
	call("no environment but the part", "cd app && env -i "+partVar+"=shim "+"../'inner home'/shims/bin/claude", "", refused, 126)
	w.allow("app")
	call("approved", "cd app && claude", "run claude", "", 0)
	call("allowed, by a link", "cd link && claude", "run claude", "", 0)
	call("no HOME", "cd app && env -u HOME claude", "run claude", "", 0)
	call("a deleted folder", "cd app/gone && rmdir ../gone && claude", "",
		"inner: \"claude\": the working folder cannot be named: no such file or directory\ninner: hint: cd\n", 126)
	call("xargs", "cd app && echo x | xargs claude", "run claude", "", 0)
}

// What a plain user may not read: refused where something could be in it.
func TestShimUnreadable(t *testing.T) {
	dir, binary := publicDir(t)
	home := filepath.Join(dir, ".inner")
	w := &world{t, dir, Home{Inner: home, User: dir}}
	for _, name := range []string{"claude", "tool", "other"} {
		must(t, os.MkdirAll(filepath.Join(home, "shims", "bin"), 0o700))
		must(t, os.Symlink(linkText, filepath.Join(home, "shims", "bin", name)))
		script(t, filepath.Join(dir, "real", name))
	}
	must(t, os.Rename(binary, filepath.Join(home, "shims", "inner")))
	w.profile("app", "tool", shim("always", "tool"))
	own := func() {
		if os.Getuid() == 0 {
			must(t, exec.Command("chown", "-R", "54321:54321", dir).Run())
		}
	}
	call := func(about, name, out, errs string, code int) {
		t.Helper()
		own()
		cmd := exec.Command(filepath.Join(home, "shims", "bin", name))
		asPlainUser(cmd)
		o, e, c := runCmd(t, cmd, w.path("app"), []string{partVar + "=shim", "HOME=" + dir, "PATH=" + filepath.Join(home, "shims", "bin") + ":" + w.path("real") + ":/usr/bin:/bin"})
		o, e = strings.ReplaceAll(o, dir, "~"), strings.ReplaceAll(e, dir, "~")
		if o != out || e != errs || c != code {
			t.Errorf("%s: %s: %q, %q, %d, want %q, %q, %d", about, name, o, e, c, out, errs, code)
		}
	}
	const refused = "inner: profile \"tool\" of \"~/app\" is not allowed\ninner: hint: inner allow\n"
	call("readable", "claude", "~/real/claude ", "", 0)
	call("readable", "tool", "", refused, 126)
	for _, c := range []struct{ about, path, claude string }{
		{"the profile", "app/.inner/profiles/tool.toml", `"~/app/.inner/profiles/tool.toml" cannot be read: permission denied`},
		{"profiles/", "app/.inner/profiles", `"~/app/.inner/profiles": permission denied`},
		{".inner", "app/.inner", `"~/app/.inner/config.toml" cannot be read: permission denied`},
	} {
		must(t, os.Chmod(w.path(c.path), 0))
		call(c.about, "claude", "", "inner: \"claude\" may be claimed in \"~/app\": "+c.claude+"\ninner: hint: inner status\n", 126)
		call(c.about, "other", "~/real/other ", "", 0)
		must(t, os.Chmod(w.path(c.path), 0o700))
	}
}

// The marker counts on a read-only mount, and nowhere else.
func TestInBox(t *testing.T) {
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		t.Fatalf("bwrap is needed: %v", err)
	}
	dir, binary := publicDir(t)
	write(t, filepath.Join(dir, "marker"), "x", 0o644)
	for _, c := range []struct{ how, want string }{
		{"--ro-bind", "true"},
		{"--bind", "false"},
	} {
		cmd := exec.Command(bwrap, "--ro-bind", "/", "/", "--tmpfs", "/run", c.how, filepath.Join(dir, "marker"), Marker,
			"--setenv", partVar, "inbox", binary)
		asPlainUser(cmd)
		out, errs, code := runCmd(t, cmd, dir, nil)
		if out != c.want || code != 0 {
			t.Errorf("%s: %q, %q, %d, want %s", c.how, out, errs, code, c.want)
		}
	}
	if InBox() {
		t.Error("the test runs in a box")
	}
	w := newWorld(t)
	w.file("target", "x")
	must(t, os.Symlink(w.path("target"), w.path("marker")))
	if inBox(w.path("marker")) || inBox(w.path("none")) {
		t.Error("a link, or nothing, is taken for the marker")
	}
}
