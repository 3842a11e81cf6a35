package profile

import (
	"slices"
	"testing"
)

// Writing a renewed login back is something a profile gives.
func TestSyncLoginIsAGrant(t *testing.T) {
	rc := RunConfig{Capabilities: []string{"claude"}, SyncLogin: true}
	if !slices.ContainsFunc(Grants(rc), func(g Grant) bool {
		return g.Kind == "login" && g.Text == "can replace the stored login by a newer one of: claude" && !g.Tightens
	}) {
		t.Errorf("no such grant: %+v", Grants(rc))
	}
}
