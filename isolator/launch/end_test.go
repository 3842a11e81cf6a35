package launch

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestIgnoredSignals(t *testing.T) {
	ignored := func(out string) string {
		_, rest, _ := strings.Cut(out, "SigIgn:\t")
		text, _, _ := strings.Cut(rest, "\n")
		mask, _ := strconv.ParseUint(text, 16, 64)
		// 32 and 33 are libc's own; GNU make leaves them ignored for all it starts,
		// these tests included.
		return fmt.Sprintf("%#x", mask&^(3<<31))
	}
	status := sh("cat /proc/self/status; trap '' USR1; grep SigBlk /proc/self/status >/dev/null")
	out, err := pipeline(t, `"$0" __launch "$1" </dev/null`, status)
	if got := ignored(out); got != "0x0" {
		t.Errorf("ignored %q (%v)", got, err)
	}
	if !strings.Contains(out, "SigBlk:\t0000000000000000") {
		t.Errorf("signals blocked: %s", out)
	}
	out, err = pipeline(t, `trap '' HUP INT; "$0" __launch "$1" </dev/null`, status)
	if got := ignored(out); got != "0x3" {
		t.Errorf("ignored under nohup %q (%v)", got, err)
	}
}

func TestSignalsForwarded(t *testing.T) {
	for name, sig := range map[string]syscall.Signal{
		"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP, "QUIT": syscall.SIGQUIT, "USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2,
	} {
		for script, want := range map[string]int{
			// The handler completes; then: death by the signal itself.
			"trap 'echo caught; exit 9' " + name + "; echo ready; while :; do sleep 0.05; done": 9,
			"echo ready; exec sleep 1000": 128 + int(sig),
		} {
			j := sh(script)
			j.Mark = marked()
			cmd := j.command(t)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(out, make([]byte, 6)); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Process.Signal(sig)
			rest, _ := io.ReadAll(out)
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != want || (want == 9) != (string(rest) == "caught\n") {
				t.Errorf("%s: code %d, want %d; %q", name, code, want, rest)
			}
			gone(t, j.Mark, time.Second)
		}
	}
}

func TestTimeout(t *testing.T) {
	j := sh("trap 'echo asked; exit 3' TERM; while :; do sleep 0.05; done")
	j.Timeout = 200 * time.Millisecond
	j.Mark = marked()
	r, out, _ := j.run(t)
	if want := (Result{Code: 124, Started: true, TimedOut: true}); !reflect.DeepEqual(r, want) || out != "asked\n" {
		t.Errorf("got %+v %q, want %+v", r, out, want)
	}
	gone(t, j.Mark, time.Second)

	j = sh("trap '' TERM; while :; do sleep 0.05; done")
	j.Timeout = 100 * time.Millisecond
	j.Mark = marked()
	start := time.Now()
	r, _, _ = j.run(t)
	if r.Code != 124 || !r.TimedOut || !r.Started {
		t.Errorf("got %+v", r)
	}
	if d := time.Since(start); d < killGrace || d > killGrace+3*time.Second {
		t.Errorf("killed after %v", d)
	}
	gone(t, j.Mark, time.Second)

	j = sh("exit 6")
	j.Timeout = time.Hour
	if r, _, _ := j.run(t); r.Code != 6 || r.TimedOut {
		t.Errorf("got %+v", r)
	}
}

func TestNothingOutlivesTheRun(t *testing.T) {
	j := sh("setsid sh -c 'trap \"\" HUP TERM; sleep 1000' & (sleep 1000 &) ; trap '' CHLD; sleep 0.1; exit 5")
	j.Mark = marked()
	r, _, _ := j.run(t)
	if r.Code != 5 {
		t.Errorf("got %+v", r)
	}
	gone(t, j.Mark, time.Second)
}

// The supervisor is the box's first process: the program can neither kill it,
// stop it, nor trace it.
func TestSupervisorIsOutOfReach(t *testing.T) {
	x := newTerminal(t)
	j := interactive("trap 'echo asked; exit 9' TERM; kill -9 1; kill -STOP 1; ls /proc/1/fd /proc/1/root >/dev/null 2>&1 && echo seen; echo ready; while :; do sleep 0.02; done")
	before := x.modes()
	cmd := x.start(j.command(t))
	x.expect("ready\r\n")
	_ = cmd.Process.Signal(syscall.SIGTERM)
	x.expect("asked\r\n")
	if c := code(t, cmd); c != 9 {
		t.Errorf("exit code %d", c)
	}
	if x.modes() != before {
		t.Error("modes not restored")
	}
	if strings.Contains(x.all(), "seen") {
		t.Error("the supervisor's descriptors can be seen")
	}
	gone(t, j.Mark, time.Second)
}

// The supervisor's descriptors and memory are out of the program's reach.
func TestSupervisorOutOfReach(t *testing.T) {
	x := newTerminal(t)
	j := interactive("for f in fd/3 fd/4 exe environ mem maps; do cat /proc/1/$f >/dev/null && echo open $f; done; ls /proc/1/fd/ && echo open fds; cat /proc/self/exe >/dev/null && echo own ones are; exit 3")
	cmd := x.start(j.command(t))
	if got := x.expect("own ones are"); strings.Contains(got, "\nopen ") || strings.Count(got, "Permission denied") < 6 {
		t.Errorf("%s", got)
	}
	if c := code(t, cmd); c != 3 {
		t.Errorf("exit code %d", c)
	}
}

func TestKilledLauncher(t *testing.T) {
	tries := 80
	if n, err := strconv.Atoi(os.Getenv("LAUNCH_KILLS")); err == nil {
		tries = n
	}
	started := 0
	for i := range tries {
		dir := t.TempDir()
		// Job control and daemons included: everything has to go.
		j := sh("echo x >> '" + dir + "/started'; setsid sleep 1000 & exec sleep 1000")
		j.Mark = marked()
		cmd := j.command(t)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		delay := time.Duration(rand.Int64N(int64(15 * time.Millisecond)))
		for end := time.Now().Add(delay); time.Now().Before(end); {
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		gone(t, j.Mark, time.Second)
		if _, err := os.Stat(dir + "/started"); err == nil {
			started++
		}
		if t.Failed() {
			t.Fatalf("try %d, killed after %v", i, delay)
		}
	}
	t.Logf("in %d of %d tries the program had started", started, tries)
}

// Killed at a moment when the program surely runs.
func TestKilledLauncherLater(t *testing.T) {
	for range 10 {
		j := sh("setsid sleep 1000 & echo ready; exec sleep 1000")
		j.Mark = marked()
		cmd := j.command(t)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(out, make([]byte, 6)); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		gone(t, j.Mark, time.Second)
	}
}

// A signal while bwrap hangs.
func TestSignalWhileBwrapHangs(t *testing.T) {
	j := sh("echo never")
	j.Bwrap = writeFile(t, "bwrap", "#!/bin/sh\nexec sleep 30\n", 0o755)
	j.Mark = marked()
	j.Result = filepath.Join(t.TempDir(), "result")
	cmd := j.command(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "bwrap started", 10*time.Second, func() bool {
		return strings.Contains(fmt.Sprint(alive(j.Mark)), "(sleep)") && catches(cmd.Process.Pid, syscall.SIGTSTP)
	})
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Wait()
	if r := readResult(t, j.Result); r.Code != 143 || r.Started || r.Signal != syscall.SIGTERM {
		t.Errorf("%+v", r)
	}
	gone(t, j.Mark, time.Second)
}

// A signal before the program has started: it does not start, or dies of it.
func TestSignalDuringStart(t *testing.T) {
	for range 30 {
		j := sh("exec sleep 1000")
		j.Mark = marked()
		cmd := j.command(t)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(time.Duration(rand.Int64N(int64(12 * time.Millisecond)))); time.Now().Before(end); {
		}
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		st := cmd.ProcessState.Sys().(syscall.WaitStatus)
		if st.Exited() && st.ExitStatus() != 143 || st.Signaled() && st.Signal() != syscall.SIGTERM {
			t.Errorf("status %v", cmd.ProcessState)
		}
		gone(t, j.Mark, time.Second)
	}
}

// catches reports whether a process has a handler for sig: the launcher's for
// SIGTSTP shows that it is past its start.
func catches(pid int, sig syscall.Signal) bool {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(status), "SigCgt:\t")
	text, _, _ := strings.Cut(rest, "\n")
	mask, err := strconv.ParseUint(text, 16, 64)
	return err == nil && mask&(1<<(sig-1)) != 0
}
