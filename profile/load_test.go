package profile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/enr/inner/profile/strict"
)

// world is a home with global profiles and a project, made from a txtar-like
// map: names without a slash are global profiles, "local/NAME" are the
// project's, anything else is a path below the home.
type world struct {
	t                    testing.TB
	home, inner, project string
	loader               Loader
	replaceHome          *strings.Replacer
}

func newWorld(t testing.TB, files map[string]string) *world {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	w := &world{t: t, home: filepath.Join(base, "h")}
	w.inner, w.project = filepath.Join(w.home, ".inner"), filepath.Join(w.home, "src/app")
	for _, dir := range []string{w.inner + "/profiles", w.project + "/.inner/profiles"} {
		must(t, os.MkdirAll(dir, 0o700))
	}
	for name, text := range files {
		w.write(name, text)
	}
	w.loader = Loader{Home: w.home, GlobalDir: filepath.Join(w.inner, "profiles"), Project: FindProject(w.project, w.inner)}
	w.replaceHome = strings.NewReplacer(w.inner+"/profiles/", "G/", w.project+"/.inner/profiles/", "L/", w.home, "~")
	return w
}

func (w *world) write(name, text string) string {
	w.t.Helper()
	path := filepath.Join(w.home, name)
	switch rest, local := strings.CutPrefix(name, "local/"); {
	case local:
		path = filepath.Join(w.project, ".inner/profiles", rest+".toml")
	case !strings.Contains(name, "/"):
		path = filepath.Join(w.inner, "profiles", name+".toml")
	}
	must(w.t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(w.t, os.WriteFile(path, []byte(strings.ReplaceAll(text, "V1\n", "schema_version = \"1\"\n")), 0o600))
	return path
}

func (w *world) load(name string) (*Profile, error) {
	path, scope, err := w.loader.Find(name)
	if err != nil {
		return nil, err
	}
	return w.loader.Load(path, scope)
}

// short makes an error independent of where the world is.
func (w *world) short(err error) string {
	if err == nil {
		return ""
	}
	return w.replaceHome.Replace(err.Error())
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// One fault per line: the text of a profile, and the whole error.
func TestLoadFaults(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"V1\n", ""},
		{"", `G/p.toml:1: schema_version: is missing (add schema_version = "1" at the top)`},
		{"schema_version = \"2\"", `G/p.toml:1: schema_version: is "2", this version of inner reads only "1"`},
		{"V1\nname = \"a\"\nname = \"b\"", `G/p.toml:3: name: is written twice (first on line 2)`},
		{"schema_version = 1", "G/p.toml:1: schema_version: wants a string, is a whole number (write \"1\")"},
		{"V1\nname = \"a/b\"", `G/p.toml:2: name: profile name "a/b" has more than letters, digits, dots, hyphens and underscores`},
		{"V1\n[sandbox]\nnetwrok = true\nhome = \"isolatd\"", "G/p.toml:3: sandbox.netwrok: unknown key (did you mean \"network\"?)\nG/p.toml:4: sandbox.home: \"isolatd\" is not one of \"host\", \"own\", \"isolated\" (did you mean \"isolated\"?)"},
		{"V1\n[sandbox]\nallow = [\"ssh-keys\", \"ssh_keys\"]", `G/p.toml:3: sandbox.allow: unknown name "ssh_keys" (did you mean "ssh-keys"?)`},
		{"V1\n[sandbox]\nallow = [\n\"-ssh-keys\"]", `G/p.toml:4: sandbox.allow: "-ssh-keys" removes nothing: no profile this one extends lists "ssh-keys"`},
		{"V1\ncapabilities = [\"claud\"]", `G/p.toml:2: capabilities: unknown name "claud" (did you mean "claude"?)`},
		{"V1\n[sandbox]\nnetwork = false\nnetwork_mode = \"full\"", `G/p.toml:4: sandbox.network_mode: "full" contradicts network = false (line 3) (keep one of them)`},
		{"V1\n[sandbox]\nnetwork = true\nnetwork_mode = \"allowlist\"", ""},
		{"V1\n[sandbox]\nnetwork_allow = [\"api.example.com\", \"*.example.com:8443\", \"10.0.0.1\", \"@npm\", \"10.0.0.0/8\", \"[::1]:8080\", \"localhost:5432\"]", ""},
		{"V1\n[sandbox]\nnetwork_allow = [\"!127.0.0.1\", \"127.0.0.1\"]", `G/p.toml:3: sandbox.network_allow: "127.0.0.1" is this computer itself, of which a box has single ports: write them into host_ports`},
		{"V1\n[sandbox]\nnetwork_allow = [\"!10.0.0.0/8\"]", `G/p.toml:3: sandbox.network_allow: "10.0.0.0/8" has a path or a range: write one host`},
		{"V1\n[sandbox]\nnetwork_allow = [\"!exämple.com\"]", `G/p.toml:3: sandbox.network_allow: "exämple.com" has letters beyond ASCII: write the xn-- form`},
		{"V1\n[sandbox]\nnetwork_allow = [\"a.*.com\", \"x:0\", \"http://x\", \"@x\"]", "G/p.toml:3: sandbox.network_allow: \"a.*.com\" has a * that is not the whole first label\nG/p.toml:3: sandbox.network_allow: \"x:0\" has the port \"0\": a port is 1 to 65535\nG/p.toml:3: sandbox.network_allow: \"http://x\" is an address of a page: write the host alone\nG/p.toml:3: sandbox.network_allow: \"@x\" is not a group: there are @crates @debian @github @gitlab @go @maven @npm @pypi"},
		{"V1\n[sandbox]\nnetwork_allow = [\"!@nmp\"]", `G/p.toml:3: sandbox.network_allow: "@nmp" is not a group: there are @crates @debian @github @gitlab @go @maven @npm @pypi (did you mean "@npm"?)`},
		{"V1\n[sandbox]\nnetwork_mode = \"asks\"", "G/p.toml:3: sandbox.network_mode: \"asks\" is not one of \"off\", \"full\", \"allowlist\", \"ask\" (did you mean \"ask\"?)"},
		{"V1\n[sandbox]\npublish = [\"3000\", \"80:8080\", \"65535:1\"]\nhost_ports = [\"5432\", \"80:8080\"]", ""},
		{"V1\n[sandbox]\npublish = [\"0\", \"65536\", \"x\", \"1:2:3\", \":3\", \"+1\", \"3000-3010\", \"08\"]", "G/p.toml:3: sandbox.publish: \"0\" is not a port from 1 to 65535 (write it like \"3000\", or \"8080:3000\" for port 8080 of this computer and 3000 of the box)\nG/p.toml:3: sandbox.publish: \"65536\" is not a port from 1 to 65535 (write it like \"3000\", or \"8080:3000\" for port 8080 of this computer and 3000 of the box)\nG/p.toml:3: sandbox.publish: \"x\" is not a port from 1 to 65535 (write it like \"3000\", or \"8080:3000\" for port 8080 of this computer and 3000 of the box)\nG/p.toml:3: sandbox.publish: \"1:2:3\" is not a port from 1 to 65535 (write it like \"3000\", or \"8080:3000\" for port 8080 of this computer and 3000 of the box)\nG/p.toml:3: sandbox.publish: \":3\" is not a port from 1 to 65535 (write it like \"3000\", or \"8080:3000\" for port 8080 of this computer and 3000 of the box)\nG/p.toml:3: sandbox.publish: \"+1\" is not a port from 1 to 65535 (write it like \"3000\", or \"8080:3000\" for port 8080 of this computer and 3000 of the box)\nG/p.toml:3: sandbox.publish: \"3000-3010\" is not a port from 1 to 65535 (write it like \"3000\", or \"8080:3000\" for port 8080 of this computer and 3000 of the box)\nG/p.toml:3: sandbox.publish: \"08\" is not a port from 1 to 65535 (write it like \"3000\", or \"8080:3000\" for port 8080 of this computer and 3000 of the box)"},
		{"V1\n[sandbox]\npublish = [\"8080:61080\"]\nhost_ports = [\"61080\", \"80\"]", "G/p.toml:3: sandbox.publish: \"8080:61080\": port 61080 of a box is inner's own\nG/p.toml:4: sandbox.host_ports: \"61080\": port 61080 of a box is inner's own\nG/p.toml:4: sandbox.host_ports: \"80\": in a box nobody can listen below port 1024 (\"80:8080\" makes it port 8080 of the box)"},
		{"V1\n[sandbox.limits]\nmemory = \"2G\"\ncpu = \"150%\"\npids = 100\nfiles = \"64\"\nfile_size = 1.5", ""},
		{"V1\n[sandbox]\nlimits_required = false\n[sandbox.limits]\nmemory = \"1.5GiB\"\ncpu = 0.5\ndisk = \"100KB\"", ""},
		{"V1\n[sandbox.limits]\ncpu = \"0.1%\"\nfiles = 15\ndisk = \"9999999T\"\nlimits_required = true", "G/p.toml:3: sandbox.limits.cpu: \"0.1%\" is not an amount of CPU (write it like \"150%\" or \"1.5\")\nG/p.toml:4: sandbox.limits.files: \"15\" is too few to start a program with (16 or more)\nG/p.toml:5: sandbox.limits.disk: \"9999999T\" is not a size (write it like \"512M\" or \"2G\")\nG/p.toml:6: sandbox.limits.limits_required: unknown key (\"limits_required\" belongs in [sandbox])"},
		{"V1\n[sandbox.limits]\nmemory = \"2X\"\ncpu = \"fast\"\npids = 0\nfile_size = -1", "G/p.toml:3: sandbox.limits.memory: \"2X\" is not a size (write it like \"512M\" or \"2G\")\nG/p.toml:4: sandbox.limits.cpu: \"fast\" is not an amount of CPU (write it like \"150%\" or \"1.5\")\nG/p.toml:5: sandbox.limits.pids: \"0\" is not a number above 0\nG/p.toml:6: sandbox.limits.file_size: \"-1\" is not a size (write it like \"512M\" or \"2G\")"},
		{"V1\n[sandbox]\nhide = [\"a[\"]\nhome_allow = [\" \"]", "G/p.toml:3: sandbox.hide: \"a[\" is not a valid pattern: \"[\" begins a class that is not closed, or is empty; \"\\[\" is the character, \"\\]\" the one in a class\nG/p.toml:4: sandbox.home_allow: contains an empty item"},
		{"V1\n[mounts]\n\"/a\" = \"rx\"\n\"/b\" = { dest = \"\" }\n\"\" = \"ro\"", "G/p.toml:3: mounts.\"/a\": \"rx\" is not one of \"ro\", \"rw\", \"safe-rw\", \"tmpfs\" (did you mean \"ro\"?)\nG/p.toml:4: mounts.\"/b\": dest is empty (leave it out to mount at the same path)\nG/p.toml:5: mounts.\"\": the path is empty"},
		{"V1\n[env]\nclearenv = true\ninherit_all = true", `G/p.toml:4: env.inherit_all: true contradicts clearenv = true (line 3) (keep one of them)`},
		{"V1\n[env]\nclearenv = false\ninherit_all = true", ""},
		{"V1\n[env]\ninherit = [\"LC_*\", \"A-B\", \"*\"]", "G/p.toml:3: env.inherit: \"A-B\" is not the name of a variable\nG/p.toml:3: env.inherit: \"*\" is every variable (write clearenv = false)"},
		{"V1\n[env.set]\n\"A=B\" = \"\"\nINNER_HOME = \"/x\"\n\"\" = \"\"", "G/p.toml:3: env.set.\"A=B\": is not the name of a variable\nG/p.toml:4: env.set.INNER_HOME: variables of this name are inner's own\nG/p.toml:5: env.set.\"\": a variable needs a name"},
		{"V1\n[env]\npath_prepend = [\"/a:/b\", \"\"]", "G/p.toml:3: env.path_prepend: \"/a:/b\" contains a colon (one folder for each item)\nG/p.toml:3: env.path_prepend: contains an empty item"},
		{"V1\n[git.overrides]\n\"url.https://x/.insteadOf\" = \"it's\\n\\\"x\\\"\"\n\"a_b.c\" = \"\"\n\"include.path\" = \"x\"\n\"a.b\" = \"\\u0000\"", "G/p.toml:4: git.overrides.\"a_b.c\": \"a_b\" is not the name of a section (write it like \"push.default\")\nG/p.toml:5: git.overrides.\"include.path\": includes are resolved before, and never written (write it like \"push.default\")\nG/p.toml:6: git.overrides.\"a.b\": contains a NUL character"},
		{"V1\n[git.overrides]\n\"push.default\" = \"nothing\"\npush = \"x\"", `G/p.toml:4: git.overrides.push: is not a git key (write it like "push.default")`},
		{"V1\n[entrypoint]\ncmd = \"bin/x\"\ncursor_fix = \"shel\"", "G/p.toml:3: entrypoint.cmd: \"bin/x\" is neither a bare name nor an absolute path\nG/p.toml:4: entrypoint.cursor_fix: \"shel\" is not one of \"\", \"newlines\", \"shell\" (did you mean \"shell\"?)"},
		{"V1\n[entrypoint]\nhistory = [\"ls\\nrm\"]", `G/p.toml:3: entrypoint.history: "ls\nrm" contains a control character`},
		{"V1\n[output]\ntimeout_seconds = -1", `G/p.toml:3: output.timeout_seconds: -1 is not between 0 (no limit) and 315360000`},
		{"V1\n[output]\ntimeout_seconds = 9223372036854775807", `G/p.toml:3: output.timeout_seconds: 9223372036854775807 is not between 0 (no limit) and 315360000`},
		{"V1\n[shim]\ncommands = [\"sudo\", \"a/b\", \"-x\", \"\", \"..\", \"claude\"]\nwhen = \"never\"", "G/p.toml:3: shim.commands: command \"sudo\" may not be claimed\nG/p.toml:3: shim.commands: command \"a/b\" contains a slash\nG/p.toml:3: shim.commands: command \"-x\" begins with a dash\nG/p.toml:3: shim.commands: a command name is empty\nG/p.toml:3: shim.commands: \"..\" is not a command\nG/p.toml:4: shim.when: \"never\" is not one of \"always\", \"tty\", \"pipe\""},
		{"V1\n[verify.custom]\nchecks = [{ name = \"a\", cmd = \"true\", severity = \"low\" }, { cmd = \"x\" }]", "G/p.toml:3: verify.custom.checks.severity: \"low\" is not one of \"critical\", \"high\", \"medium\", \"info\"\nG/p.toml:3: verify.custom.checks: a check needs a name"},
		{"V1\n[noop]\nblock = [\"a/b\", \".\", \"\", \"pip install\", \"x\\u0007\"]", "G/p.toml:3: noop.block: command \"a/b\" contains a slash\nG/p.toml:3: noop.block: \".\" is not a command\nG/p.toml:3: noop.block: a command name is empty\nG/p.toml:3: noop.block: command \"x\\a\" contains a control character"},
		{"V1\n[noop.rewrite]\ndocker = \"podman\"\na = \"x; y\"\nb = \"./x\"\nc = \"\"\nd = \"/bin/x -q\"", "G/p.toml:4: noop.rewrite.a: the replacement \"x; y\" must be plain words: it is not run by a shell\nG/p.toml:5: noop.rewrite.b: the replacement \"./x\" is neither a bare name nor an absolute path\nG/p.toml:6: noop.rewrite.c: the replacement is empty"},
		{"V1\n[noop]\nblock = [\"docker\"]\nrewrite = { docker = \"podman\" }", `G/p.toml:4: noop.rewrite.docker: "docker" is blocked too (line 3)`},
		{"V1\n[noop]\nblock = [\"podman\"]\nrewrite = { docker = \"podman\" }", `G/p.toml:4: noop.rewrite.docker: the replacement "podman" is blocked (line 3)`},
		{"V1\n[noop]\nblock = [\"npm i\"]\nrewrite = { \"npm  i\" = \"pnpm add\", npm = \"pnpm\" }", `G/p.toml:4: noop.rewrite."npm  i": "npm i" is blocked too`},
		{"V1\n[noop]\nmode = \"hard\"\nblock = [\"apt\"]\n[noop.rewrite]\ne = \"apt\"", `G/p.toml:3: noop.mode: is no more: what is blocked is in front of PATH, also in the shells bash, sh, zsh and fish (remove the line)`},
		{"V1\n[sandbox]\npid_namespace = false\nseccomp = \"strict\"\nhome_name = \"x\"", `G/p.toml:3: sandbox.pid_namespace: is no more: every box has processes of its own (remove the line)` + "\n" +
			`G/p.toml:4: sandbox.seccomp: is no more: there is one filter of system calls (remove the line)` + "\n" +
			`G/p.toml:5: sandbox.home_name: is no more: a home belongs to one project (remove the line)`},
		{"V1\n[sandbox]\nlandlock = \"required\"\nseccomp = \"maybe\"", `G/p.toml:4: sandbox.seccomp: "maybe" is not one of "default", "strict"`},
		{"V1\n[noop]\nblock = [\"pip\", \"pip3\", \"pip install\"]\nmessage = { pip = \"no\", uv = \"no\" }", `G/p.toml:4: noop.message.uv: no rule of that name is in block or rewrite`},
		{"V1\nextends = \"nope\"", `G/p.toml:2: extends: no profile is called "nope"`},
		{"V1\nextends = \"pp\"", `G/p.toml:2: extends: no profile is called "pp" (did you mean "p"?)`},
		{"V1\nextends = \"p\"", `G/p.toml:2: extends: "~/.inner/profiles/p.toml" extends itself: p.toml → p.toml`},
		{"V1\nextends = \"~root/x\"", `G/p.toml:2: extends: "~root/x": only your own home can be written with "~/"`},
		{"V1\nextends = \"./gone.toml\"", `G/p.toml:2: extends: "~/.inner/profiles/gone.toml" cannot be read: no such file or directory`},
		{"V1\nextends = \"/dev/null\"", `G/p.toml:2: extends: "/dev/null" is a device, not a regular file`},
		{"V1\nextends = \"\"\nx = 1\n= 2", "G/p.toml:4: invalid character at start of key: U+003D '='"},
	} {
		w := newWorld(t, map[string]string{"p": c.text})
		_, err := w.load("p")
		if diff := cmp.Diff(strings.ReplaceAll(c.want, "~/.inner/profiles/", "G/"), w.short(err)); diff != "" {
			t.Errorf("%s\n%s", c.text, diff)
		}
	}
}

// A file of nothing but faults, or of thousands of mounts, costs little and says
// little.
func TestLoadBounds(t *testing.T) {
	for name, text := range map[string]string{
		"keys":   manyLines("key%d = 1\n", 5000),
		"names":  "V1\n[sandbox]\nallow = [\n" + manyLines("\"ssh%d\",\n", 5000) + "]",
		"values": "V1\n[env.set]\n" + manyLines("A%d = 1\n", 5000),
	} {
		w := newWorld(t, map[string]string{"p": text})
		_, err := w.load("p")
		if n := strings.Count(w.short(err), "\n"); n != 100-1 {
			t.Errorf("%s: %d lines", name, n+1)
		}
	}
	half := manyLines("\"/%d\" = \"tmpfs\"\n", maxMounts)
	w := newWorld(t, map[string]string{
		"many": "V1\n[mounts]\n" + half + "\"/x\" = \"tmpfs\"", "b": "V1\n[mounts]\n" + half, "c": "V1\nextends = \"b\"\n[mounts]\n\"/x\" = \"tmpfs\"",
	})
	for name, want := range map[string]string{
		"many": `G/many.toml:2: mounts: has 257 entries, more than 256`,
		"b":    "",
		"c":    `G/c.toml:3: mounts: 257 entries along extends, more than 256`,
	} {
		if _, err := w.load(name); w.short(err) != want {
			t.Errorf("%s: %q", name, w.short(err))
		}
	}
}

func manyLines(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// The manual's minimal example, and its longer one for the other sections.
func TestLoadManual(t *testing.T) {
	const text = `schema_version = "1"
name           = "python-sandbox"
description    = "Isolated Python environment, no network"
extends = ""
experimental = false
[sandbox]
network = false
allow = ["podman-socket", "nested-user-ns"]
[mounts]
"~/projects/myapp" = { dest = "/workspace", mode = "rw" }
"~/shared/data"    = { dest = "/data",      mode = "ro" }
"/tmp/build"       = { dest = "${workspaces_path}/x/y/z", mode = "safe-rw" }
"${workdir}/src" = { dest = "/workspace/src", mode = "rw" }
[env]
clearenv = true
inherit  = ["TERM", "LANG", "HOME"]
set      = { "PYTHONDONTWRITEBYTECODE" = "1", "DOCKER_HOST" = "unix:///run/user/${UID}/podman/podman.sock" }
[git]
strip_sections = ["credential", "url"]
overrides      = { "push.default" = "nothing" }
[entrypoint]
cmd         = "bash"
interactive = true
tui        = false
cursor_fix = "shell"
history     = [
  "git status",
  "claude --dangerously-skip-permissions",
]
[output]
timeout_seconds = 3600
[noop]
block = ["pip", "pip3", "pip install"]
rewrite = { "docker" = "podman", "docker-compose" = "podman-compose" }
[verify.custom]
checks = [
  { name = "no-aws-creds",  cmd = "test ! -f /root/.aws/credentials", severity = "critical" },
  { name = "no-kubeconfig", cmd = "test ! -f /root/.kube/config",     severity = "high"     },
]
`
	w := newWorld(t, map[string]string{"python": text})
	p, err := w.load("python")
	must(t, err)
	if p.Name != "python" || p.Description != "Isolated Python environment, no network" || p.Program() != "bash" || p.When() != "always" {
		t.Errorf("%+v", p)
	}
	if diff := cmp.Diff([]string{"bash"}, p.Commands()); diff != "" {
		t.Error(diff)
	}
}

func TestCommands(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"[entrypoint]\ncmd = \"/opt/x/claude\"", []string{"claude"}},
		{"[entrypoint]\ncmd = \"sudo\"", nil},
		{"[shim]\ncommands = []\n[entrypoint]\ncmd = \"claude\"", nil},
		{"[shim]\ncommands = [\"a\", \"b\"]\n[entrypoint]\ncmd = \"claude\"", []string{"a", "b"}},
	} {
		w := newWorld(t, map[string]string{"p": "V1\n" + c.text})
		p, err := w.load("p")
		must(t, err)
		if diff := cmp.Diff(c.want, p.Commands()); diff != "" {
			t.Errorf("%s: %s", c.text, diff)
		}
	}
}

const base = `V1
description = "base"
experimental = true
capabilities = ["claude"]
[shim]
commands = ["one"]
when = "tty"
[sandbox]
network = true
allow = ["ssh-keys", "netrc"]
home_allow = ["~/a", "~/b"]
[mounts]
"~/x" = "rw"
"~/y" = { dest = "/y" }
[env]
inherit = ["A", "B"]
set = { X = "1", Y = "2" }
path_prepend = ["/p", "/q"]
[entrypoint]
cmd = "claude"
args = ["-a"]
tui = true
history = ["one"]
[output]
timeout_seconds = 3600
[noop]
block = ["apt", "pip install"]
message = { apt = "no" }
[verify.custom]
checks = [{ name = "b", cmd = "true" }]
`

// What a child makes of the base above, field by field.
func TestMerge(t *testing.T) {
	texts := func(l *strict.Value) string { return strings.Join(l.Texts(), " ") }
	for _, c := range []struct {
		child string
		get   func(s *source) string
		want  string
	}{
		{"", func(s *source) string {
			return fmt.Sprint(s.Value("sandbox.network").On(), s.Value("entrypoint.tui").On(), s.Value("experimental").On())
		}, "true true true"},
		{"[sandbox]\nnetwork = false\n[entrypoint]\ntui = false", func(s *source) string {
			return fmt.Sprint(s.Value("sandbox.network").On(), s.Value("entrypoint.tui").On())
		}, "false false"},
		{"description = \"\"", func(s *source) string {
			return fmt.Sprintf("%q %t", s.Value("description").V, s.Value("description").Set)
		}, `"" true`},
		{"[sandbox]\nnetwork_mode = \"off\"", func(s *source) string {
			return fmt.Sprint(s.Value("sandbox.network").Set, s.Value("sandbox.network_mode").V)
		}, "falseoff"},
		{"[sandbox]\nallow = [\"docker-socket\", \"netrc\"]", func(s *source) string { return texts(s.Value("sandbox.allow")) }, "ssh-keys netrc docker-socket"},
		{"[sandbox]\nallow = [\"-ssh-keys\", \"gpg-keys\"]", func(s *source) string { return texts(s.Value("sandbox.allow")) }, "netrc gpg-keys"},
		{"[sandbox]\nallow = []", func(s *source) string { return texts(s.Value("sandbox.allow")) }, "ssh-keys netrc"},
		{"[sandbox]\nhome_allow = [\"-~/a\"]", func(s *source) string { return texts(s.Value("sandbox.home_allow")) }, "~/b"},
		{"capabilities = [\"gemini\", \"gemini\"]", func(s *source) string { return texts(s.Value("capabilities")) }, "claude gemini"},
		{"[env]\npath_prepend = [\"/q\", \"/r\"]", func(s *source) string { return texts(s.Value("env.path_prepend")) }, "/q /r /p"},
		{"[env]\nset = { Y = \"3\", Z = \"4\" }", func(s *source) string { return fmt.Sprint(Pairs(*s.Value("env.set"))) }, "[{X 1} {Y 3} {Z 4}]"},
		{"[mounts]\n\"~/z\" = \"ro\"\n\"~/x\" = \"ro\"", func(s *source) string {
			out := ""
			for _, e := range s.Value("mounts").Items {
				out += e.Key + "=" + e.Text + " "
			}
			return out
		}, "~/x=ro ~/y= ~/z=ro "},
		{"[entrypoint]\nargs = []", func(s *source) string { return texts(s.Value("entrypoint.args")) }, ""},
		{"[entrypoint]\nargs = [\"-b\"]", func(s *source) string { return texts(s.Value("entrypoint.args")) }, "-b"},
		{"[entrypoint]\nhistory = [\"two\"]", func(s *source) string { return texts(s.Value("entrypoint.history")) }, "one two"},
		{"[shim]\ncommands = []", func(s *source) string { return texts(s.Value("shim.commands")) + s.Value("shim.when").V }, "tty"},
		{"[noop]\nblock = [\"-apt\"]", func(s *source) string { return fmt.Sprint(noopOf(s)) }, "{[pip install]}"},
		{"[[verify.custom.checks]]\nname = \"c\"\ncmd = \"true\"", func(s *source) string {
			return fmt.Sprint(len(s.Value("verify.custom.checks").Items)) + s.Value("verify.custom.checks").Items[0].Text
		}, "2b"},
		{"name = \"own\"", func(s *source) string { return s.Value("name").V }, "own"},
	} {
		w := newWorld(t, map[string]string{"base": base, "p": "V1\nextends = \"base\"\n" + c.child})
		p, err := w.load("p")
		if err != nil {
			t.Errorf("%s: %v", c.child, err)
			continue
		}
		if got := c.get(&p.src); got != c.want {
			t.Errorf("%s: got %q, want %q", c.child, got, c.want)
		}
	}
}

func TestEmptyChildChangesNothing(t *testing.T) {
	w := newWorld(t, map[string]string{"base": base, "child": "V1\nextends = \"base\""})
	b, err := w.load("base")
	must(t, err)
	c, err := w.load("child")
	must(t, err)
	sameSettings(t, b.src, c.src)
	if c.Files[0].Path == c.Files[1].Path || len(c.Files) != 2 || c.Files[1].Digest != b.Files[0].Digest {
		t.Errorf("files: %v", c.Files)
	}
}

func sameSettings(t *testing.T, a, b source) {
	t.Helper()
	said := func(s source) (list []strict.Key) {
		for _, k := range s.Keys() {
			if k.Name != "schema_version" && k.Name != "extends" {
				list = append(list, k)
			}
		}
		return list
	}
	if diff := cmp.Diff(said(a), said(b), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

func TestExtends(t *testing.T) {
	ok := "V1\ndescription = \"found\"\n"
	for _, c := range []struct{ name, extends, want string }{
		{"by name: global only", "g", "found"},
		{"home", "~/my-base.toml", "found"},
		{"relative to the file", "../../shared/b.toml", "found"},
		{"relative, below", "./sub/c.toml", "found"},
		{"the global one of the same name", "local", "found"},
	} {
		w := newWorld(t, map[string]string{
			"g": ok, "local": ok, "x/my-base.toml": ok, "local/local": "V1\nextends = \"" + c.extends + "\"",
			"src/app/shared/b.toml": ok, "local/sub/c": ok, "local/g": "V1\ndescription = \"wrong\"",
		})
		must(t, os.Rename(filepath.Join(w.home, "x/my-base.toml"), filepath.Join(w.home, "my-base.toml")))
		p, err := w.load("local")
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if p.Description != c.want || p.Scope != Local {
			t.Errorf("%s: %q %s", c.name, p.Description, p.Scope)
		}
	}
}

// A bare word in extends is a global profile, also where the project has one of that name.
func TestExtendsOwnByName(t *testing.T) {
	w := newWorld(t, map[string]string{"local/base": "V1\n", "local/child": "V1\nextends = \"base\""})
	_, err := w.load("child")
	if err == nil || !strings.Contains(err.Error(), `no global profile is called "base" (the project's own is written "./base.toml")`) {
		t.Errorf("%v", err)
	}
}

func TestExtendsChains(t *testing.T) {
	files := map[string]string{}
	for i := range 40 {
		files[fmt.Sprintf("c%d", i)] = fmt.Sprintf("V1\nextends = \"c%d\"", i+1)
	}
	files["c40"] = "V1\n"
	files["a"], files["b"] = "V1\nextends = \"b\"", "V1\nextends = \"~/alias/a.toml\""
	files["bad"], files["worse"] = "V1\nextends = \"worse\"\nx = 1", "V1\ny = 1"
	files["rewrites"], files["blocks"] = "V1\n[noop.rewrite]\ndocker = \"podman\"", "V1\nextends = \"rewrites\"\n[noop]\nblock = [\"podman\"]"
	w := newWorld(t, files)
	must(t, os.Symlink(filepath.Join(w.inner, "profiles"), filepath.Join(w.home, "alias")))
	for _, c := range []struct{ name, want string }{
		{"c8", ""},
		{"c7", `G/c39.toml:2: extends: "G/c7.toml" builds on more than 32 files`},
		{"a", `G/b.toml:2: extends: "~/alias/a.toml" extends itself: a.toml → b.toml → a.toml`},
		{"bad", "G/bad.toml:3: x: unknown key\nG/worse.toml:2: y: unknown key"},
		{"blocks", `G/rewrites.toml:3: noop.rewrite.docker: the replacement "podman" is blocked (G/blocks.toml:4)`},
	} {
		_, err := w.load(c.name)
		if diff := cmp.Diff(c.want, w.short(err)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestFind(t *testing.T) {
	w := newWorld(t, map[string]string{"shell": "V1\n", "both": "V1\n", "local/both": "V1\n", "local/mine": "V1\n"})
	for _, c := range []struct{ name, want, problem string }{
		{"shell", "G/shell.toml global", ""},
		{"both", "L/both.toml local", ""},
		{"mine", "L/mine.toml local", ""},
		{"shel", "", `no profile is called "shel" (did you mean "shell"?)`},
		{"shell.toml", "", `no profile is called "shell.toml" (did you mean "shell"?)`},
		{"min", "", `no profile is called "min" (did you mean "mine"?)`},
		{"../shell", "", `profile name "../shell" has more than letters, digits, dots, hyphens and underscores`},
		{"", "", "a profile name is empty"},
		{"-x", "", `profile name "-x" begins with '-'`},
		{"a\nb", "", `profile name "a\nb" has more than letters, digits, dots, hyphens and underscores`},
	} {
		path, scope, err := w.loader.Find(c.name)
		got := ""
		if err == nil {
			got = w.replaceHome.Replace(path) + " " + string(scope)
		}
		if got != c.want || w.short(err) != c.problem {
			t.Errorf("Find(%q) = %q, %q", c.name, got, w.short(err))
		}
	}
	// A folder that may not be used does not give way to the global profile.
	must(t, os.Chmod(w.project+"/.inner", 0o777))
	w.loader.Project = FindProject(w.project, w.inner)
	_, _, err := w.loader.Find("both")
	if want := `profile "L/both.toml" is not used: "~/src/app/.inner" can be changed by everyone (mode 0777)`; w.short(err) != want {
		t.Errorf("got %q", w.short(err))
	}
	if _, scope, err := w.loader.Find("shell"); err != nil || scope != Global {
		t.Errorf("shell: %v %v", scope, err)
	}
}

// What the version before said in other words is read as they are now, from a base, too, and each line is told.
func TestFormerKeys(t *testing.T) {
	w := newWorld(t, map[string]string{
		"base": "V1\n[sandbox]\nseccomp = \"off\"\nlandlock = \"off\"\nproc = \"bind\"\nhome = \"host-ro\"\ngit_dir = \"own\"\n" +
			"network_mode = \"allowlist\"\nnetwork_deny = [\"a.example\", \"b.example\"]\npid_namespace = true\ncgroup_manager = \"\"\n[env]\ninherit_all = true\n[noop]\nmode = \"path\"",
		"child": "V1\nextends = \"base\"\n[sandbox]\nseccomp = \"default\"\nproc = \"fresh\"\nnetwork_deny = [\"-a.example\"]",
	})
	must(t, os.MkdirAll(w.context().Cwd, 0o755))
	for name, want := range map[string]string{
		"base":  "off off bind host checked [a.example b.example] true 11",
		"child": "default off fresh host checked [b.example] true 13",
	} {
		p, err := w.load(name)
		must(t, err)
		rc, err := p.Resolve(w.context())
		must(t, err)
		told := 0
		for _, at := range rc.Warnings() {
			if strings.HasPrefix(at.Msg, "is read as") || at.Msg == "says nothing any more" {
				told++
			}
		}
		got := fmt.Sprint(rc.Seccomp, " ", rc.Landlock, " ", rc.Proc, " ", rc.Home, " ", rc.GitDir, " ", rc.NetworkDeny, " ", rc.Env.InheritAll, " ", told)
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
