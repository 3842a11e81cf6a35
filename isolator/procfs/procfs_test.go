package procfs

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/enr/inner/isolator/launch/box"
)

func TestMain(m *testing.M) {
	if box.Is(os.Args) {
		os.Exit(box.Run())
	}
	if IsPart(os.Args) {
		os.Exit(Part(os.Args))
	}
	runtime.LockOSThread() // a box dies with the thread that started it
	os.Exit(m.Run())
}

func bwrap(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("bwrap")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// wrapper is a bwrap in whose world a part of /proc is covered, as in a
// container: the kernel then lets no user namespace mount a fresh one.
func wrapper(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bwrap")
	script := "#!/bin/sh\nexec unshare -rm sh -c 'mount -t tmpfs none /proc/tty && exec unshare -rm " + bwrap(t) + " \"$@\"' sh \"$@\"\n"
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestBind(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if answer, why := Bind(wrapper(t), ""); answer != Listed {
		t.Errorf("where /proc is covered: got %s, %s; want command lines and nothing else", answer, why)
	}
	if answer, why := Bind("/bin/false", ""); answer != Unknown {
		t.Errorf("where nothing is mounted: got %s, %s", answer, why)
	}
}

// TestProbeSeesALeak: in the same user namespace a process of the same user
// gives everything away, and the probe says so.
func TestProbeSeesALeak(t *testing.T) {
	victim := exec.Command(selfExe, sentinelWord)
	victim.Env = []string{"INNER_SENTINEL=s3cr3t"}
	stop, err := victim.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { stop.Close(); _ = victim.Wait() }()
	probe := exec.Command(selfExe, probeWord, strconv.Itoa(victim.Process.Pid), "s3cr3t")
	out, err := probe.Output()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(out, []byte(Unsafe)) {
		t.Errorf("the probe says %q of a process it can read", out)
	}
	gone := exec.Command(selfExe, probeWord, "4194303", "x")
	if out, _ := gone.Output(); !bytes.HasPrefix(out, []byte(Unknown)) {
		t.Errorf("of a process that is not there the probe says %q", out)
	}
}
