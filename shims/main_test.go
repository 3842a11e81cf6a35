package shims

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/enr/inner/contrib/terminal"
)

// The test binary plays the parts of inner and of the programs behind the shims; the
// variable says which.
const partVar = "INNER_SHIMS_TEST_PART"

func TestMain(m *testing.M) {
	switch os.Getenv(partVar) {
	case "":
		terminal.DefaultSignals()
		code := m.Run()
		if built.dir != "" {
			_ = os.RemoveAll(built.dir)
		}
		os.Exit(code)
	case "call": // says which shim it was called as
		c, ok := Invoked(ExecFn(), os.Args[0])
		fmt.Printf("%v %s %s", ok, c.Name, c.InnerHome)
	case "shim": // does what inner does when it is called as a shim; else says how it was called
		c, ok := Invoked(ExecFn(), os.Args[0])
		if !ok {
			fmt.Printf("real %s", strings.Join(os.Args, "\x00"))
			return
		}
		d := Decide(HostEnv(c))
		switch d.Kind {
		case Run:
			fmt.Printf("run %s", d.Profile.Name)
		case PassThrough:
			err := Exec(c, os.Args, os.Environ())
			fmt.Fprintln(os.Stderr, "inner:", err)
			os.Exit(ExitCode(err))
		default:
			fmt.Fprintf(os.Stderr, "inner: %s\ninner: hint: %s\n", d.Reason, d.Hint)
			os.Exit(d.ExitCode)
		}
	case "regenerate":
		r, err := Regenerate(Site{InnerHome: os.Getenv("INNER_HOME"), Home: os.Getenv("HOME"), Path: os.Getenv("PATH"), Binary: os.Getenv("INNER_BINARY")})
		if err != nil {
			fmt.Fprintln(os.Stderr, "inner:", err)
			os.Exit(1)
		}
		fmt.Println(r.Added, r.Removed)
	case "inbox":
		fmt.Print(InBox())
	default:
		os.Exit(99)
	}
}

// must is for steps a test stands on.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write makes a file, and the folders above it.
func write(t testing.TB, path, content string, perm os.FileMode) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, []byte(content), perm))
	must(t, os.Chmod(path, perm))
}

// built is the binary that self builds, and the folder it is in.
var built struct {
	sync.Once
	dir, path string
}

// self is the test binary. Under the race detector, with which a process takes some
// 100 ms to start, it is one built without, when there is a go command to
// do that.
func self(t testing.TB) string {
	t.Helper()
	path, err := os.Executable()
	must(t, err)
	if !underRace {
		return path
	}
	built.Do(func() {
		if built.dir, err = os.MkdirTemp("", "inner-shims-bin-"); err != nil {
			return
		}
		out := filepath.Join(built.dir, "shims.test")
		if text, err := exec.Command("go", "test", "-race=false", "-c", "-o", out, ".").CombinedOutput(); err != nil {
			t.Logf("building without the race detector: %v: %s", err, text)
			return
		}
		built.path = out
	})
	if built.path != "" {
		return built.path
	}
	return path
}

// script makes a real program that says which it is.
func script(t testing.TB, path string) {
	t.Helper()
	write(t, path, "#!/bin/sh\nprintf '%s' "+`"$0 $*"`+"\n", 0o755)
}

// tempDir is t.TempDir without links in it.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return dir
}

// run runs a command with nothing in its environment but what is given.
func run(t testing.TB, dir string, env []string, argv ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	return runCmd(t, cmd, dir, env)
}

func runCmd(t testing.TB, cmd *exec.Cmd, dir string, env []string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs strings.Builder
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}
