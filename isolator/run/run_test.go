package run

import (
	"testing"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// What the host's facts say of a path must be what was compared with the approval.
func TestExchanged(t *testing.T) {
	rc := profile.RunConfig{Real: map[string]string{"/a": "/a", "/link": "/real"}}
	same := map[string]host.Path{"/a": {Real: "/a"}, "/link": {Real: "/real"}, "/other": {Real: "/x"}}
	if got := replaced(rc, host.Facts{Paths: same}); got != "" {
		t.Errorf("%q, and nothing was", got)
	}
	same["/link"] = host.Path{Real: "/stolen"}
	if got := replaced(rc, host.Facts{Paths: same}); got != "/link" {
		t.Errorf("%q, want the link", got)
	}
}
