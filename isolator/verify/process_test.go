package verify

import (
	"io/fs"
	"os/exec"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
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

// TestKeptFolder asks for another folder than the host's where the working folder is kept in part.
func TestKeptFolder(t *testing.T) {
	id := host.ID{Dev: 1, Ino: 2}
	list := Checks(Subject{
		Config: profile.RunConfig{WorkdirMode: profile.Keep, Workdir: "/w", Home: "host"},
		Facts:  host.Facts{Home: "/home/u", Paths: map[string]host.Path{"/w": {Kind: host.Dir, ID: id}}},
	})
	i := slices.IndexFunc(list, func(c Check) bool { return c.ID == "workdir" })
	if i < 0 || len(list[i].Places) != 1 || list[i].Places[0].ID != id || list[i].Places[0].Mode != "safe-rw" {
		t.Errorf("%+v", list)
	}
}
