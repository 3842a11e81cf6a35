package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/plan"
)

// filling is a job with a folder in memory at /mnt/box, and what fills it.
func filling(t *testing.T, script string) (j job, source string) {
	t.Helper()
	source = t.TempDir()
	for name, text := range map[string]string{"login": "token", "sub/deep/file": "deep", "sub/run": "#!/bin/sh\necho ran\n"} {
		p := filepath.Join(source, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{
		os.Chmod(filepath.Join(source, "sub/run"), 0o700),
		os.Symlink("/etc/passwd", filepath.Join(source, "link")),
		unix.Mkfifo(filepath.Join(source, "pipe"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	j = sh(script)
	j.Args = []string{"--tmpfs", "/mnt", "--size", "1048576", "--perms", "0700", "--tmpfs", "/mnt/box"}
	j.Fills = []plan.Fill{{Source: source, Dest: "/mnt/box", Room: 1 << 20}}
	return j, source
}

// A folder in memory holds what it was filled with, and no more than its size; what the
// program has left in it can be read afterwards.
func TestFill(t *testing.T) {
	j, source := filling(t, `cd /mnt/box; find . | sort; cat login sub/deep/file; echo; sub/run; stat -c %a . login sub
echo new >kept; head -c 4000000 /dev/zero >big 2>/dev/null || stat -f -c '%a free' .`)
	j.Kept = filepath.Join(t.TempDir(), "kept")
	r, out, errs := j.run(t)
	want := ".\n./login\n./sub\n./sub/deep\n./sub/deep/file\n./sub/run\ntokendeep\nran\n700\n600\n700\n0 free\n"
	if r.Code != 0 || out != want {
		t.Errorf("got %+v\n%s%s", r, out, errs)
	}
	if kept, err := os.ReadFile(j.Kept); string(kept) != "new\n" {
		t.Errorf("kept %q, %v", kept, err)
	}
	if _, err := os.Stat(filepath.Join(source, "kept")); err == nil {
		t.Error("the program wrote to the host")
	}
}

// No descriptor of what it was filled from is left for the program, nor with any other
// process of the box.
func TestFillLeavesNothingOpen(t *testing.T) {
	j, _ := filling(t, `for p in /proc/[0-9]*; do ls -l $p/fd; done 2>/dev/null | grep -c 'memfd:inner\|/mnt/box'`)
	if _, out, errs := j.run(t); out != "0\n" {
		t.Errorf("%s open%s", out, errs)
	}
}

// What is mounted below a folder is not written to.
func TestFillOtherMounts(t *testing.T) {
	j, _ := filling(t, "ls -A /mnt/box/sub; ls /mnt/box")
	other := t.TempDir()
	j.Args = append(j.Args, "--dir", "/mnt/box/sub", "--bind", other, "/mnt/box/sub")
	r, out, errs := j.run(t)
	if r.Code != 0 || out != "login\nsub\n" {
		t.Errorf("got %+v\n%s%s", r, out, errs)
	}
	if list, _ := os.ReadDir(other); len(list) > 0 {
		t.Errorf("%v was written to", other)
	}
}

// A folder that is not in memory, or has another size, or is too small, starts nothing.
func TestFillRefused(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"on the host":  {[]string{"--tmpfs", "/mnt", "--dir", "/mnt/box", "--bind", t.TempDir(), "/mnt/box"}, "is not the folder in memory that it should be"},
		"without size": {[]string{"--tmpfs", "/mnt", "--tmpfs", "/mnt/box"}, "is not the folder in memory that it should be"},
		"not there":    {[]string{"--tmpfs", "/mnt"}, "no such file or directory in the box"},
	} {
		j, _ := filling(t, "echo ran")
		j.Args = c.args
		if r, out, _ := j.run(t); r.Code != CodeNoSandbox || !strings.Contains(r.Reason, c.want) || out != "" {
			t.Errorf("%s: got %+v, %q", name, r, out)
		}
	}
	j, source := filling(t, "echo ran")
	if err := os.WriteFile(filepath.Join(source, "large"), make([]byte, 2<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, out, _ := j.run(t); r.Code != CodeNoSandbox || !strings.Contains(r.Reason, "does not fit in its 1024 KiB") || out != "" {
		t.Errorf("too much: got %+v, %q", r, out)
	}
}
