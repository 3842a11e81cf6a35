package visit

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/enr/inner/isolator/launch"
)

// A box of an earlier version, which says nowhere where its terminal is, does not start for ever.
func TestStateOfAnEarlierVersion(t *testing.T) {
	door := filepath.Join(t.TempDir(), "join")
	if err := os.WriteFile(door, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := State(door, os.Getpid()); got != launch.Starting {
		t.Errorf("just made: %q", got)
	}
	old := time.Now().Add(-2 * startsWithin)
	if err := os.Chtimes(door, old, old); err != nil {
		t.Fatal(err)
	}
	if got := State(door, os.Getpid()); got != "" {
		t.Errorf("made long ago: %q", got)
	}
}
