package settings

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/trust"
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

// What a flag adds is the person's own word, and no change of what was allowed.
func TestFlagsNeedNoApproval(t *testing.T) {
	home := t.TempDir()
	root := filepath.Join(home, "app")
	if err := os.MkdirAll(filepath.Join(root, ".inner", "profiles"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, ".inner", "profiles", "p.toml"), []byte("schema_version = \"1\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := Of(&caller.Caller{Home: home, InnerHome: filepath.Join(home, ".inner"), Environ: []string{"TOKEN=1"}})
	pl := Place{Cwd: root, Project: s.ProjectOf(root)}
	p, err := s.Load("p", pl)
	if err != nil {
		t.Fatal(err)
	}
	grants, err := s.GrantsOf(p, pl)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Trust().Allow(root, trust.Approval{Profile: p, Grants: grants}); err != nil {
		t.Fatal(err)
	}
	on, limit := true, time.Minute
	for _, o := range []profile.Overrides{
		{},
		{Pass: []string{"TOKEN"}},
		{Env: []profile.KV{{Key: "TOKEN", Value: "2"}}},
		{Network: &on},
		{Timeout: &limit},
		{Limits: profile.Limits{Memory: "1G"}},
		{Entrypoint: "/bin/true"},
		{Extra: []string{"x"}},
	} {
		c, err := s.Context(pl, o, false)
		if err != nil {
			t.Fatal(err)
		}
		rc, err := p.Resolve(c)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.AsAllowed(p, c, rc); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
