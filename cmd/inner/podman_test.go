package main

import (
	"os"
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
	p := scripts("podman")
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
		// podman looks up its user by $USER.
		e.Vars = append(e.Vars, "PROFILES="+profiles, "UID="+me.Uid, "USER="+me.Username)
		return err
	}
	testscript.Run(t, p)
}
