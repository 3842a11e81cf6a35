package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/run"
)

// TestDoctorBwrap: the version that a bwrap says of itself is judged.
func TestDoctorBwrap(t *testing.T) {
	for _, c := range []struct{ says, status, text string }{
		{"bubblewrap 0.7.0", "broken", "version 0.7.0 is too old: --disable-userns is there since 0.8.0"},
		{"bubblewrap 0.4.1", "broken", "too old"},
		{"bubblewrap banana", "broken", "too old"},
		{"", "broken", "--version fails"},
		{"bubblewrap 0.8.0", "ok", "version 0.8.0"},
		{"bubblewrap 0.11.0", "ok", "version 0.11.0"},
		{"bubblewrap 1.0", "ok", "version 1.0"},
	} {
		stub := filepath.Join(t.TempDir(), "bwrap")
		if err := os.WriteFile(stub, []byte("#!/bin/sh\necho '"+c.says+"'\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		list := bwrapVersion(stub)
		if f := list[0]; f.Status != c.status || !strings.Contains(f.Text, c.text) || (f.Fix == "") != (f.Status == "ok") {
			t.Errorf("%q: %+v", c.says, f)
		}
		// Mount points through planted links: since 0.12 bwrap does not follow them.
		if told := len(list) == 2; c.status == "ok" && told != (c.says != "bubblewrap 1.0") {
			t.Errorf("%q: %+v", c.says, list)
		}
	}
}

// TestTooOldBwrapRefuses: the run says the same.
func TestTooOldBwrapRefuses(t *testing.T) {
	err := run.StartFailure(launch.Result{Code: 125, Reason: "bwrap: Unknown option --disable-userns"})
	r := fault.AsRefusal(err)
	if r == nil || r.Code != 125 || r.Hint != "inner doctor" || !strings.Contains(r.Msg, "bwrap is older than "+host.OldestBwrap) {
		t.Errorf("%+v", r)
	}
}

func TestDoctorLandlock(t *testing.T) {
	for abi, want := range map[int]string{0: "warning", 1: "warning", 2: "warning", 5: "warning", 6: "ok", 7: "ok"} {
		f := landlockFinding(abi)
		if f.Status != want || (f.Fix == "") != (want == "ok") || abi >= 2 != strings.Contains(f.Text, "writing is confined") && abi < 6 {
			t.Errorf("version %d: %+v", abi, f)
		}
	}
}
