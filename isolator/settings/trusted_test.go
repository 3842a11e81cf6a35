package settings

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	if err := s.Allow(root, trust.Approval{Profile: p, Grants: grants}, s.ProjectConfig(pl)); err != nil {
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

// What a built-in profile says since an upgrade asks nothing again; the same said by a line of the project does.
func TestUpgradeAsksNothing(t *testing.T) {
	home := t.TempDir()
	root, global := filepath.Join(home, "app"), filepath.Join(home, ".inner", "profiles")
	local := filepath.Join(root, ".inner", "profiles")
	base := "schema_version = \"1\"\n[sandbox]\nbase = \"minimal\"\n"
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(home, ".cargo", "bin", "x"), "")
	write(filepath.Join(global, "old.toml"), "schema_version = \"1\"\n")
	write(filepath.Join(local, "a.toml"), "schema_version = \"1\"\nextends = \"base\"\n[sandbox]\nhome = \"isolated\"\n")
	write(filepath.Join(local, "b.toml"), "schema_version = \"1\"\nextends = \"old\"\n[sandbox]\nbase = \"minimal\"\nhome = \"isolated\"\n")
	write(filepath.Join(global, "base.toml"), base)
	s := Of(&caller.Caller{Home: home, InnerHome: filepath.Join(home, ".inner")})
	write(s.BuiltinsFile(), fmt.Sprintf("%x  base\n%x  old\n", sha256.Sum256([]byte(base)), sha256.Sum256([]byte("schema_version = \"1\"\n"))))
	pl := Place{Cwd: root, Project: s.ProjectOf(root)}
	for name, asks := range map[string]bool{"a": false, "b": true} {
		p, err := s.Load(name, pl)
		if err != nil {
			t.Fatal(err)
		}
		rc, c, err := s.AtRoot(p, pl)
		if err != nil {
			t.Fatal(err)
		}
		now := profile.Grants(rc)
		installed := func(g profile.Grant) bool { return g.Key == profile.Toolchains }
		if !slices.ContainsFunc(now, installed) {
			t.Fatalf("%s: %+v", name, now)
		}
		wider := s.Wider(p, c, slices.DeleteFunc(slices.Clone(now), installed), now)
		if len(wider) > 0 != asks {
			t.Errorf("%s: %+v", name, wider)
		}
	}
}
