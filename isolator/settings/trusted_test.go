package settings

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/profile"
)

// A config.toml is read once: what is recorded is what was shown.
func TestConfigIsReadOnce(t *testing.T) {
	home := t.TempDir()
	s := Of(&caller.Caller{Home: home, InnerHome: filepath.Join(home, ".inner")})
	dir := filepath.Join(home, "app", ".inner")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pl := Place{Project: &profile.Project{Root: filepath.Dir(dir), Dir: dir}}
	write(`default_profile = "shown"`)
	shown := s.ProjectConfig(pl)
	write(`default_profile = "another"`)
	recorded := s.ProjectConfig(pl)
	if recorded.Config.DefaultProfile != "shown" || recorded.File.Digest != shown.File.Digest {
		t.Errorf("read again: %q, %s", recorded.Config.DefaultProfile, recorded.File.Digest)
	}
	if err := os.Remove(filepath.Join(dir, "config.toml")); err != nil {
		t.Fatal(err)
	}
	if gone := s.ProjectConfig(pl); gone.File == nil {
		t.Error("looked for again")
	}
}
