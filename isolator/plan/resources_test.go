package plan

import (
	"slices"
	"testing"

	"github.com/enr/inner/isolator/sensitive"
	"github.com/enr/inner/profile"
)

// TestKeysOfTheTable: what [sandbox] allow takes is what the table has, and the
// few keys that stand for no path.
func TestKeysOfTheTable(t *testing.T) {
	notPaths := []string{"nested-user-ns", configKey, "no-seccomp", "no-landlock", "host-proc"}
	for _, k := range profile.AllowKeys() {
		if !slices.Contains(allowKeys(), k) && !slices.Contains(notPaths, k) {
			t.Errorf("allow takes %q, which the table does not have", k)
		}
	}
	for _, k := range allowKeys() {
		if !slices.Contains(profile.AllowKeys(), k) {
			t.Errorf("the table has %q, which allow does not take", k)
		}
	}
	for _, r := range sensitive.Resources() {
		if r.Part && r.Kind != "file" {
			t.Errorf("%s: only a file can be shown alone", r.Key)
		}
	}
}

// allowKeys returns the keys of the table, sorted.
func allowKeys() []string {
	var keys []string
	for _, r := range sensitive.Resources() {
		keys = append(keys, r.Key)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
