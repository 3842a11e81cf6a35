package profile

import "testing"

// What a stranger's profile leaves, and what nobody can hold to a limit, is not kept.
func TestKeepsCaches(t *testing.T) {
	for _, c := range []struct {
		rc   RunConfig
		want bool
	}{
		{RunConfig{Home: "host", Scope: Local}, true},
		{RunConfig{Home: "host", Scope: Remote}, false},
		{RunConfig{Home: "host", Limits: Limits{Disk: "1G"}}, false},
		{RunConfig{Home: "own"}, false},
	} {
		if got := c.rc.KeepsCaches(); got != c.want {
			t.Errorf("%q %q %v: %v", c.rc.Home, c.rc.Scope, c.rc.Limits, got)
		}
	}
}
