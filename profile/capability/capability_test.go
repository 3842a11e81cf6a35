package capability

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/hosts"
)

// home plants the files of somebody who uses all agents.
func home(t *testing.T) string {
	t.Helper()
	h := t.TempDir()
	for name, text := range map[string]string{
		".claude/.credentials.json":       `{"claudeAiOauth":{"accessToken":"tok","expiresAt":1999999999999},"mcpOAuth":{"x":"mcp-secret"}}`,
		".claude/settings.json":           `{"theme":"dark","mcpServers":{"a":{}},"enabledPlugins":{"p":true}}`,
		".claude/skills/one/SKILL.md":     "skill",
		".claude/skills/one/run.sh":       "#!/bin/sh\n",
		".claude/projects/old/chat.jsonl": "private",
		".claude/history.jsonl":           "private",
		".claude.json": `{"hasCompletedOnboarding":true,"userID":12345678901234567890,"mcpServers":{"b":{"env":{"K":"mcp-secret"}}},"githubRepoPaths":{"a/b":["/other"]},
			"projects":{"/w":{"allowedTools":["x"],"mcpServers":{"c":{}},"history":[1]},"/w/sub":{"mcpServers":{"d":{}}},"/w2":{},"/other":{"secret":1}}}`,

		".gemini/settings.json": `{
			// people write comments here
			"ui": {"theme": "x // no comment"}, /* and here */
			"mcpServers": {"a": {"command": "x"}}, "mcp": {"allowed": []}, "extensions": {}, "tools": {"sandbox": "docker", "core": []},
			"security": {"auth": {"selectedType": "gemini-api-key"}},
		}`,
		".gemini/oauth_creds.json":        `{"access_token":"t"}`,
		".gemini/google_accounts.json":    `{"active":"a"}`,
		".gemini/gemini-credentials.json": "cipher",
		".gemini/.env":                    "GEMINI_API_KEY=k\n",
		".gemini/trustedFolders.json":     `{"/w":"TRUST_FOLDER","/other":"TRUST_FOLDER"}`,
		".gemini/mcp-oauth-tokens.json":   "mcp-secret",
		".gemini/tmp/w/chats/1.json":      "private",

		".cursor/cli-config.json":         `{"permissions":{"allow":["Shell(ls)"]},"mcpServers":{"a":{}}}`,
		".cursor/mcp.json":                `{"mcpServers":{"a":{"env":{"K":"mcp-secret"}}}}`,
		".cursor/skills-cursor/s.md":      "skill",
		".cursor/projects/other/x":        "private",
		".config/cursor/auth.json":        `{"accessToken":"t"}`,
		".config/cursor/prompt_history":   "private",
		".codex/auth.json":                `{"OPENAI_API_KEY":"k"}`,
		".codex/config.toml":              "# mine\nmodel = \"m\"\nnotify = [\"notify-send\"]\n[mcp_servers.a]\ncommand = \"x\"\n[mcp_servers.a.env]\nK = \"mcp-secret\"\n[projects.\"/other\"]\ntrust_level = \"trusted\"\n[features]\nvim = true\n[tui]\nnotifications = [\"x\"]\ntheme = \"t\"\n",
		".codex/prompts/p.md":             "prompt",
		".codex/history.jsonl":            "private",
		".codex/sessions/1.jsonl":         "private",
		".config/opencode/opencode.jsonc": "{\"theme\":\"t\",\"mcp\":{\"a\":{\"environment\":{\"K\":\"mcp-secret\"}}},\"plugin\":[\"p\"],}",
		".config/opencode/plugin/p.js":    "private",
		".config/opencode/themes/t.json":  "{}",
		".local/share/opencode/auth.json": `{"p":{"type":"api","key":"k"}}`,
		".local/share/opencode/log/l":     "private",
		".local/state/opencode/kv.json":   "private",
		".cache/opencode/models.json":     "models",
		".cache/opencode/bin/x":           "private",
	} {
		write(t, filepath.Join(h, name), text)
	}
	must(t, os.Chmod(filepath.Join(h, ".claude/skills/one/run.sh"), 0o755))
	return h
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func find(t *testing.T, name string) Capability {
	t.Helper()
	c, ok := Find(name)
	if !ok {
		t.Fatalf("no capability %s", name)
	}
	return c
}

// all are the agents that inner knows.
func all(t *testing.T) (list []Capability) {
	t.Helper()
	files, err := fs.Glob(agents, "agents/*.toml")
	must(t, err)
	if len(files) != len(profile.Capabilities()) {
		t.Errorf("files %q for the capabilities %q", files, profile.Capabilities())
	}
	for _, name := range profile.Capabilities() {
		list = append(list, find(t, name))
	}
	return list
}

// listing is what is in a folder, with the content of its files; JSON in its
// shortest form.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	must(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == dir {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		fi, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %s", fi.Mode(), rel)
		if fi.Mode().IsRegular() {
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, ": %s", strings.ReplaceAll(strings.TrimSpace(compact(data)), "\n", "|"))
		}
		b.WriteString("\n")
		return nil
	}))
	return b.String()
}

func compact(data []byte) string {
	doc, err := parseJSON(data)
	if err != nil {
		return string(data)
	}
	out, _ := json.Marshal(doc)
	return string(out)
}

func TestClones(t *testing.T) {
	for name, want := range map[string]string{
		"claude": `drwx------ .claude
-rw------- .claude/.claude.json: {"hasCompletedOnboarding":true,"projects":{"/w":{"allowedTools":["x"]},"/w/sub":{}},"userID":12345678901234567890}
-rw------- .claude/.credentials.json: {"claudeAiOauth":{"accessToken":"tok","expiresAt":1999999999999}}
drwx------ .claude/cache
drwx------ .claude/file-history
drwx------ .claude/history
drwx------ .claude/plans
drwx------ .claude/projects
drwx------ .claude/session-env
drwx------ .claude/sessions
-rw------- .claude/settings.json: {"skipDangerousModePermissionPrompt":true,"theme":"dark"}
drwx------ .claude/shell-snapshots
drwx------ .claude/skills
drwx------ .claude/skills/one
-r-------- .claude/skills/one/SKILL.md: skill
-r-x------ .claude/skills/one/run.sh: #!/bin/sh
drwx------ .claude/tasks
drwx------ .claude/todos
`,
		"gemini": `drwx------ .gemini
-rw------- .gemini/.env: GEMINI_API_KEY=k
-rw------- .gemini/gemini-credentials.json: cipher
-rw------- .gemini/google_accounts.json: {"active":"a"}
-rw------- .gemini/oauth_creds.json: {"access_token":"t"}
-rw------- .gemini/settings.json: {"general":{"enableAutoUpdate":false,"enableAutoUpdateNotification":false},"mcp":{"allowed":[]},"security":{"auth":{"selectedType":"gemini-api-key"}},"tools":{"core":[]},"ui":{"theme":"x // no comment"}}
-rw------- .gemini/trustedFolders.json: {"/w":"TRUST_FOLDER"}
`,
		"cursor": `drwx------ .config
drwx------ .config/cursor
-rw------- .config/cursor/auth.json: {"accessToken":"t"}
drwx------ .cursor
drwx------ .cursor/ai-tracking
-rw------- .cursor/cli-config.json: {"permissions":{"allow":["Shell(ls)"]}}
drwx------ .cursor/extensions
drwx------ .cursor/projects
drwx------ .cursor/skills-cursor
-r-------- .cursor/skills-cursor/s.md: skill
`,
		"codex": `drwx------ .codex
-rw------- .codex/auth.json: {"OPENAI_API_KEY":"k"}
-rw------- .codex/config.toml: check_for_update_on_startup = false|model = "m"||[features]|daemon_auto_start = false|in_app_updates = false|vim = true||[projects]|[projects."/w"]|trust_level = "trusted"||[tui]|theme = "t"
drwx------ .codex/prompts
-r-------- .codex/prompts/p.md: prompt
`,
		"opencode": `drwx------ .cache
drwx------ .cache/opencode
-rw------- .cache/opencode/models.json: models
drwx------ .config
drwx------ .config/opencode
-rw------- .config/opencode/opencode.jsonc: {"theme":"t"}
drwx------ .config/opencode/themes
-r-------- .config/opencode/themes/t.json: {}
drwx------ .local
drwx------ .local/share
drwx------ .local/share/opencode
-rw------- .local/share/opencode/auth.json: {"p":{"key":"k","type":"api"}}
drwx------ .local/state
drwx------ .local/state/opencode
`,
	} {
		t.Run(name, func(t *testing.T) {
			h, dst := home(t), t.TempDir()
			before := listing(t, h)
			skipped, err := find(t, name).Clone(Origin{Home: h, Workdir: "/w"}, in(t, dst))
			if err != nil || len(skipped) > 0 {
				t.Fatal(skipped, err)
			}
			if diff := cmp.Diff(want, listing(t, dst)); diff != "" {
				t.Errorf("the clone (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, listing(t, h)); diff != "" {
				t.Errorf("the original changed:\n%s", diff)
			}
		})
	}
	if list := all(t); len(list) != 5 {
		t.Errorf("%d agents are tested here, not 5", len(list))
	}
}

// TestCloneOfNothing: somebody who never used the agent gets its folders, and
// of files only those that inner itself writes.
// What stands for a key in the box is used unasked there, besides the keys that the user took.
func TestKeys(t *testing.T) {
	h := t.TempDir()
	write(t, filepath.Join(h, ".claude.json"), `{"customApiKeyResponses":{"approved":["mine"],"rejected":[]}}`)
	_, err := find(t, "claude").Clone(Origin{Home: h, Keys: []Key{{Value: "sk-ant-api03-0123456789abcdefghij"}}}, func(p Piece) error {
		if text := compact(p.Data); filepath.Base(p.Path) == ".claude.json" && !strings.Contains(text, `"approved":["mine","0123456789abcdefghij"],"rejected":[]`) {
			t.Error(text)
		}
		return nil
	})
	must(t, err)
}

// TestAnswers: what stands for a key has the user's answer for the key, and without one the agent asks where it has
// another login. The ends of keys are not in the box.
func TestAnswers(t *testing.T) {
	h := t.TempDir()
	write(t, filepath.Join(h, ".claude.json"), `{"customApiKeyResponses":{"approved":["mine","yes-6789abcdefghijkl"],"rejected":["no-56789abcdefghijkl"]}}`)
	for of, want := range map[string]string{
		"sk-ant-yes-6789abcdefghijkl": `"customApiKeyResponses":{"approved":["0123456789abcdefghij"]}`,
		"sk-ant-no-56789abcdefghijkl": `"customApiKeyResponses":{"rejected":["0123456789abcdefghij"]}`,
		"another":                     "",
	} {
		keys := []Key{{Value: "sk-ant-api03-0123456789abcdefghij", Of: of, Ask: true}}
		_, err := find(t, "claude").Clone(Origin{Home: h, Keys: keys, Used: map[string]Used{}}, func(p Piece) error {
			text := compact(p.Data)
			if filepath.Base(p.Path) == ".claude.json" && (!strings.Contains(text, want) || want == "" && strings.Contains(text, "customApi")) {
				t.Errorf("%s: %s", of, text)
			}
			return nil
		})
		must(t, err)
	}
}

func TestCloneOfNothing(t *testing.T) {
	var files []string
	for _, c := range all(t) {
		dst := t.TempDir()
		if skipped, err := c.Clone(Origin{Home: t.TempDir(), Workdir: "/w"}, in(t, dst)); err != nil || len(skipped) > 0 {
			t.Fatal(c.Name, skipped, err)
		}
		for line := range strings.Lines(listing(t, dst)) {
			if line[0] == '-' {
				files = append(files, strings.Fields(line)[1])
			}
		}
		for _, f := range c.Folders {
			if fi, err := os.Stat(filepath.Join(dst, f.Rel())); err != nil || fi.Mode().Perm() != 0o700 {
				t.Errorf("%s: %v %v", f.Path, fi, err)
			}
		}
	}
	if want := []string{".claude/settings.json:", ".gemini/settings.json:", ".codex/config.toml:"}; !slices.Equal(files, want) {
		t.Errorf("files %q, want %q", files, want)
	}
}

// TestLinksAndDevicesStayBehind: a planted link must not pull a secret in, and a
// dotfile manager's link is told.
func TestLinksAndDevicesStayBehind(t *testing.T) {
	h, dst := home(t), t.TempDir()
	secret := filepath.Join(h, ".ssh/id")
	write(t, secret, "KEY")
	write(t, filepath.Join(h, "dotfiles/claude/settings.json"), `{"theme":"linked"}`)
	must(t, os.Symlink(secret, filepath.Join(h, ".claude/skills/one/link")))
	must(t, syscall.Mkfifo(filepath.Join(h, ".claude/skills/fifo"), 0o600))
	must(t, os.Remove(filepath.Join(h, ".claude/settings.json")))
	must(t, os.Symlink(filepath.Join(h, "dotfiles/claude/settings.json"), filepath.Join(h, ".claude/settings.json")))
	must(t, os.Remove(filepath.Join(h, ".claude.json")))
	must(t, syscall.Mkfifo(filepath.Join(h, ".claude.json"), 0o600))
	skipped, err := find(t, "claude").Clone(Origin{Home: h, Workdir: "/w"}, in(t, dst))
	must(t, err)
	want := []string{".claude/skills/fifo", ".claude/skills/one/link", ".claude/settings.json", ".claude.json"}
	for i := range want {
		want[i] = filepath.Join(h, want[i])
	}
	if !slices.Equal(skipped, want) {
		t.Errorf("skipped %v, want %v", skipped, want)
	}
	for _, word := range []string{"settings.json", "link", "fifo", ".claude.json", "KEY"} {
		if strings.Contains(listing(t, dst), word) {
			t.Errorf("%s is in the clone", word)
		}
	}
}

// TestOnlyWhatIsListedIsOpened: of a big ~/.claude nothing but the list is read.
func TestOnlyWhatIsListedIsOpened(t *testing.T) {
	h, dst := home(t), t.TempDir()
	for i := range 20 {
		p := filepath.Join(h, ".claude/projects/big", fmt.Sprint(i, ".jsonl"))
		write(t, p, "")
		must(t, os.Truncate(p, 10<<20))
		must(t, os.Chmod(p, 0)) // opening it is an error, but for root
	}
	start := time.Now()
	if skipped, err := find(t, "claude").Clone(Origin{Home: h, Workdir: "/w"}, in(t, dst)); err != nil || len(skipped) > 0 {
		t.Fatal(skipped, err)
	}
	t.Logf("200 MB cloned in %s", time.Since(start))
	var size int64
	must(t, filepath.WalkDir(dst, func(p string, d fs.DirEntry, err error) error {
		if fi, err := d.Info(); err == nil && fi.Mode().IsRegular() {
			size += fi.Size()
		}
		return err
	}))
	if size > 4096 {
		t.Errorf("the clone has %d bytes", size)
	}
}

// TestElsewhere: a folder that the agent's own variable names is cloned from
// there, and the clone has the usual place.
func TestElsewhere(t *testing.T) {
	h, other, dst := home(t), t.TempDir(), t.TempDir()
	write(t, filepath.Join(other, ".claude.json"), `{"a":1}`)
	write(t, filepath.Join(other, "opencode/opencode.json"), `{"theme":"o"}`)
	o := Origin{Home: h, Workdir: "/w", Lookup: func(name string) (string, bool) {
		switch name {
		case "CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME":
			return other, true
		case "GEMINI_CLI_HOME":
			return "relative", true
		}
		return "", false
	}}
	for _, name := range []string{"claude", "opencode", "gemini"} {
		_, err := find(t, name).Clone(o, in(t, dst))
		must(t, err)
	}
	got := listing(t, dst)
	for _, want := range []string{".claude/.claude.json: {\"a\":1}\n", ".config/opencode/opencode.json: {\"theme\":\"o\"}\n", ".gemini/.env: "} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, `"theme":"dark"`) || strings.Contains(got, "opencode.jsonc") {
		t.Errorf("files of the usual place in\n%s", got)
	}
}

func TestEnvironment(t *testing.T) {
	at := map[string][]string{"claude": {"/h/.claude"}, "gemini": {"/run/x/.gemini"}, "opencode": {"/h/.config/opencode", "/r/.local/share/opencode", "/h/s/opencode", "/h/c/opencode"}}
	for name, want := range map[string]string{
		"claude":   "CLAUDE_CONFIG_DIR=/h/.claude CLAUDE_CODE_SANDBOXED=1 IS_SANDBOX=1 DISABLE_AUTOUPDATER=1 CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL=1",
		"gemini":   "GEMINI_CLI_HOME=/run/x GEMINI_CLI_TRUST_WORKSPACE=true GEMINI_FORCE_FILE_STORAGE=true GEMINI_SANDBOX=false",
		"opencode": "XDG_CONFIG_HOME=/h/.config XDG_DATA_HOME=/r/.local/share XDG_STATE_HOME=/h/s XDG_CACHE_HOME=/h/c OPENCODE_DISABLE_AUTOUPDATE=true",
	} {
		var got []string
		for _, kv := range find(t, name).Environment("/h", at[name]) {
			got = append(got, kv.Key+"="+kv.Value)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s:\n got %s\nwant %s", name, strings.Join(got, " "), want)
		}
	}
}

func TestBrokenFilesAreNamed(t *testing.T) {
	for name, file := range map[string][2]string{
		"claude": {".claude.json", "not valid JSON"},
		"codex":  {".codex/config.toml", "not valid TOML"},
		"gemini": {".gemini/settings.json", "not valid JSON"},
	} {
		for _, text := range []string{"{", "[]", "\x00", "a = [", strings.Repeat("[", 1<<16)} {
			h := home(t)
			p := filepath.Join(h, file[0])
			write(t, p, text)
			_, err := find(t, name).Clone(Origin{Home: h, Workdir: "/w"}, in(t, t.TempDir()))
			if err == nil || !strings.Contains(err.Error(), p) || !strings.Contains(err.Error(), file[1]) {
				t.Errorf("%s: %.10q: got %v", name, text, err)
			}
		}
	}
}

func TestComments(t *testing.T) {
	for in, want := range map[string]string{
		`{"a": "//", "b": "/* \" */", // c` + "\n" + `"d": [1, /* x */ 2 , ], }`: `{"a":"//","b":"/* \" */","d":[1,2]}`,
		"": "{}", "\xef\xbb\xbf{}": "{}",
	} {
		if got := compact([]byte(in)); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
	for _, in := range []string{`{"a":1} {"b":2}`, `{"a":1`, `null`, `{/*`, `{"a`} {
		if _, err := parseJSON([]byte(in)); err == nil {
			t.Errorf("%q is accepted", in)
		}
	}
}

// What an agent needs of the network can be read, each host once, and is no group.
func TestHosts(t *testing.T) {
	for _, c := range all(t) {
		if len(c.Hosts) == 0 {
			t.Errorf("%s: no hosts: it would not work where the network is by name", c.Name)
		}
		seen := map[string]bool{}
		for _, text := range c.Hosts {
			e, err := hosts.Parse(text)
			if err != nil || e.Group != "" || seen[text] {
				t.Errorf("%s: %q: %+v %v", c.Name, text, e, err)
			}
			seen[text] = true
		}
	}
}

// Of each entry the host's word counts where it changed, else the box's.
func TestSettle(t *testing.T) {
	for _, c := range []struct{ name, base, fresh, kept, want string }{
		{"s.json", `{"a":1}`, `{"a":1}`, `{"a":2,"b":[3]}`, ""},
		{"s.json", `{"a":1}`, `{"a":5}`, `{"a":2,"b":3}`, `{"a":5,"b":3}`},
		{"s.json", `{"a":1,"t":{"x":1,"y":1}}`, `{"a":1,"t":{"x":2,"y":1}}`, `{"t":{"x":9,"y":9,"z":9}}`, `{"t":{"x":2,"y":9,"z":9}}`},
		{"s.json", `{"a":1,"t":{"x":1}}`, `{"a":1}`, `{"a":2,"t":{"x":1,"z":9}}`, `{"a":2,"t":{"z":9}}`},
		{"s.json", `{"a":1,"b":2}`, `{"b":2}`, `{"a":1}`, ``},
		{"s.json", `{"a":1}`, `{"a":{"x":1}}`, `{"a":2}`, `{"a":{"x":1}}`},
		{"s.json", ``, `{"a":1}`, `{"a":2,"b":3}`, `{"a":1,"b":3}`},
		{"s.json", `{"a":1}`, `{"a":2}`, `not JSON`, `{"a":2}`},
		{"c.toml", "a = 1\n", "a = 2\n", "a = 1\nb = 3\n", "a = 2\nb = 3\n"},
		{"c.toml", "a = 1\n", "a = 1\n", "b = 3 # mine\n", ""},
		{"c.toml", "[p.x]\nu = \"1\"\n", "[p.x]\nu = \"2\"\n", "[p.x]\nu = \"1\"\n[p.y]\nu = \"9\"\n", "[p]\n[p.x]\nu = \"2\"\n[p.y]\nu = \"9\"\n"},
	} {
		got := string(settle(c.name, []byte(c.base), []byte(c.fresh), []byte(c.kept)))
		if strings.HasSuffix(c.name, ".json") {
			got = strings.NewReplacer(" ", "", "\n", "").Replace(got)
		}
		if got != c.want {
			t.Errorf("%s: %s to %s over %s is %q, want %q", c.name, c.base, c.fresh, c.kept, got, c.want)
		}
	}
}

// in writes the parts of a clone in a folder.
func in(t *testing.T, dst string) func(Piece) error {
	return func(p Piece) error {
		t.Helper()
		at := filepath.Join(dst, p.Path)
		if p.Mode.IsDir() {
			return os.MkdirAll(at, 0o700)
		}
		must(t, os.MkdirAll(filepath.Dir(at), 0o700))
		return os.WriteFile(at, p.Data, p.Mode)
	}
}
