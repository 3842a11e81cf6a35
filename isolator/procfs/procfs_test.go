package procfs

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/enr/inner/isolator/launch/supervisor"
)

func TestMain(m *testing.M) {
	if supervisor.Is(os.Args) {
		os.Exit(supervisor.Run())
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

func TestFind(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for name, c := range map[string]struct {
		bwrap string
		want  string
	}{
		"here":                     {bwrap(t), "fresh"},
		"where /proc is covered":   {wrapper(t), "empty"},
		"where nothing is mounted": {"/bin/false", ""},
	} {
		file := filepath.Join(t.TempDir(), "proc.json")
		got, err := Find(file, c.bwrap, "")
		if got.Mode != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s: got %+v %v, want %q", name, got, err, c.want)
			continue
		}
		if c.want == "" {
			if _, ok := Known(file, c.bwrap); ok {
				t.Errorf("%s: a probe that failed is remembered", name)
			}
			continue
		}
		if c.want == "empty" && got.Bind != Listed {
			t.Errorf("%s: the probe of the host's says %+v, want %q: command lines and nothing else", name, got, Listed)
		}
		if again, ok := Known(file, c.bwrap); !ok || again != got {
			t.Errorf("%s: remembered %+v %v, want %+v", name, again, ok, got)
		}
		if _, ok := Known(file, "/bin/sh"); ok {
			t.Errorf("%s: remembered for another bwrap", name)
		}
	}
}

// A bwrap that fails at something else says nothing about /proc: its own words are the
// error, also where they have "proc" in them.
func TestFindOtherFailure(t *testing.T) {
	const reason = "Creating new namespace failed: Too many processes"
	fake := filepath.Join(t.TempDir(), "bwrap")
	if err := os.WriteFile(fake, []byte("#!/bin/sh\necho 'bwrap: "+reason+"' >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(filepath.Join(t.TempDir(), "proc.json"), fake, ""); err == nil || err.Error() != reason {
		t.Errorf("got %v, want %s", err, reason)
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
