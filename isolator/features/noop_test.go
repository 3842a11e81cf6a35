package features

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/isolator/stage"
	"github.com/enr/inner/profile"
)

// A run that fails before its program starts leaves no open pipe in the process, which may
// be a server.
func TestNoopPipeIsClosed(t *testing.T) {
	home := t.TempDir()
	folder, err := stage.New(filepath.Join(home, "staged"), home)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	run := &Run{Settings: settings.Of(&caller.Caller{Home: home}), Folder: folder, Profile: &profile.Profile{Name: "web"}}
	run.Spec.Noop = profile.Noop{Rules: []profile.NoopRule{{Words: []string{"git", "push"}}}}
	if _, err := makeNoop(run); err != nil {
		t.Fatal(err)
	}
	open := func() (n int) {
		fds, _ := filepath.Glob("/proc/self/fd/*")
		for _, fd := range fds {
			if to, err := os.Readlink(fd); err == nil && strings.HasPrefix(to, filepath.Join(folder.Path, "blocked")) {
				n++
			}
		}
		return n
	}
	if open() == 0 {
		t.Fatal("there is no pipe")
	}
	run.Close()
	if n := open(); n != 0 {
		t.Errorf("%d descriptors of the pipe are open", n)
	}
}
