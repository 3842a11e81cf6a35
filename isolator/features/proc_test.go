package features

import (
	"strings"
	"testing"
)

// The host's /proc is not for a box without a user namespace of its own: root's.
func TestHostProc(t *testing.T) {
	for uid, want := range map[int]string{0: "the host's /proc gives away", 1000: ""} {
		run := &Run{}
		run.Spec.Proc, run.Facts.UID = "bind", uid
		err := safeBind(run)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("user %d: %v, want %q", uid, err, want)
		}
	}
}
