package features

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/gitconfig"
)

// Without git there is nobody to clean its settings: only where there are none may a box with
// [git] start.
func TestNothingToClean(t *testing.T) {
	for name, want := range map[string]bool{"": true, ".gitconfig": false, ".config/git/config": false, "x/git/config": false, "system": false, ".config/git/ignore": true} {
		home := t.TempDir()
		if name != "" {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(home, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		place := gitconfig.Place{Home: home}
		if name == "x/git/config" {
			place.XDG = filepath.Join(home, "x")
		}
		rc := profile.RunConfig{Git: &profile.Git{StripSections: []string{"credential"}}}
		if got := nothingToClean(rc, place, filepath.Join(home, "system")); got != want {
			t.Errorf("with %q: %v", name, got)
		}
		rc.Git.Overrides = []profile.KV{{Key: "user.name", Value: "x"}}
		if nothingToClean(rc, place, filepath.Join(home, "system")) {
			t.Errorf("with %q and overrides: true", name)
		}
		rc.Git.Overrides, place.Global = nil, "/dev/null"
		if nothingToClean(rc, place, filepath.Join(home, "system")) {
			t.Errorf("with %q and GIT_CONFIG_GLOBAL: true", name)
		}
	}
}
