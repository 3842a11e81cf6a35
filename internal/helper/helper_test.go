package helper

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Whatever a helper makes is for the user alone, parents that were gone included,
// and the umask of this process stays what it was.
func TestWhatItMakes(t *testing.T) {
	old := syscall.Umask(0o022)
	defer syscall.Umask(old)
	dir := t.TempDir()
	cmd := exec.CommandContext(context.Background(), "sh", "-c", "mkdir -p run/cache/npm; echo x >run/file; (umask >run/umask)")
	cmd.Dir = dir
	if err := Run(cmd); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"run", "run/cache", "run/cache/npm", "run/file", "run/umask"} {
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

// Where no thread can have a umask of its own, as in a container, a helper runs when that of the
// whole process is as narrow, and does not run when it is not.
func TestWithoutUmaskOfItsOwn(t *testing.T) {
	if mask, err := strconv.ParseUint(os.Getenv("HELPER_TEST_UMASK"), 8, 32); err == nil {
		syscall.Umask(int(mask))
		refuseUnshare(t)
		err := Run(exec.CommandContext(context.Background(), "sh", "-c", "umask"))
		fmt.Printf("ran: %v, umask %03o\n", err == nil, syscall.Umask(0))
		return
	}
	for mask, want := range map[string]string{"077": "ran: true, umask 077\n", "022": "ran: false, umask 022\n"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestWithoutUmaskOfItsOwn$")
		cmd.Env = append(os.Environ(), "HELPER_TEST_UMASK="+mask)
		if out, err := cmd.Output(); err != nil || !strings.HasPrefix(string(out), want) {
			t.Errorf("umask %s: %v: %q, want %q", mask, err, out, want)
		}
	}
}

// refuseUnshare has the kernel refuse unshare(2) to this process from now on, with EPERM.
func refuseUnshare(t *testing.T) {
	t.Helper()
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_UNSHARE, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	// TSYNC: not only this thread, Go goes on in others.
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog))); errno != 0 {
		t.Fatal(errno)
	}
}

// It ends with its context, and what it started in its session as well.
func TestEndsWhole(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	fifo := filepath.Join(t.TempDir(), "pids")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	var text []byte
	go func() {
		text, _ = os.ReadFile(fifo) // until the program's descriptor is closed
		cancel()
	}()
	cmd := exec.CommandContext(ctx, "sh", "-c", `sleep 100 & echo $$ $! >"$0"; wait`, fifo)
	if err := Run(cmd); err == nil || ctx.Err() == nil {
		t.Fatalf("it ended by itself, or did not start: %v", err)
	}
	pids := strings.Fields(string(text))
	if len(pids) != 2 {
		t.Fatalf("%q", text)
	}
	for _, pid := range pids {
		end := time.Now().Add(2 * time.Minute)
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
