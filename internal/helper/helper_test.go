package helper

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Whatever a helper makes is for the user alone, parents that were gone included,
// and the umask of this process stays what it was.
func TestWhatItMakes(t *testing.T) {
	old := syscall.Umask(0o022)
	defer syscall.Umask(old)
	dir := t.TempDir()
	cmd := exec.CommandContext(context.Background(), "sh", "-c", "mkdir -p run/registries/npm; echo x >run/file; (umask >run/umask)")
	cmd.Dir = dir
	if err := Run(cmd); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"run", "run/registries", "run/registries/npm", "run/file", "run/umask"} {
		fi, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if fi.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", name, fi.Mode())
		}
	}
	if got := syscall.Umask(0o022); got != 0o022 {
		t.Errorf("the umask of this process is %#o now", got)
	}
}

// It ends with its context, and what it started in its session as well.
func TestEndsWhole(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	file := filepath.Join(t.TempDir(), "pids")
	cmd := exec.CommandContext(ctx, "sh", "-c", `sleep 100 & echo $$ $! >"$0"; wait`, file)
	if err := Run(cmd); err == nil {
		t.Fatal("it ended by itself")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range strings.Fields(string(text)) {
		end := time.Now().Add(10 * time.Second)
		for running(pid) {
			if time.Now().After(end) {
				t.Fatalf("process %s is still there", pid)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

func running(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	_, state, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(state, "Z")
}

// It has no terminal, and the exit code comes back.
func TestExitCode(t *testing.T) {
	err := Run(exec.CommandContext(context.Background(), "sh", "-c", "echo x 2>/dev/null >/dev/tty && exit 5; exit 3"))
	exit, ok := err.(*exec.ExitError)
	if !ok || exit.ExitCode() != 3 {
		t.Errorf("%v", err)
	}
}
