package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// A config.toml is read once: what is recorded is what was shown.
func TestConfigIsReadOnce(t *testing.T) {
	home := t.TempDir()
	a := &app{home: home, inner: filepath.Join(home, ".inner")}
	dir := filepath.Join(home, "app", ".inner")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pl := place{project: &profile.Project{Root: filepath.Dir(dir), Dir: dir}}
	write(`default_profile = "shown"`)
	shown := a.projectConfig(pl)
	write(`default_profile = "another"`)
	recorded := a.projectConfig(pl)
	if recorded.config.DefaultProfile != "shown" || recorded.file.Digest != shown.file.Digest {
		t.Errorf("read again: %q, %s", recorded.config.DefaultProfile, recorded.file.Digest)
	}
	if err := os.Remove(filepath.Join(dir, "config.toml")); err != nil {
		t.Fatal(err)
	}
	if gone := a.projectConfig(pl); gone.file == nil {
		t.Error("looked for again")
	}
}

// What the host's facts say of a path must be what was compared with the approval.
func TestExchanged(t *testing.T) {
	rc := profile.RunConfig{Real: map[string]string{"/a": "/a", "/link": "/real"}}
	same := map[string]host.Path{"/a": {Real: "/a"}, "/link": {Real: "/real"}, "/other": {Real: "/x"}}
	if got := exchanged(rc, same); got != "" {
		t.Errorf("%q, and nothing was", got)
	}
	same["/link"] = host.Path{Real: "/stolen"}
	if got := exchanged(rc, same); got != "/link" {
		t.Errorf("%q, want the link", got)
	}
}
