package box

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// TestExchangedMount: what is mounted must be what was probed.
func TestExchangedMount(t *testing.T) {
	dir := t.TempDir()
	probed, other := filepath.Join(dir, "probed"), filepath.Join(dir, "other")
	for _, d := range []string{probed, other} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	was := func(path string) wire.Shown {
		t.Helper()
		var st syscall.Stat_t
		if err := syscall.Lstat(path, &st); err != nil {
			t.Fatal(err)
		}
		return wire.Shown{Path: path, Source: path, Dev: uint64(st.Dev), Ino: st.Ino}
	}
	s := received(t, was(probed))
	if err := s.lookAround(); err == nil || !strings.Contains(err.Error(), "was replaced") {
		t.Errorf("a folder with nothing mounted on it: %v", err)
	}
	if err := received(t, was("/proc"), wire.Shown{Path: "/dev"}).lookAround(); err != nil {
		t.Errorf("a mount: %v", err)
	}
	if err := syscall.Rename(other, probed); err != nil {
		t.Fatal(err)
	}
	if err := s.lookAround(); err == nil || !strings.Contains(err.Error(), "was replaced") {
		t.Errorf("a replaced folder: %v", err)
	}
	unreadable := was(probed)
	if err := os.Chmod(dir, 0); err != nil {
		t.Fatal(err)
	}
	err := asPlainUser(t, received(t, unreadable).lookAround)
	if err == nil || !strings.Contains(err.Error(), "cannot be seen in the box") {
		t.Errorf("a mount of the host in a folder that was closed: %v", err)
	}
	if err := asPlainUser(t, received(t, wire.Shown{Path: probed}).lookAround); err == nil {
		t.Error("what is made for the box, in a folder that the box can open again, passes")
	}
	if err := asPlainUser(t, received(t, wire.Shown{Path: closed(t, dir)}).lookAround); err != nil {
		t.Errorf("what is made for the box, in a folder of another user: %v", err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(dir, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(probed); err != nil {
		t.Fatal(err)
	}
	if err := s.lookAround(); err == nil {
		t.Error("a folder that is gone passes")
	}
}

// received is a box that is to look at these mounts.
func received(t *testing.T, shown ...wire.Shown) *box {
	t.Helper()
	b := new(box)
	fd, err := wire.Seal(&wire.Box{Shown: shown})
	if err == nil {
		err = errors.Join(wire.Unseal(fd, &b.spec), unix.Close(fd))
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// closed is a path in a folder of another user that nobody but root can enter. dir is made one
// where that is possible.
func closed(t *testing.T, dir string) string {
	t.Helper()
	if os.Geteuid() == 0 {
		if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chown(dir, 4242, 4242)); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, "probed")
	}
	for _, p := range []string{"/root", "/lost+found", "/etc/ssl/private", "/var/lib/private", "/var/cache/ldconfig"} {
		if unix.Access(p, unix.F_OK) == nil && unix.Access(p, unix.X_OK) == unix.EACCES {
			return filepath.Join(p, "x")
		}
	}
	t.Fatal("this computer has no folder of root that is closed")
	return ""
}

// asPlainUser calls f on a thread that has no rights over files of others, as programs in a box.
func asPlainUser(t *testing.T, f func() error) error {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // which ends with this function
		if os.Geteuid() == 0 {
			if err := unix.Setfsuid(65534); err != nil {
				done <- err
				return
			}
		}
		done <- f()
	}()
	return <-done
}
