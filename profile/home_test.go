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
