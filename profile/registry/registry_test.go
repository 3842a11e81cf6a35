package registry

import (
	"testing"

	"github.com/enr/inner/profile/hosts"
)

// Every group has hosts, each written in its one spelling.
func TestHosts(t *testing.T) {
	for _, group := range hosts.Groups() {
		if len(Hosts(group)) == 0 {
			t.Errorf("@%s has no host", group)
		}
		for _, text := range Hosts(group) {
			if e, err := hosts.Parse(text); err != nil || e.String() != text || e.Group != "" || e.Stated() {
				t.Errorf("@%s has %q: %v, %v", group, text, e, err)
			}
		}
	}
	if len(Hosts("x")) > 0 {
		t.Error("what is no group has hosts")
	}
}
