package launch

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator"
	"github.com/enr/inner/isolator/host"
)

func needLandlock(t testing.TB) {
	t.Helper()
	if abi := host.LandlockABI(); abi < isolator.LandlockScopes {
		t.Skipf("inner: not run here: Landlock of this kernel has version %d", abi)
	}
}

// TestLandlock: each part of it keeps the program from one thing, with a
// terminal and without, and only that part does.
func TestLandlock(t *testing.T) {
	needLandlock(t)
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	name := fmt.Sprintf("@inner-landlock-%d", marked())
	l, err := net.Listen("unix", name)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	said := func(fifo, abstract, signal bool) string {
		return fmt.Sprintf("fifo: %t\nabstract: %t\nsignal: %t\n", fifo, abstract, signal)
	}
	for _, c := range []struct {
		name string
		l    *isolator.Landlock
		want string
	}{
		{"none", nil, said(true, true, true)},
		{"writes", &isolator.Landlock{Writes: true, Writable: []string{"/dev"}}, said(false, true, true)},
		{"writable", &isolator.Landlock{Writes: true, Writable: []string{"/dev", filepath.Dir(fifo)}}, said(true, true, true)},
		{"abstract", &isolator.Landlock{Abstract: true}, said(true, false, true)},
		{"signals", &isolator.Landlock{Signals: true}, said(true, true, false)},
		{"all", &isolator.Landlock{Signals: true, Abstract: true, Writes: true, Writable: []string{"/dev"}}, said(false, false, false)},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := probe("beyond", fifo, name)
			j.Landlock = c.l
			if _, out, errs := j.run(t); out != c.want {
				t.Errorf("%s%s", out, errs)
			}
			j.Interactive = true
			x := newTerminal(t)
			cmd := x.start(j.command(t))
			x.expect(strings.ReplaceAll(c.want, "\n", "\r\n"))
			if n := code(t, cmd); n != 0 {
				t.Errorf("exit code %d", n)
			}
		})
	}
}

// TestLandlockFiles: what is writable stays so in every way, descriptors of the
// program included.
func TestLandlockFiles(t *testing.T) {
	needLandlock(t)
	dir := t.TempDir()
	j := sh(`set -e
cd ` + dir + `
mkdir a b; echo 1 >a/x; mv a/x b/y; ln b/y a/z; mv b c; echo 2 >>c/y
echo out >/dev/stdout; echo err >/dev/stderr; echo n >/dev/null; echo c >/proc/self/comm
rm $(mktemp /tmp/inner-test.XXXXXX); echo done`)
	j.Landlock = &isolator.Landlock{Signals: true, Abstract: true, Writes: true, Writable: []string{"/dev", "/proc", "/tmp", dir}}
	if r, out, errs := j.run(t); r.Code != 0 || out != "out\ndone\n" || errs != "err\n" {
		t.Errorf("%+v %q %q", r, out, errs)
	}
	// Files of the host, opened outside of what is writable.
	j = sh("echo out >>/dev/stdout; echo err >>/dev/stderr; { echo in >/dev/stdin; } 2>/dev/null || echo refused")
	j.Landlock = &isolator.Landlock{Writes: true, Writable: []string{"/dev", "/proc"}}
	j.Result = filepath.Join(dir, "result")
	files := map[string]*os.File{}
	for _, n := range []string{"in", "out", "err"} {
		f, err := os.OpenFile(filepath.Join(dir, n), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files[n] = f
	}
	in, err := os.Open(files["in"].Name())
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	cmd := j.command(t)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, files["out"], files["err"]
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	for n, want := range map[string]string{"in": "", "out": "out\nrefused\n", "err": "err\n"} {
		if b, err := os.ReadFile(filepath.Join(dir, n)); string(b) != want {
			t.Errorf("%s: %q (%v), want %q", n, b, err, want)
		}
	}
}

// TestLandlockRefused: a program that cannot be confined does not run.
func TestLandlockRefused(t *testing.T) {
	needLandlock(t)
	j := sh("echo ran")
	j.Landlock = &isolator.Landlock{Writes: true, Writable: []string{"/no/such/place"}}
	r, out, _ := j.run(t)
	if r.Code != CodeNoSandbox || r.Started || out != "" || !strings.Contains(r.Reason, "landlock") {
		t.Errorf("%+v %q", r, out)
	}
}
