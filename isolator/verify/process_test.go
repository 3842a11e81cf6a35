package verify

import (
	"io/fs"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestUserNamespace: only an answer of the kernel that refuses the namespace is a pass.
func TestUserNamespace(t *testing.T) {
	for err, want := range map[error]Result{
		nil: Fail, unix.ENOENT: Fail, unix.ENOTDIR: Fail, // of the program, in the namespace
		unix.EPERM: Pass, unix.EACCES: Pass, unix.ENOSPC: Pass, unix.EUSERS: Pass, unix.EINVAL: Pass, unix.ENOSYS: Pass,
		unix.EAGAIN: Unknown, unix.ENOMEM: Unknown,
	} {
		given := err
		if err != nil {
			given = &fs.PathError{Op: "fork/exec", Path: "/dev/null/none", Err: err}
		}
		if got, detail := userNamespace(given); got != want {
			t.Errorf("%v: %s (%s), not %s", err, got, detail, want)
		}
	}

	can := (&exec.Cmd{Path: "/bin/true", Args: []string{"true"}, SysProcAttr: &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}}).Run() == nil
	if got, detail := nestedUserNS(); can && got != Fail {
		t.Errorf("a namespace can be made here, and the answer is %s (%s)", got, detail)
	}
}
