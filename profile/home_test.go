package profile

import "testing"

// The home of a project has an @ in its name, and no profile can write one.
func TestHomeName(t *testing.T) {
	for name, ok := range map[string]bool{"both": true, "a.b-c_9": true, "app@0123": false, "../x": false, ".x": false, "a/b": false, "": false, "a b": false} {
		if err := checkHomeName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

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
