package plan

import (
	"slices"
	"testing"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// A mount covers what earlier ones put below it: what is protected in it later has its folders pinned in that one, and
// is protected again.
func TestPinsInTheLastMount(t *testing.T) {
	b := &builder{rc: profile.RunConfig{Home: "host"}, f: host.Facts{MoveMount: true}}
	b.bind("the host", "/", "/", false)
	b.tmpfs("hidden", 0o555, "/h/.config")
	b.bind("a mount", "/h", "/h", true)
	b.unplaced = nil // nothing of it is on this host
	b.bind("protected", "/h/.config/git", "/h/.config/git", false)
	for _, step := range []func() error{b.pins, b.followed} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	if o := b.plan.Ops[3]; o.Kind != OpBind || o.Dest != "/h/.config" || o.Source != "/h/.config" {
		t.Errorf("not pinned: %+v", b.plan.Ops)
	}
	if !slices.Equal(b.plan.Protected, []string{"/h/.config/git"}) {
		t.Errorf("protected again: %q", b.plan.Protected)
	}
}
