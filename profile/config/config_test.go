package config

import (
	"fmt"
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
	r := Load(path, false)
	c, f, err := r.Config, r.File, r.Err
	if f.Path != path || string(f.Data) != text {
		t.Errorf("file: %+v", f)
	}
	if err != nil {
		return c, *f, strings.ReplaceAll(err.Error(), filepath.Dir(path)+"/", "")
	}
	return c, *f, ""
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
	if diff := cmp.Diff(want, c, cmpopts.IgnoreFields(Config{}, "Settings")); diff != "" {
		t.Error(diff)
	}
}

func TestLoadFaults(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"schema_version = \"1\"", ""},
		{"schema_version = \"2\"", `config.toml:1: schema_version: is "2", this version of inner reads only "1"`},
		{"default_profil = \"x\"", `config.toml:1: default_profil: unknown key (did you mean "default_profile"?)`},
		{"default_profile = \"./x\"", `config.toml:1: default_profile: profile name "./x" has more than letters, digits, dots, hyphens and underscores`},
		{"log = \"logs\"\nworkspaces_path = \"~x\"", "config.toml:1: log: \"logs\" is not an absolute path\nconfig.toml:2: workspaces_path: \"~x\" is not an absolute path"},
		{"[shims]\nsudo = \"x\"\nclaude = \"a/b\"\nbash = 1", "config.toml:2: shims.sudo: command \"sudo\" may not be claimed\nconfig.toml:3: shims.claude: profile name \"a/b\" has more than letters, digits, dots, hyphens and underscores\nconfig.toml:4: shims.bash: wants a string, is a whole number (write \"1\")"},
		{"[aliases]\n\"a b\" = \"x\"\n-y = \"z\"\nok = \" \"", "config.toml:2: aliases.\"a b\": an alias is one word that does not begin with a dash\nconfig.toml:3: aliases.-y: an alias is one word that does not begin with a dash\nconfig.toml:4: aliases.ok: is empty"},
		{"[default_limits]\nmemory = \"lots\"", `config.toml:2: default_limits.memory: "lots" is not a size (write it like "512M" or "2G")`},
		{"[capability.a]\npaths = [\"~/.x\"]", `config.toml:1: capability: unknown key`},
		{"[groups]\nnpm = \"@npm npm.example:8443\"\ngithub = []", ""},
		{
			"[groups]\nnmp = \"a.example\"\npypi = [\"@npm\"]\ngo = \"https://a.example/ 10.0.0.0/8\"",
			`config.toml:2: groups.nmp: "@nmp" is not a group: there are @crates @debian @github @gitlab @go @maven @npm @pypi
config.toml:3: groups.pypi: "@npm" is another group: write its hosts
config.toml:4: groups.go: "https://a.example/" is an address of a page: write the host alone
config.toml:4: groups.go: "10.0.0.0/8" has a path or a range: write one host`,
		},
		{"[x", "config.toml:1: expected ']' to close table name"},
	} {
		if _, _, got := load(t, c.text); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

func TestLoadMissing(t *testing.T) {
	r := Load(filepath.Join(t.TempDir(), "config.toml"), false)
	c, f, err := r.Config, r.File, r.Err
	if err != nil || f != nil {
		t.Fatal(f, err)
	}
	if diff := cmp.Diff(&Config{}, c, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	if err := Load(t.TempDir(), false).Err; err == nil || !strings.Contains(err.Error(), "is a folder, not a regular file") {
		t.Error(err)
	}
}

// A project has no say in where the user's groups lead.
func TestGroupsOfAProject(t *testing.T) {
	file := profile.File{Path: "config.toml", Data: []byte("[groups]\nnpm = \"evil.example\"")}
	if _, err := Parse(file, true); err == nil || !strings.Contains(err.Error(), "config.toml:1: groups: a project does not decide which hosts a group stands for") {
		t.Errorf("a project's groups: %v", err)
	}
}

// TestKeep reads how long records are kept. A time that no clock counts to is refused, and does not become a
// short one.
func TestKeep(t *testing.T) {
	for text, want := range map[string]string{
		"30d":    "<nil>",
		"2w":     "<nil>",
		"30501w": `c.toml:2: output.keep: "30501w" is not a time of at least an hour (write it like "30d", "2w" or "12h")`,
		"30m":    `c.toml:2: output.keep: "30m" is not a time of at least an hour (write it like "30d", "2w" or "12h")`,
		"":       `c.toml:2: output.keep: "" is not a time of at least an hour (write it like "30d", "2w" or "12h")`,
	} {
		_, err := Parse(profile.File{Path: "c.toml", Data: fmt.Appendf(nil, "[output]\nkeep = %q", text)}, false)
		if got := fmt.Sprint(err); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// What did something in the version before is no fault, and is named with its line.
func TestFormer(t *testing.T) {
	text := "session_idle = \"1h\"\n[output]\nsize = \"200M\"\n[trust]\nclones = true\n"
	c, err := Parse(profile.File{Path: "c.toml", Data: []byte(text)}, false)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"c.toml:1: session_idle: does nothing any more", "c.toml:3: output.size: ", "c.toml:5: trust.clones: "} {
		if len(c.Former) != 3 || !strings.HasPrefix(c.Former[i].Error(), want) {
			t.Errorf("%v, want %s", c.Former, want)
		}
	}
}
