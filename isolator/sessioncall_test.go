package isolator

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/run"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
)

// A server that has ended since it said that it listens is one that has not taken the call,
// and no reason to refuse it: another call may have had another box in the meantime.
func TestServerEndsAtOnce(t *testing.T) {
	exe := filepath.Join(t.TempDir(), "server")
	if err := os.WriteFile(exe, []byte("#!/bin/sh\nprintf ok\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := settings.Of(&caller.Caller{Home: t.TempDir(), InnerHome: t.TempDir(), Exe: exe})
	c := run.Call{Profile: &profile.Profile{Files: []profile.File{{}}}}
	if _, err := joinBox(s, t.TempDir(), c, "key"); !errors.Is(err, errAgain) {
		t.Errorf("%v, want %v", err, errAgain)
	}
}
