package container

import (
	"os"
	"strings"
	"time"

	"github.com/enr/inner/internal/helper"
)

// Clean runs a program without anything of this environment.
func Clean(path string, args ...string) (string, error) {
	out, complaint, err := helper.Ask(10*time.Second, []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}, path, args...)
	return out + complaint, err
}

// TryBwrap makes a sandbox with bwrap, which is the only test that counts. On an error said
// is the first line of what bwrap said.
func TryBwrap(bwrap string) (said string, err error) {
	args := []string{
		"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-all",
		"--die-with-parent", "--cap-drop", "ALL",
	}
	if os.Getuid() != 0 {
		args = append(args, "--unshare-user", "--disable-userns") // as every box has it
	}
	out, err := Clean(bwrap, append(args, "--", "/bin/true")...)
	said, _, _ = strings.Cut(out, "\n")
	return strings.TrimSpace(said), err
}
