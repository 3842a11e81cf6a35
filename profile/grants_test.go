package profile

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/enr/inner/internal/files"
)

func lines(list []Grant) string {
	var b strings.Builder
	for _, g := range list {
		b.WriteString(g.Kind)
		if g.Tightens {
			b.WriteByte('-')
		}
		b.WriteString("\t" + g.Text + "\n")
	}
	return b.String()
}

func TestGrants(t *testing.T) {
	shell := RunConfig{
		HomeDir: "/home/u", Home: "host", Workdir: "/home/u/src/app", WorkdirMode: RW, Network: NetOff,
		GitDir: "checked", Proc: "auto", Seccomp: "default", Entrypoint: Entrypoint{Cmd: "bash"},
	}
	if diff := cmp.Diff(`runs	runs bash
writes	can change files in: ~/src/app
writes	keeps between runs, apart from yours: caches (~/.cache and its kind)
reads	can read the system and your home folder, except secrets and unknown dot entries
network-	no network
`, lines(Grants(shell))); diff != "" {
		t.Error(diff)
	}
	rich := RunConfig{
		HomeDir: "/home/u", Home: "isolated", HomeAllow: []string{"/home/u/.local/bin", "/home/u/a, b"}, Workdir: "/w", WorkdirMode: RO,
		Network: NetFull, Allow: []string{"ssh-keys", "docker-socket"}, Clipboard: true, GitDir: "rw", Proc: "bind", Seccomp: "off",
		Hide: []string{"/w/.env"}, Limits: Limits{Memory: "2G", Pids: "100"}, Capabilities: []string{"claude"},
		Mounts: []Mount{
			{Source: "/home/u/d", Dest: "/d", Mode: RW},
			{Source: "/home/u/r", Dest: "/home/u/r", Mode: RO},
			{Source: "/c", Dest: "/c", Mode: SafeRW},
			{Source: "/t", Dest: "/t", Mode: Tmpfs},
		},
		Env:        Env{InheritAll: true, Inherit: []string{"LC_*", "TERM", "ANTHROPIC_API_KEY", "LC_X*", "https_proxy", "NO_PROXY"}, Set: []KV{{"CI", "true"}, {"API_TOKEN", "hunter2"}, {"L", "a, b"}}, PathPrepend: []string{"/home/u/bin"}},
		Entrypoint: Entrypoint{Cmd: "claude", Args: []string{"-p", "two words", ""}, History: []string{"git status"}},
		Output:     Output{Timeout: 90 * time.Minute, Log: "/home/u/logs"},
		Noop:       Noop{Rules: []NoopRule{{Words: []string{"apt"}}, {Words: []string{"pip", "install"}}, {Words: []string{"docker"}, Target: []string{"podman"}}}},
		Git:        &Git{StripSections: []string{"url", "remote.o"}, Overrides: []KV{{"push.default", "nothing"}, {"http.https://x/.extraHeader", "hunter2"}, {"http.proxy", "http://u:hunter2@x"}}},
	}
	if diff := cmp.Diff(`runs	runs claude -p "two words" ""
writes	can change files in: ~/d (there as /d)
copies	works on a copy of: /c
writes	keeps its log in: ~/logs
reads	can read the system; of your home folder only what is listed here
reads	can read: /w, ~/r, ~/.local/bin, "~/a, b"
network	can use the network, this computer's own services included
capability	gets a copy of your login and settings of: claude
git	sets for git: push.default=nothing, http.https://x/.extraHeader (value not shown), http.proxy (value not shown)
secret	can use what is hidden otherwise: ssh-keys, docker-socket (a way out of the box)
passes	gets all your variables, except those that look secret
secret	gets your secrets: ANTHROPIC_API_KEY
passes	gets your variables: terminal and user settings, LC_X*, proxy settings
sets	sets variables: CI=true, API_TOKEN (value not shown), "L=a, b"
path	looks for programs first in: ~/bin
clipboard	can read and change your clipboard, and with an X11 display see your windows and keys
layer	works on your own git directory, which is dangerous: hooks and settings that it writes there run outside the box
layer	sees this computer's own /proc: the command lines of all programs
layer	runs without the system call filter
history	offers in the shell history: git status
replaces	runs another program: docker → podman
hides-	also hides: /w/.env
limit-	limited: memory 2G, processes 100, time 1h30m
hides-	empty in the box: /t
layer-	has a cleaned copy of your git settings: without helpers for logins, hooks folder and tokens
git-	does not have these of your git settings: url, remote.o
blocks-	blocks the commands: apt, pip install
`, lines(Grants(rich))); diff != "" {
		t.Error(diff)
	}
	for _, g := range Grants(rich) {
		if strings.Contains(g.Text, "hunter2") {
			t.Errorf("a secret is shown: %q", g.Text)
		}
	}
}

// The way back from an isolated home is wider, and nothing of it is narrower.
func TestDiffGrantsWholeHome(t *testing.T) {
	isolated := RunConfig{Home: "isolated", Workdir: "/w", WorkdirMode: RW, Entrypoint: Entrypoint{Cmd: "bash"}}
	whole := isolated
	whole.Home = "host"
	wider, narrower := DiffGrants(Grants(isolated), Grants(whole))
	if got, want := lines(wider), "reads\tcan read the system and your home folder, except secrets and unknown dot entries\n"; got != want || len(narrower) > 0 {
		t.Errorf("wider %q, want %q; narrower %q", got, want, lines(narrower))
	}
}

func TestDiffGrants(t *testing.T) {
	base := RunConfig{
		Home: "host", Workdir: "/w", WorkdirMode: RW, Network: NetOff, Entrypoint: Entrypoint{Cmd: "bash"},
		Allow: []string{"ssh-keys"}, Env: Env{Inherit: []string{"A", "B"}, Set: []KV{{"X", "1, 2"}, {"Y", "2"}}},
		Noop: blocking("apt", "yum"), Limits: Limits{Memory: "1G"}, Hide: []string{"/w/.env"},
	}
	for _, c := range []struct {
		name            string
		change          func(rc *RunConfig)
		wider, narrower string
	}{
		{"nothing", func(*RunConfig) {}, "", ""},
		{"order", func(rc *RunConfig) { rc.Env.Inherit = []string{"B", "A"} }, "", ""},
		{"network", func(rc *RunConfig) { rc.Network = NetFull }, "network\tcan use the network, this computer's own services included\n", ""},
		{"variable", func(rc *RunConfig) { rc.Env.Inherit = []string{"A", "C"} }, "passes\tgets your variables: C\n", "passes\tgets your variables: B\n"},
		{"value", func(rc *RunConfig) { rc.Env.Set = []KV{{"X", "1, 2"}, {"Y", "3"}} }, "sets\tsets variables: Y=3\n", "sets\tsets variables: Y=2\n"},
		{"unlock", func(rc *RunConfig) { rc.Allow = []string{"ssh-keys", "netrc"} }, "secret\tcan use what is hidden otherwise: netrc\n", ""},
		{"lock", func(rc *RunConfig) { rc.Allow = nil }, "", "secret\tcan use what is hidden otherwise: ssh-keys\n"},
		{"block less", func(rc *RunConfig) { rc.Noop = blocking("apt") }, "blocks-\tblocks the commands: yum\n", ""},
		{"block more", func(rc *RunConfig) { rc.Noop = blocking("apt", "yum", "dnf") }, "", "blocks-\tblocks the commands: dnf\n"},
		{"hide less", func(rc *RunConfig) { rc.Hide = nil }, "hides-\talso hides: /w/.env\n", ""},
		{"limit", func(rc *RunConfig) { rc.LimitsLoose = true }, "limit-\tlimited: memory 1G\n", "limit-\tlimited, where your machine can hold it (limits_required = false): memory 1G\n"},
		{"limit", func(rc *RunConfig) { rc.Limits.Memory = "2G" }, "limit-\tlimited: memory 1G\n", "limit-\tlimited: memory 2G\n"},
		{"program", func(rc *RunConfig) { rc.Entrypoint.Args = []string{"-c", "a: b, c"} }, "runs\truns bash -c \"a: b, c\"\n", "runs\truns bash\n"},
		{
			"home", func(rc *RunConfig) { rc.Home = "isolated" }, "",
			"reads-\tcan read the system; of your home folder only what is listed here\nreads\tcan read the system and your home folder, except secrets and unknown dot entries\n",
		},
		{"lower", func(rc *RunConfig) { rc.Limits.Memory = "512M" }, "", "limit-\tlimited: memory 512M\n"},
		{"read-only", func(rc *RunConfig) { rc.WorkdirMode = RO }, "", "writes\tcan change files in: /w\n"},
	} {
		now := base
		c.change(&now)
		wider, narrower := DiffGrants(Grants(base), Grants(now))
		if diff := cmp.Diff([]string{c.wider, c.narrower}, []string{lines(wider), lines(narrower)}); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if n, w := DiffGrants(Grants(now), Grants(base)); len(n)+len(w) == 0 && len(wider)+len(narrower) > 0 {
			t.Errorf("%s: the way back shows nothing", c.name)
		}
	}
}

func TestLooksSecret(t *testing.T) {
	for _, name := range []string{
		"ANTHROPIC_API_KEY", "GH_TOKEN", "GITHUBTOKEN", "npm_token", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "DB_PASSWORD", "MYSQL_PWD", "DB_PASS",
		"DATABASE_URL", "APP_DATABASE_URL", "SENTRY_DSN", "SLACK_WEBHOOK_URL", "MONGODB_URI", "SSH_AUTH_SOCK", "GITLAB_PAT", "VAULT_ADDR",
		"GOOGLE_APPLICATION_CREDENTIALS", "SECRET", "TOKEN", "PASSWORD", "APIKEY", "X_PRIVATE_Y", "SESSION_COOKIE", "KEY",
		"OPENAI_KEY", "OPENAI_API_KEY_2", "SSHKEY", "ACCESSKEYS", "GIT_ASKPASSWORD", "BASIC_AUTH", "OAUTH", "HTTP_AUTHORIZATION", "RAILS_SESSION", "SESSION_ID",
		"JSESSIONID", "COOKIES", "MY_DSN", "X_CONNECTION_STRING", "TEAMS_WEBHOOK", "SIGNING_SIGNATURE", "GPG_PASSPHRASE", "UNLOCK_PIN", "TOTP", "a.secret", "azure-token",
	} {
		if !LooksSecret(name) {
			t.Errorf("%s is not seen as a secret", name)
		}
	}
	for _, name := range []string{
		"PATH", "HOME", "PWD", "OLDPWD", "LANG", "LC_ALL", "TERM", "GIT_AUTHOR_NAME", "KEYBOARD", "XKB_KEYMAP", "TOKENIZERS_PARALLELISM", "PASSENGER", "MONKEY",
		"ANTHROPIC_MODEL", "COMPASS", "PATTERN", "https_proxy", "DSNAME", "",
		"DESKTOP_SESSION", "XDG_SESSION_TYPE", "SESSION_MANAGER", "KEYMAP", "HOTKEY", "SPINNER", "AUTHOR", "BYPASS", "SHELL", "XDG_DATA_DIRS", "GIT_COMMITTER_EMAIL", "MANPATH", "LS_COLORS",
	} {
		if LooksSecret(name) {
			t.Errorf("%s is seen as a secret", name)
		}
	}
}

// What a profile can say and what inner allow shows cannot drift apart: each
// field of a RunConfig changes the grants, or stands here with the reason why it
// gives nothing.
func TestEveryFieldIsAGrant(t *testing.T) {
	no := map[string]string{
		"Name": "a name", "Path": "a name", "Files": "where it came from", "Scope": "where it came from", "Description": "text", "HomeDir": "how paths are written",
		"Project": "where it came from", "Cwd": "below Workdir or a mount", "Entered": "a name of Cwd", "Git": "shown item by item",
		"Checks": "run in the same box, by inner verify", "Backend": "how the box is made", "WorkspacesDir": "shown when a mount uses it",
		"Entrypoint.Interactive": "whose terminal", "Entrypoint.TUI": "whose terminal", "Entrypoint.CursorFix": "what is written at the end",
		"Output.Summary": "text at the end", "Output.Folder": "Log, or the user's own", "Output.LogAll": "Log says it", "Real": "where the paths lead", "Programs": "System says it", "Dropped": "takes away", "AskedHide": "of Hide", "WrittenHide": "of Hide", "AskedLimits": "of Limits", "AskedTimeout": "of Output.Timeout", "Organisation": "takes away", "Env.Written": "Set says it", "Env.Never": "takes away, and config.toml says it", "Entrypoint.Written": "Cmd says it", "Output.Review": "text at the end", "Output.MaxOutput": "what a caller gets of it", "LimitsLoose": "shown with Limits", "Servers": "MCP says it", "Undo": "is kept outside",
	}
	base := RunConfig{Home: "own", WorkdirMode: RW, Workdir: "/w", GitDir: "checked", Network: NetAllowlist, NetworkAllow: []string{"a"}, Capabilities: []string{"claude"}}
	shown := lines(Grants(base))
	var walk func(v reflect.Value, path string, at func(rc *RunConfig) reflect.Value)
	walk = func(v reflect.Value, path string, at func(rc *RunConfig) reflect.Value) {
		for i := range v.NumField() {
			f := v.Type().Field(i)
			name := strings.TrimPrefix(path+"."+f.Name, ".")
			field := func(rc *RunConfig) reflect.Value { return at(rc).Field(i) }
			if !f.IsExported() || no[name] != "" {
				continue
			}
			if f.Type.Kind() == reflect.Struct {
				walk(v.Field(i), name, field)
				continue
			}
			rc := base
			switch f := field(&rc); f.Kind() {
			case reflect.Bool:
				f.SetBool(!f.Bool())
			case reflect.Int64:
				f.SetInt(int64(time.Minute))
			case reflect.String:
				f.SetString(map[string]string{"Home": "host", "Base": "minimal", "Etc": "minimal", "WorkdirMode": "ro", "GitDir": "rw", "Proc": "bind", "Seccomp": "off", "Landlock": "off", "Network": "off"}[name])
				if f.String() == "" {
					f.SetString("/something")
				}
			case reflect.Slice:
				one := reflect.New(f.Type().Elem()).Elem()
				switch x := one.Addr().Interface().(type) {
				case *string:
					*x = "something"
				case *KV:
					*x = KV{"SOMETHING", "1"}
				case *NoopRule:
					*x = NoopRule{Words: []string{"something"}}
				case *Port:
					*x = Port{Host: 5432, Box: 5432}
				case *Credential:
					*x = Credential{Name: "lab", Hosts: []string{"lab.example"}, From: []string{"env:LAB_TOKEN"}}
				case *Mount:
					*x = Mount{Source: "/x", Dest: "/x", Mode: RW}
				default:
					t.Fatalf("%s is a list of %s: teach this test", name, one.Type())
				}
				f.Set(reflect.Append(f, one))
			default:
				t.Fatalf("%s is a %s: teach this test", name, f.Kind())
			}
			if lines(Grants(rc)) == shown {
				t.Errorf("%s: what it gives is not shown by inner allow", name)
			}
		}
	}
	walk(reflect.ValueOf(base), "", func(rc *RunConfig) reflect.Value { return reflect.ValueOf(rc).Elem() })
}

// blocking is [noop] that blocks some commands.
func blocking(commands ...string) (n Noop) {
	for _, c := range commands {
		n.Rules = append(n.Rules, NoopRule{Words: []string{c}})
	}
	return n
}

// A home that is a link has two names, and both are "~".
func TestHomeByBothNames(t *testing.T) {
	home := filepath.Join(t.TempDir(), "link")
	target := t.TempDir()
	must(t, os.Symlink(target, home))
	for _, dir := range []string{home, files.Real(target)} {
		var texts []string
		rc := RunConfig{HomeDir: home, Workdir: dir + "/src", WorkdirMode: RW, Real: map[string]string{home + "/src": files.Real(target) + "/src"}}
		for _, g := range Grants(rc) {
			texts = append(texts, g.Text)
		}
		if !slices.Contains(texts, "can change files in: ~/src") {
			t.Errorf("%q: %q", dir, texts)
		}
	}
}
