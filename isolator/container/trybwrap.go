package container

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Clean runs a program without anything of this environment.
func Clean(path string, args ...string) (string, error) {
	cmd := exec.Command(path, args...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}
	cmd.Dir = "/"
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	timer := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	err := cmd.Run()
	return out.String(), err
}

// TryBwrap makes a sandbox with bwrap, which is the only test that counts. On an error said
// is the first line of what bwrap said.
func TryBwrap(bwrap string) (said string, err error) {
	args := []string{"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-all", "--die-with-parent", "--cap-drop", "ALL"}
	if os.Getuid() != 0 {
		args = append(args, "--unshare-user", "--disable-userns") // as every box has it
	}
	out, err := Clean(bwrap, append(args, "--", "/bin/true")...)
	said, _, _ = strings.Cut(out, "\n")
	return strings.TrimSpace(said), err
}
