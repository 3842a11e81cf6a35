package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/enr/inner/profile"
)

func load(t *testing.T, text string) (*Config, profile.File, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, f, err := Load(path)
	if f.Path != path || string(f.Data) != text {
		t.Errorf("file: %+v", f)
	}
	if err != nil {
		return c, f, strings.ReplaceAll(err.Error(), filepath.Dir(path)+"/", "")
	}
	return c, f, ""
}

func TestLoad(t *testing.T) {
	c, _, problem := load(t, `default_profile = "shell"
workspaces_path = "~/.inner/workspaces"
log = "/var/log/inner"
[shims]
claude = "claude-interactive"
bash = "shell"
[aliases]
ws = "run -p shell -w ${workspaces_path}"
[default_limits]
memory = "2G"
pids = 512
`)
	want := &Config{
		DefaultProfile: "shell", WorkspacesPath: "~/.inner/workspaces", Log: "/var/log/inner",
		Shims:         []profile.KV{{Key: "claude", Value: "claude-interactive"}, {Key: "bash", Value: "shell"}},
		Aliases:       []profile.KV{{Key: "ws", Value: "run -p shell -w ${workspaces_path}"}},
		DefaultLimits: profile.Limits{Memory: "2G", Pids: "512"},
	}
	if problem != "" {
		t.Fatal(problem)
	}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Error(diff)
	}
}

func TestLoadFaults(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"schema_version = \"1\"", ""},
		{"schema_version = \"2\"", `config.toml:1: schema_version: is "2", this version of inner reads only "1"`},
		{"default_profil = \"x\"", `config.toml:1: default_profil: unknown key (did you mean "default_profile"?)`},
		{"default_profile = \"./x\"", `config.toml:1: default_profile: profile name "./x" contains a slash`},
		{"log = \"logs\"\nworkspaces_path = \"~x\"", "config.toml:1: log: \"logs\" is not an absolute path\nconfig.toml:2: workspaces_path: \"~x\" is not an absolute path"},
		{"[shims]\nsudo = \"x\"\nclaude = \"a/b\"\nbash = 1", "config.toml:2: shims.sudo: command \"sudo\" may not be claimed\nconfig.toml:3: shims.claude: profile name \"a/b\" contains a slash\nconfig.toml:4: shims.bash: wants a string, is a whole number (write \"1\")"},
		{"[aliases]\n\"a b\" = \"x\"\n-y = \"z\"\nok = \" \"", "config.toml:2: aliases.\"a b\": an alias is one word that does not begin with a dash\nconfig.toml:3: aliases.-y: an alias is one word that does not begin with a dash\nconfig.toml:4: aliases.ok: is empty"},
		{"[default_limits]\nmemory = \"lots\"", `config.toml:2: default_limits.memory: "lots" is not a size (write it like "512M" or "2G")`},
		{"[x", "config.toml:1: expected '.' or ']' to end table name, but got the end of the file instead"},
	} {
		if _, _, got := load(t, c.text); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

func TestLoadMissing(t *testing.T) {
	c, f, err := Load(filepath.Join(t.TempDir(), "config.toml"))
	if err != nil || f.Path != "" {
		t.Fatal(f, err)
	}
	if diff := cmp.Diff(&Config{}, c, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	if _, _, err := Load(t.TempDir()); err == nil || !strings.Contains(err.Error(), "is a folder, not a regular file") {
		t.Error(err)
	}
}
