package registry

import (
	"slices"
	"testing"

	"github.com/enr/inner/profile/hosts"
)

// Every group has hosts, each written in its one spelling.
func TestPublic(t *testing.T) {
	for _, group := range hosts.Groups() {
		if len(Public(group)) == 0 {
			t.Errorf("@%s has no host", group)
		}
		for _, text := range Public(group) {
			if e, err := hosts.Parse(text); err != nil || e.String() != text || e.Group != "" || e.Stated() {
				t.Errorf("@%s has %q: %v, %v", group, text, e, err)
			}
		}
	}
	if len(Public("x")) > 0 {
		t.Error("what is no group has hosts")
	}
}

// What the user's config.toml says of a group holds, and its name there stands for the public hosts.
func TestHosts(t *testing.T) {
	public := Public("pypi")
	own := map[string][]string{"npm": {"npm.corp"}, "pypi": {"a.corp", "@pypi", "b.corp"}, "maven": {}}
	for group, want := range map[string][]string{
		"npm": {"npm.corp"}, "pypi": {"a.corp", public[0], public[1], "b.corp"}, "maven": {}, "gitlab": {"gitlab.com"},
	} {
		if got := Hosts(group, own); !slices.Equal(got, want) {
			t.Errorf("@%s: %q, want %q", group, got, want)
		}
	}
}
