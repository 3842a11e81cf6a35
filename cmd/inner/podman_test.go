package main

import (
	"errors"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// Containers in a box, with the real podman: 100 MB of packages that make test
// does not ask for. make podman installs them and sets INNER_TEST_PODMAN;
// contrib/test.sh says so when it is not set.
func TestPodman(t *testing.T) {
	if os.Getenv("INNER_TEST_PODMAN") == "" {
		t.Skip("make podman runs it")
	}
	need(t, "podman", "crun", "busybox", "newuidmap", "pgrep")
	podmanScripts(t, "podman", "podman")
}

// Boxes that podman makes, of an image that contrib/podman.sh made.
func TestPodmanMakesBoxes(t *testing.T) {
	if os.Getenv("INNER_TEST_IMAGE") == "" {
		t.Skip("make podman runs it")
	}
	need(t, "podman", "runc", "newuidmap", "pgrep", "bwrap", "script")
	podmanScripts(t, "container", "podman")
}

// The same boxes, made by docker. Its daemon is one that contrib/docker.sh started.
func TestDockerMakesBoxes(t *testing.T) {
	if os.Getenv("INNER_TEST_DOCKER") == "" {
		t.Skip("make docker runs it")
	}
	need(t, "docker", "pgrep", "bwrap", "script")
	podmanScripts(t, "container", "docker")
}

// The same where there is no bwrap.
func TestPodmanIsChosen(t *testing.T) {
	if os.Getenv("INNER_TEST_IMAGE") == "" {
		t.Skip("make podman runs it")
	}
	need(t, "podman", "runc", "newuidmap")
	podmanScripts(t, "nobwrap", "podman")
}

func podmanScripts(t *testing.T, dir, engine string) {
	p := scripts(dir)
	setup := p.Setup
	p.Setup = func(e *testscript.Env) error {
		me, err := user.Current()
		if err != nil {
			return err
		}
		profiles, err := filepath.Abs("../../contrib/profiles")
		if err != nil {
			return err
		}
		err = setup(e)
		// podman 4.3 waits for ever for the end of a container when this name is long.
		short, tempErr := os.MkdirTemp("", "r")
		if err = errors.Join(err, tempErr); err != nil {
			return err
		}
		e.Setenv("XDG_RUNTIME_DIR", short)
		// podman looks up its user by $USER.
		e.Vars = append(e.Vars, "PROFILES="+profiles, "UID="+me.Uid, "USER="+me.Username, "IMAGE_TAR="+os.Getenv("INNER_TEST_IMAGE"),
			"ENGINE="+engine, "DOCKER_HOST=unix://"+os.Getenv("INNER_TEST_DOCKER"))
		e.Defer(func() {
			forgetImages(e.Vars)
			_ = os.RemoveAll(short)
		})
		return nil
	}
	testscript.Run(t, p)
}

// forgetImages removes what podman keeps in the home of a story, files of other ids among it,
// and ends the process that it leaves behind.
func forgetImages(env []string) {
	for _, args := range [][]string{{"unshare", "sh", "-c", `rm -rf "$HOME/.local/share/containers"`}, {"system", "migrate"}} {
		cmd := exec.Command("podman", args...)
		cmd.Env = env
		_ = cmd.Run() // without podman there is nothing
	}
}
