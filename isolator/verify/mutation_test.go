package verify

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/plan"
)

// plant fills the home of a world: secrets of the table, start-up files, a
// repository, a project, sockets.
func (w *world) plant() {
	w.t.Helper()
	secrets := []string{
		".ssh/id_ed25519", ".gnupg/secring.gpg", ".git-credentials", ".netrc", ".aws/credentials", ".kube/config", ".config/gh/hosts.yml",
		".npmrc", ".pypirc", ".docker/config.json", ".config/op/config", ".password-store/x.gpg", ".bash_history", ".zsh_history",
		".local/share/fish/fish_history", ".python_history", ".mozilla/profiles.ini", ".claude/settings.json", ".claude.json", ".vault-token",
		".pgpass", ".my.cnf", ".cargo/credentials.toml", ".m2/settings.xml", ".gradle/gradle.properties", ".terraform.d/credentials.tfrc.json",
		".azure/accessTokens.json", ".config/gcloud/credentials.db", ".config/helm/registry.json", ".config/rclone/rclone.conf", ".local/share/keyrings/login.keyring",
		"app/.env", "app/private/note",
	}
	for _, s := range secrets {
		w.file(s, "SECRET\n")
	}
	for _, s := range []string{".bashrc", ".profile", ".config/fish/config.fish", ".config/systemd/user/x.service", ".local/bin/tool", ".gitconfig", ".inputrc"} {
		w.file(s, "# mine\n")
	}
	w.file(".inner/profiles/mine.toml", "schema_version = \"1\"\n")
	w.file(".inner/trust/record", "trusted\n")
	w.file("app/.inner/profiles/claude.toml", "schema_version = \"1\"\n")
	w.file("app/.inner/config.toml", "")
	w.file("data/sub/deep/.inner/profiles/", "")
	w.file("data/sub/file", "data\n")
	w.file("readonly/file", "data\n")
	w.file("scratch/", "")
	for _, dir := range []string{"app", "data/repo"} {
		w.file(dir+"/", "")
		if out, err := exec.Command("git", "init", "-q", filepath.Join(w.home, dir)).CombinedOutput(); err != nil {
			w.t.Fatalf("git init: %v\n%s", err, out)
		}
	}
	l, err := net.Listen("unix", filepath.Join(w.app, "server.sock"))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { l.Close() })
}

const hostProfile = `schema_version = "1"
[sandbox]
network = false
hide = ["~/app/private"]
[mounts]
"~/.config" = "rw"
"~/data" = "rw"
[env]
inherit = ["PATH"]
[entrypoint]
cmd = "sh"
interactive = %v
[noop]
block = ["curl", "apt"]
`

const homeProfile = `schema_version = "1"
[mounts]
"~" = "rw"
[entrypoint]
cmd = "sh"
`

const isolatedProfile = `schema_version = "1"
[sandbox]
network = false
home = "isolated"
home_allow = ["~/.local/bin", "~/.gitconfig"]
[mounts]
"~/data" = "rw"
"~/readonly" = "ro"
"~/scratch" = "tmpfs"
[env]
inherit = ["PATH"]
[entrypoint]
cmd = "sh"
`

const minimalProfile = `schema_version = "1"
[sandbox]
base = "minimal"
[mounts]
"~/data" = "rw"
"~/readonly" = { dest = "/srv/readonly", mode = "ro" }
[env]
inherit = ["PATH"]
[entrypoint]
cmd = "sh"
`

// mutant is a plan with one protection taken out.
type mutant struct {
	name string
	why  string // it makes no difference
	plan plan.Plan
}

// mutants are the plan without each argument, or with what is read-only
// writable. Of arguments with one reason the first and the last are taken, which
// stand for the rest.
func mutants(p plan.Plan) []mutant {
	var out []mutant
	with := func(name string, i int, instead ...plan.Op) {
		q := p
		q.Ops = slices.Replace(slices.Clone(p.Ops), i, i+1, instead...)
		out = append(out, mutant{name, equivalent(p.Ops, i, name), q})
	}
	for i, a := range p.Ops {
		same := func(b plan.Op) bool { return b.Reason == a.Reason }
		first, last := !slices.ContainsFunc(p.Ops[:i], same), !slices.ContainsFunc(p.Ops[i+1:], same)
		if !first && !last || a.Kind == plan.OpNote {
			continue
		}
		what := strings.Join(a.Words(), " ") + "  # " + a.Reason
		with("drop "+what, i)
		if (a.Kind == plan.OpReadOnly || a.Kind == plan.OpMask) && (first || !strings.HasPrefix(a.Reason, "hidden:")) {
			writable := a
			writable.Kind = plan.OpBind
			with("writable "+what, i, writable)
		}
		// Several switches in one operation.
		if len(a.Flags) > 1 && !slices.ContainsFunc(a.Flags, func(f plan.Flag) bool { return !strings.HasPrefix(string(f), "--") }) {
			for k, f := range a.Flags {
				rest := a
				rest.Flags = slices.Delete(slices.Clone(a.Flags), k, k+1)
				with("without "+string(f)+" of "+what, i, rest)
			}
		}
	}
	both := p // either of the two is enough
	both.Ops = slices.DeleteFunc(slices.Clone(p.Ops), func(a plan.Op) bool {
		return a.Reason == "no user namespaces inside" || strings.Contains(a.Reason, "filter of system calls")
	})
	out = append(out, mutant{"neither refuses user namespaces", "", both})
	q := p
	q.Env = append(slices.Clone(p.Env), "GITHUB_TOKEN=planted")
	l := p
	l.Landlock = nil
	d := p
	dev := slices.IndexFunc(p.Ops, func(o plan.Op) bool { return o.Kind == plan.OpDev })
	d.Ops = slices.Insert(slices.Clone(p.Ops), dev+1, plan.Op{Kind: plan.OpDevice, Source: "/dev/fuse", Dest: "/dev/fuse"})
	return append(out, mutant{"a variable that was not declared", "", q}, mutant{"a device that was not declared", "", d}, mutant{"no Landlock", "", l})
}

// equivalent says why the box of this test is as tight without an argument, or
// why its absence cannot be seen from inside; or nothing.
func equivalent(ops []plan.Op, i int, name string) string {
	for _, e := range [][2]string{
		{"--cap-drop ALL", "run by a plain user bwrap drops all capabilities anyway; it is for root"},
		{"--die-with-parent of", "it cannot be seen from inside; the attack kill-launcher sees it"},
		{"# no user namespaces inside", "the filter of system calls refuses them, too"},
		{"# the home folder", "something to have, not to be kept from"},
		{"the running system", "something to have, not to be kept from"},
		{"drop --ro-bind /usr /usr", "something to have, not to be kept from"},
		{"drop --ro-bind /opt /opt", "something to have, not to be kept from"},
		{"the shim folder is empty", "an empty folder, for comfort"},
		{"nothing is added to inner's folder", "the folder is the box's own, and nobody may write it (0555)"},
	} {
		if strings.Contains(name, e[0]) {
			return e[1]
		}
	}
	o := ops[i]
	if !o.Mounts() {
		return ""
	}
	for k, b := range ops {
		switch {
		case !b.Mounts() || k == i:
		case k > i && paths.Below(b.Dest, o.Dest):
			return "a later mount lies over it: " + b.Reason
		case k < i && b.Dest == o.Dest && slices.Equal(b.Words(), o.Words()):
			return "it is there twice"
		}
	}
	if strings.HasPrefix(o.Reason, "hidden:") {
		const why = "there is nothing on this host that a plain user could read"
		switch o.Kind {
		case plan.OpTmpfs:
			if list, err := os.ReadDir(o.Dest); err != nil || len(list) == 0 {
				return why
			}
		case plan.OpMask:
			f, err := os.Open(o.Dest)
			if err != nil {
				return why
			}
			f.Close()
		}
	}
	return ""
}

// TestMutation takes each protection out of the plan in turn, and wants verify
// to go red for it.
func TestMutation(t *testing.T) {
	for _, c := range []struct {
		name, text string
		terminal   bool
	}{
		{"host", fmt.Sprintf(hostProfile, false), false},
		{"home", homeProfile, false},
		{"isolated", isolatedProfile, false},
		{"minimal", minimalProfile, false},
		{"terminal", fmt.Sprintf(hostProfile, true), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.plant()
			whole := w.depart(c.text, os.Environ())
			if l := whole.Landlock; l != nil {
				// It would refuse many of the writes, too: the mounts are judged alone.
				whole.Landlock = &plan.Landlock{Signals: l.Signals, Abstract: l.Abstract}
			}
			// Nor is anything covered again by the launcher, which would do so sooner or later, as the
			// machine is quick or slow.
			whole.Masked, whole.Protected = nil, nil
			j := job{Plan: whole, Checks: w.checks(whole), Terminal: c.terminal}
			o := j.run(t)
			if !o.Result.Started || !o.Report.Conformant {
				t.Fatalf("the plan as it is: %+v: %s", o.Result, bad(o.Report))
			}
			list := mutants(whole)
			if c.terminal { // the same mounts; what differs is how it starts
				list = list[:10]
			}
			caught := 0
			for _, m := range list {
				j.Plan = m.plan
				o := j.run(t)
				switch red := !o.Result.Started || !o.Report.Conformant; {
				case red && !o.Result.Started:
					caught++
					t.Logf("red    %s\n         cannot start: %s", m.name, o.Result.Reason)
				case red:
					caught++
					t.Logf("red    %s\n         %s", m.name, bad(o.Report))
				case m.why != "":
					t.Logf("green  %s\n         %s", m.name, m.why)
				default:
					t.Errorf("green  %s", m.name)
				}
			}
			t.Logf("%d of %d mutants caught", caught, len(list))
		})
	}
}
