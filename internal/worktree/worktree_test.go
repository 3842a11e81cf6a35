package worktree

import "testing"

// A path that is not absolute, as of a folder that could not be found, ends the walk.
func TestAroundRelative(t *testing.T) {
	for _, dir := range []string{"", ".", "no/such/folder"} {
		if _, tree := Around(dir); tree != nil {
			t.Errorf("%q: %+v", dir, tree)
		}
	}
}
