package keys

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/enr/inner/profile"
)

const sample = `# mine
default_profile = "shell" # the usual

# Commands that are always sandboxed:
# [shims]
# claude = "claude-interactive"

[aliases]
work = "run -p java -w ${workspaces_path}/x" # daily
odd = 'say "a b" \'

[default_limits]
memory = "2G"
pids = 100
`

func TestSet(t *testing.T) {
	file := profile.File{Path: "config.toml", Data: []byte(strings.ReplaceAll(sample, "odd = 'say \"a b\" \\'\n", ""))}
	for _, c := range []struct{ key, value, old, new string }{
		{"default_profile", "other", `default_profile = "shell" # the usual`, `default_profile = "other" # the usual`},
		{"aliases.work", `run "a\b"`, `"run -p java -w ${workspaces_path}/x" # daily`, `"run \"a\\b\"" # daily`},
		{"aliases.new", "run -i", "# daily\n", "# daily\nnew = \"run -i\"\n"},
		{"shims.claude", "mine", "pids = 100\n", "pids = 100\n\n[shims]\nclaude = \"mine\"\n"},
		{"default_limits.pids", "7", "pids = 100", `pids = "7"`},
		{"default_limits.cpu", "150%", "pids = 100\n", "pids = 100\ncpu = \"150%\"\n"},
		{"log", "~/logs", "# the usual\n", "# the usual\nlog = \"~/logs\"\n"},
	} {
		key, _, err := Parse(c.key)
		if err != nil {
			t.Error(err)
			continue
		}
		got, err := Set(file, key, c.value)
		if err != nil {
			t.Errorf("%s: %v", c.key, err)
			continue
		}
		if diff := cmp.Diff(strings.Replace(string(file.Data), c.old, c.new, 1), string(got)); diff != "" {
			t.Errorf("%s: %s", c.key, diff)
		}
	}
	for _, c := range []struct{ key, value, want string }{
		{"default_limits.memory", "lots", `default_limits.memory: "lots" is not a size`},
		{"default_profile", "../x", "has more than letters, digits, dots, hyphens and underscores"},
		{"shims.sudo", "x", "shims.sudo"},
		{"aliases.a b", "x", "one word"},
		{"aliases.q", `run "open`, "a quote that is not closed"},
		{"log", "a\nb", "config.toml"},
		{"aliases.e", "", "is empty"},
	} {
		key, _, err := Parse(c.key)
		if err == nil {
			_, err = Set(file, key, c.value)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s = %q: %v, want %q", c.key, c.value, err, c.want)
		}
	}
	for text, want := range map[string]string{
		"defualt_profile": `did you mean "default_profile"?`, "aliases": "aliases.NAME", "aliases.": "aliases.NAME",
		"default_limits": "no key", "capability.x": "no key", "default_limits.memroy": `did you mean "default_limits.memory"`, "": "no key",
	} {
		if _, _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	got, err := Unset(file, []string{"aliases", "work"})
	if err != nil || strings.Contains(string(got), "daily") {
		t.Errorf("%s %v", got, err)
	}
}
