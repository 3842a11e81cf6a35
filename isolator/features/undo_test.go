package features

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/isolator/stage"
	"github.com/enr/inner/profile"
)

// A run whose box is started a second time, as where its repository could not be mounted, keeps the state of the project
// as it is then.
func TestUndoAgain(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	top := filepath.Join(home, "app")
	who := &caller.Caller{Home: home, InnerHome: filepath.Join(home, ".inner"), Environ: os.Environ()}
	if err := errors.Join(os.Mkdir(top, 0o700), os.Mkdir(who.InnerHome, 0o700)); err != nil {
		t.Fatal(err)
	}
	folder, err := stage.New(filepath.Join(home, "staged"), who.InnerHome)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	run := &Run{Settings: settings.Of(who), Folder: folder, Spec: profile.RunConfig{Name: "x", Workdir: top, WorkdirMode: profile.RW, Undo: true}}
	defer run.Close()
	undo := undoable(new(boxGits))
	for range 2 {
		var o launch.Options
		undo.Start(run, &o)
		if _, err := o.Meanwhile(); err != nil {
			t.Fatal(err)
		}
	}
}
