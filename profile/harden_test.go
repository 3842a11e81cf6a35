package profile

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/enr/inner/profile/strict"
)

// Something is said of every key: a new key of the language is not let through because nobody
// thought of it.
func TestRulesAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range slices.Concat(generalRules(), networkRules(), sandboxRules(), limitRules(), environmentRules(), programRules()) {
		if r.remote == nil {
			t.Errorf("%s: what does a profile from a URL get of it?", r.key)
		}
		if seen[r.key] {
			t.Errorf("%s has two rows", r.key)
		}
		seen[r.key] = true
	}
}

const greedy = `schema_version = "1"
description = "greedy"
workspaces_path = "/srv/theirs"
sync_credentials = true
[sandbox]
network_mode = "allowlist"
network_allow = ["example.com", "127.0.0.1:5432", "10.0.0.0/8"]
publish = ["8080:3000"]
host_ports = ["5432:15432"]
clipboard = true
devices = ["kvm"]
hide = ["secret", "!secret"]
allow = ["ssh-keys", "nested-user-ns", "docker-socket"]
home = "own"
home_allow = ["~/.local/bin", "$GOPATH/bin"]
git_dir = "rw"
proc = "bind"
seccomp = "off"
landlock = "off"
[credentials]
claude = true
codex = "clone"
github = true
lab = { hosts = ["lab.example"], from = "env:LAB" }
[mounts]
"~/data" = "rw"
"$GOPATH" = "ro"
"${workdir}/.env" = { allow = "env-files" }
"~/other" = { dest = "/srv/${USER}", mode = "ro" }
"~/made" = { mode = "rw", missing = "create" }
[env]
clearenv = false
inherit = ["TERM", "API_TOKEN", "LC_*"]
set = { A = "$HOME/x", STOLEN = "pre-${API_TOKEN}", U = "${UID}", PRICE = "$$5" }
path_prepend = ["~/bin", "${GOROOT}/bin"]
[entrypoint]
cmd = "bash"
workdir = "~/.ssh"
[output]
log = "/srv/log"
timeout_seconds = 5
`

func TestHarden(t *testing.T) {
	w := newWorld(t, nil)
	p, err := w.loader.LoadBytes(File{Path: "https://example.com/greedy.toml", Data: []byte(greedy)}, Remote)
	must(t, err)
	if p.Name != "greedy" || p.Scope != Remote {
		t.Errorf("name %q, scope %q", p.Name, p.Scope)
	}
	hard, lines := p.Harden()
	want := []string{
		`workspaces_path = "/srv/theirs" is ignored: a remote profile does not choose where folders are created`,
		`sync_credentials = true is ignored: a login is not written back`,
		`sandbox.network_allow: "127.0.0.1:5432" is dropped: the services of your computer and your network stay yours`,
		`sandbox.network_allow: "10.0.0.0/8" is dropped: the services of your computer and your network stay yours`,
		`sandbox.publish: "8080:3000" is dropped: nothing of it listens on your computer`,
		`sandbox.host_ports: "5432:15432" is dropped: the services of your computer stay yours`,
		`credentials.codex is dropped: your logins stay yours`,
		`credentials.github is dropped: your logins stay yours`,
		`credentials.lab is dropped: your logins stay yours`,
		`sandbox.clipboard = true is ignored: the clipboard stays yours`,
		`sandbox.devices: "kvm" is dropped: the devices of your computer stay yours`,
		`sandbox.allow: "ssh-keys" is dropped: it stays hidden`,
		`sandbox.allow: "docker-socket" is dropped: it stays hidden`,
		`sandbox.allow: "no-seccomp" is dropped: this layer stays on`,
		`sandbox.allow: "no-landlock" is dropped: this layer stays on`,
		`sandbox.allow: "host-proc" is dropped: this layer stays on`,
		`sandbox.home = "own" becomes "isolated": nothing of its home stays`,
		`sandbox.home_allow: "$GOPATH/bin" is dropped: a remote profile knows HOME, USER and UID, not GOPATH`,
		`sandbox.hide: "!secret" is dropped: what is hidden stays hidden`,
		`sandbox.git_dir = "rw" is ignored: what it changes in git is checked`,
		`mounts."~/made": missing = "create" is ignored: a remote profile makes no folders`,
		`mounts."$GOPATH" is dropped: a remote profile knows HOME, USER and UID, not GOPATH`,
		`mounts."${workdir}/.env" is dropped: it stays hidden`,
		`env.clearenv = false is ignored: your environment stays outside`,
		`env.inherit: "API_TOKEN" is dropped: it looks like a secret`,
		`env.set.STOLEN is dropped: a remote profile knows HOME, USER and UID, not API_TOKEN`,
		`env.path_prepend: "${GOROOT}/bin" is dropped: a remote profile knows HOME, USER and UID, not GOROOT`,
		`entrypoint.workdir = "~/.ssh" is ignored: it works where you are`,
		`output.log = "/srv/log" is ignored: the log is kept where your others are`,
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
	s := &hard.src
	if got := s.Value("sandbox.allow").Texts(); !slices.Equal(got, []string{"nested-user-ns"}) {
		t.Errorf("allow %q", got)
	}
	if got := s.Value("env.inherit").Texts(); !slices.Equal(got, []string{"TERM", "LC_*"}) {
		t.Errorf("inherit %q", got)
	}
	if got := keysOf(s.Value("env.set").Items); !slices.Equal(got, []string{"A", "U", "PRICE"}) {
		t.Errorf("set %q", got)
	}
	if got := keysOf(s.Value("mounts").Items); !slices.Equal(got, []string{"~/data", "~/other", "~/made"}) {
		t.Errorf("mounts %q", got)
	}
	if got := keysOf(s.Value("credentials").Items); !slices.Equal(got, []string{"claude"}) {
		t.Errorf("credentials %q", got)
	}
	if s.Value("env.clearenv").Set || s.Value("output.log").Set || s.Value("entrypoint.workdir").Set || s.Value("sandbox.network_mode").V != "allowlist" || s.Value("output.timeout_seconds").V != "5" {
		t.Error("a reset key is there, or a kept one is not")
	}
	if len(s.Value("sandbox.publish").Items)+len(s.Value("sandbox.host_ports").Items) > 0 {
		t.Error("ports are left")
	}
	if len(p.src.Value("sandbox.allow").Items) != 6 || len(p.src.Value("env.set").Items) != 4 {
		t.Error("Harden changed the profile it was given")
	}
}

func TestHardenNothing(t *testing.T) {
	w := newWorld(t, nil)
	p, err := w.loader.LoadBytes(File{Path: "https://example.com/p.toml", Data: []byte("schema_version = \"1\"\n[sandbox]\ngit_dir = \"ro\"\n")}, Remote)
	must(t, err)
	if hard, lines := p.Harden(); len(lines) > 0 || hard.src.Value("sandbox.git_dir").V != "ro" {
		t.Error(lines)
	}
}

// A remote profile builds on the user's own ones by name, and what those grant
// is hardened with it.
func TestRemoteExtends(t *testing.T) {
	w := newWorld(t, map[string]string{"mine": "V1\n[sandbox]\nallow = [\"ssh-keys\"]\n[env]\nset = { T = \"$GOPATH\" }\n", "local/mine": "V1\n[sandbox]\nnetwork = true\n"})
	load := func(extends string) (*Profile, error) {
		return w.loader.LoadBytes(File{Path: "https://example.com/p.toml", Data: []byte("schema_version = \"1\"\nextends = \"" + extends + "\"\n")}, Remote)
	}
	p, err := load("mine")
	must(t, err)
	if len(p.Extends()) != 1 || p.Extends()[0] != w.inner+"/profiles/mine.toml" {
		t.Error(p.Extends())
	}
	hard, lines := p.Harden()
	if len(lines) != 2 || len(hard.src.Value("sandbox.allow").Items) != 0 || len(hard.src.Value("env.set").Items) != 0 {
		t.Error(lines)
	}
	for _, file := range []string{"~/x.toml", "./x.toml", "/etc/x.toml", w.inner + "/profiles/mine.toml", "https://example.com/q.toml"} {
		if _, err := load(file); err == nil || !strings.Contains(err.Error(), "https://example.com/p.toml:2: extends: ") || !strings.Contains(err.Error(), "is a file") {
			t.Errorf("extends %q: %v", file, err)
		}
	}
}

// What the hardening cannot drop is an error: an expansion never sees more of
// the environment than it may.
func TestRemoteExpansion(t *testing.T) {
	w := newWorld(t, nil)
	p, err := w.loader.LoadBytes(File{Path: "https://example.com/p.toml", Data: []byte("schema_version = \"1\"\n[sandbox]\nhide = [\"$GOPATH/x\"]\n[env]\nset = { A = \"$HOME\" }\n")}, Remote)
	must(t, err)
	hard, _ := p.Harden()
	c := w.context()
	c.Project, c.Cwd = "", w.project
	if _, err = hard.Resolve(c); err == nil || !strings.Contains(err.Error(), `p.toml:3: sandbox.hide: variable "GOPATH" is not set`) {
		t.Error(err)
	}
}

func keysOf(items []strict.Item) []string {
	return eachOf(items, func(it strict.Item) string { return it.Key })
}
