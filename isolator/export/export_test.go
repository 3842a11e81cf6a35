package export

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/enr/inner/profile"
)

var update = flag.Bool("update", false, "write the goldens anew")

var testImage = "registry.example/agent@sha256:" + strings.Repeat("a", 64)

// load writes a profile into a folder of its own and loads it.
func load(t testing.TB, text string) *profile.Profile {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agent.toml")
	if err := os.WriteFile(path, []byte("schema_version = \"1\"\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	l := &profile.Loader{Home: "/home/me", GlobalDir: filepath.Dir(path)}
	p, err := l.Load(path, profile.Direct)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return p
}

// request is one for a target, of a run without a repository.
func request(p *profile.Profile, to Target, form Form) *Request {
	r := &Request{Profile: p, Target: to, Form: form, Image: testImage, Tasks: []Task{{}}}
	if to == Slurm {
		r.Image = ""
	}
	return r
}

// Every key of the language has a row, and no row is of another key.
func TestTableIsComplete(t *testing.T) {
	var rows []string
	for _, row := range Table() {
		rows = append(rows, row.Key)
	}
	if diff := cmp.Diff(profile.Keys(), rows); diff != "" {
		t.Errorf("the rows of Table (+) against the keys of the language (-):\n%s", diff)
	}
}

// samples are a profile for each case of the table that is refused or said in part, by key, and
// where a key has several by the number of the case: nested, slurm.
func samples() map[string][]string {
	return map[string][]string{
		"workspaces_path":        {`workspaces_path = "/srv/w"`},
		"experimental":           {`experimental = true`},
		"capabilities":           {`capabilities = ["claude"]`},
		"sync_credentials":       {"capabilities = [\"claude\"]\nsync_credentials = true"},
		"sandbox.network":        {"[sandbox]\nnetwork = true"},
		"sandbox.network_mode":   {"[sandbox]\nnetwork_mode = \"full\"", "[sandbox]\nnetwork_mode = \"ask\""},
		"sandbox.network_allow":  {"[sandbox]\nnetwork_mode = \"allowlist\"\nnetwork_allow = [\"@npm\"]"},
		"sandbox.network_deny":   {"[sandbox]\nnetwork_mode = \"allowlist\"\nnetwork_allow = [\"a.example\"]\nnetwork_deny = [\"@npm\"]"},
		"sandbox.publish":        {"[sandbox]\npublish = [\"8080:3000\"]"},
		"sandbox.host_ports":     {"[sandbox]\nhost_ports = [\"5432\"]"},
		"sandbox.clipboard":      {"[sandbox]\nclipboard = true"},
		"sandbox.devices":        {"[sandbox]\ndevices = [\"kvm\"]"},
		"sandbox.allow":          {"[sandbox]\nallow = [\"ssh-keys\"]"},
		"sandbox.base":           {"[sandbox]\nbase = \"minimal\""},
		"sandbox.workdir_mode":   {"[sandbox]\nworkdir_mode = \"none\""},
		"sandbox.writable":       {"[sandbox]\nworkdir_mode = \"ro\"\nwritable = [\"out\"]"},
		"sandbox.keep":           {"[sandbox]\nworkdir_mode = \"keep\"\nkeep = [\"out\"]"},
		"sandbox.etc":            {"[sandbox]\nbase = \"minimal\"\netc = \"minimal\""},
		"sandbox.home":           {"[sandbox]\nhome = \"own\"", "[sandbox]\nhome = \"host\""},
		"sandbox.home_name":      {"[sandbox]\nhome = \"own\"\nhome_name = \"shared\""},
		"sandbox.home_allow":     {"[sandbox]\nhome = \"isolated\"\nhome_allow = [\"~/.local/bin\"]"},
		"sandbox.hide":           {"[sandbox]\nhide = [\".env\"]"},
		"sandbox.pid_namespace":  {"[sandbox]\npid_namespace = false"},
		"sandbox.git_dir":        {"[sandbox]\ngit_dir = \"ro\"", "[sandbox]\ngit_dir = \"own\""},
		"sandbox.proc":           {"[sandbox]\nproc = \"bind\""},
		"sandbox.landlock":       {"[sandbox]\nlandlock = \"off\""},
		"sandbox.backend":        {"[sandbox]\nbackend = \"podman\"\nimage = \"x@sha256:" + strings.Repeat("a", 64) + "\"", "[sandbox]\nbackend = \"docker\"\nimage = \"x@sha256:" + strings.Repeat("a", 64) + "\""},
		"sandbox.image":          {"[sandbox]\nbackend = \"auto\"\nimage = \"x@sha256:" + strings.Repeat("a", 64) + "\""},
		"sandbox.cgroup_manager": {"[sandbox]\ncgroup_manager = \"systemd\""},
		"sandbox.limits.memory":  {"[sandbox.limits]\nmemory = \"1G\""},
		"sandbox.limits.cpu":     {"[sandbox.limits]\ncpu = \"100%\""},
		"sandbox.limits.pids":    {"[sandbox.limits]\npids = 100"},
		"sandbox.limits.disk":    {"[sandbox.limits]\ndisk = \"64M\""},
		"mounts":                 {"[mounts]\n\"~/data\" = \"safe-rw\"", "[mounts]\n\"~/data\" = \"ro\""},
		"env.clearenv":           {"[env]\nclearenv = false"},
		"env.inherit_all":        {"[env]\ninherit_all = true"},
		"env.inherit":            {"[env]\ninherit = [\"MY_TOKEN\"]"},
		"env.set":                {"[env]\nset = { API_KEY = \"sk-hidden\" }", "[env]\nset = { PLACE = \"${ELSEWHERE}/x\" }"},
		"git.strip_sections":     {"[git]\nstrip_sections = [\"credential\"]"},
		"git.overrides":          {"[git.overrides]\n\"http.extraHeader\" = \"Authorization: sk-hidden\""},
		"entrypoint.interactive": {"[entrypoint]\ninteractive = true"},
		"entrypoint.tui":         {"[entrypoint]\ntui = true"},
		"entrypoint.cursor_fix":  {"[entrypoint]\ncursor_fix = \"shell\""},
		"entrypoint.workdir":     {"[entrypoint]\nworkdir = \"/srv\""},
		"entrypoint.history":     {"[entrypoint]\nhistory = [\"bash\"]"},
		"output.summary":         {"[output]\nsummary = true"},
		"output.log":             {"[output]\nlog = \"/srv/log\""},
		"output.record":          {"[output]\nrecord = true", "[output]\nrecord = \"audit\""},
		"output.review":          {"[output]\nreview = true"},
		"noop.block":             {"[noop]\nblock = [\"apt\"]"},
		"noop.rewrite":           {"[noop]\nrewrite = { vi = \"nano\" }"},
		"noop.message":           {"[noop]\nblock = [\"apt\"]\nmessage = { apt = \"no\" }"},
		"noop.mode":              {"[noop]\nblock = [\"apt\"]\nmode = \"hard\""},
	}
}

// Each case of the table is what becomes of a profile with that key alone: what is refused gives
// 125 and no byte of output, and says the key; what is said in part is said.
func TestEachKeyAlone(t *testing.T) {
	all := samples()
	for _, row := range Table() {
		for _, target := range []struct {
			to    Target
			form  Form
			cases []Case
		}{{Kube, Nested, row.Nested}, {Slurm, Nested, row.Slurm}} {
			found := map[string]bool{}
			for _, sample := range all[row.Key] {
				r := request(load(t, sample), target.to, target.form)
				refused, said := Judge(r)
				text, err := Objects(r)
				if (len(refused) > 0) != (err != nil) || err != nil && len(text) > 0 {
					t.Errorf("%s to %s %s: refused %v, error %v, %d bytes", row.Key, target.to, target.form, refused, err, len(text))
				}
				if err == nil && strings.Contains(string(text), "sk-hidden") {
					t.Errorf("%s to %s %s: a secret is in the text", row.Key, target.to, target.form)
				}
				for _, f := range append(refused, said...) {
					if f.Key == row.Key {
						found[f.Words] = true
					}
				}
			}
			for _, c := range target.cases {
				given := c.Words == "its login is variables of the Secret; your settings of it do not travel" ||
					c.Words == "its login is variables of the Secret, its hosts are allowed; your settings of it do not travel"
				if !found[c.Words] && !given { // that one is of TestGolden
					t.Errorf("%s to %s %s: no sample comes to %q", row.Key, target.to, target.form, c.Words)
				}
			}
		}
	}
}

const agent = `description = "an agent"
capabilities = ["claude"]
[sandbox]
network_mode = "allowlist"
network_allow = ["@github", "registry.example", "10.1.2.3:8443"]
home = "own"
[sandbox.limits]
memory = "2G"
cpu = "150%"
disk = "512M"
[mounts]
"~/data" = "ro"
"/scratch" = "tmpfs"
[env]
inherit = ["LANG", "ANTHROPIC_API_KEY", "TEAM_TOKEN"]
set = { MODE = "fleet: yes\n" }
[entrypoint]
cmd = "claude"
args = ["-p"]
interactive = false
[output]
timeout_seconds = 1800
`

// full is a request with everything in it that a target takes.
func full(t testing.TB, to Target, form Form) *Request {
	r := request(load(t, agent), to, form)
	if to == Slurm {
		r.Tasks = []Task{{Prompt: "say 'it'\nand $(more)"}, {Prompt: "two"}}
		return r
	}
	r.Secrets = []Secret{{"claude", "claude-login"}}
	r.Variables = []Variable{{"TEAM_TOKEN", "team", "token"}}
	r.Volumes = []Volume{{"~/data", "data"}, {"~", "home"}}
	r.Args = []string{"--model", "$(MODEL)"}
	if to == Kube {
		r.Secrets = append(r.Secrets, Secret{"publish", "forge"})
		for i := range 2 {
			r.Tasks = append(r.Tasks, Task{fmt.Sprintf("https://git.example/%d.git", i), strings.Repeat("b", 40), fmt.Sprintf("task %d:\n do it\n", i)})
		}
		r.Tasks = r.Tasks[1:]
	}
	return r
}

func TestGolden(t *testing.T) {
	for _, target := range goldens() {
		name := string(target.to) + "-" + string(target.form)
		r := full(t, target.to, target.form)
		if err := r.Check(); err != nil {
			t.Fatal(name, err)
		}
		text, err := Objects(r)
		if err != nil {
			refused, _ := Judge(r)
			t.Fatal(name, err, refused)
		}
		again, err := Objects(full(t, target.to, target.form))
		if err != nil || !bytes.Equal(text, again) {
			t.Errorf("%s: exported twice, the bytes differ (%v)", name, err)
		}
		file := filepath.Join("testdata", name+target.ext)
		if *update {
			if err := os.WriteFile(file, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(text)); diff != "" {
			t.Errorf("%s (-update writes it anew):\n%s", name, diff)
		}
	}
}

type golden struct {
	to   Target
	form Form
	ext  string
}

func goldens() []golden {
	return []golden{{Kube, Nested, ".yaml"}, {Slurm, Nested, ".bash"}}
}

// What is wrong with a request is said before anything is judged.
func TestCheck(t *testing.T) {
	p := load(t, "[mounts]\n\"~/data\" = \"ro\"")
	commit := strings.Repeat("b", 40)
	for _, c := range []struct {
		change func(*Request)
		want   string
	}{
		{func(*Request) {}, ""},
		{func(r *Request) { r.Image = "" }, "--image is missing"},
		{func(r *Request) { r.Image = "registry.example/agent:latest" }, "has no digest"},
		{func(r *Request) { r.Image = "registry.example/agent:latest@sha256:" + strings.Repeat("A", 64) }, "has no digest"},
		{func(r *Request) { r.Target = "nomad" }, "not one of kube"},
		{func(r *Request) { r.Form = "bare" }, "is not nested"},
		{func(r *Request) { r.Name = "Upper" }, "no name of an object"},
		{func(r *Request) { r.Secrets = []Secret{{"nobody", "x"}} }, "--secret nobody"},
		{func(r *Request) { r.Secrets = []Secret{{"publish", "x"}} }, "and a repository"},
		{func(r *Request) { r.Variables = []Variable{{"A B", "x", "y"}} }, "--secret-env"},
		{func(r *Request) { r.Volumes = []Volume{{"~/other", "x"}} }, "--volume"},
		{func(r *Request) { r.Volumes = []Volume{{"~/data", "x"}} }, ""},
		{func(r *Request) { r.Tasks = []Task{{Repo: "https://me:pw@git.example/x", Commit: commit}} }, "a login"},
		{func(r *Request) { r.Tasks = []Task{{Repo: "ssh://git.example/x", Commit: commit}} }, "not an https"},
		{func(r *Request) { r.Tasks = []Task{{Repo: "https://git.example/x", Commit: "main"}} }, "not a whole commit"},
		{func(r *Request) { r.Tasks = []Task{{Prompt: strings.Repeat("x", maxText)}} }, "a ConfigMap holds"},
		{func(r *Request) { r.Target = Slurm }, "--image"},
	} {
		r := request(p, Kube, Nested)
		c.change(r)
		err := r.Check()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", r, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), ":pw@") {
			t.Errorf("the password is in the error: %v", err)
		}
	}
}

// The built-in profiles are exported, or every key that is in the way is named.
func TestBuiltIns(t *testing.T) {
	dir := "../../profile/builtin"
	files, err := filepath.Glob(dir + "/*.toml")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		p, err := (&profile.Loader{Home: "/home/me", GlobalDir: dir}).Load(file, profile.Global)
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range []golden{{to: Kube, form: Nested}, {to: Slurm, form: Nested}} {
			r := request(p, target.to, target.form)
			refused, _ := Judge(r)
			text, err := Objects(r)
			if (len(refused) == 0) != (err == nil) || (len(text) == 0) != (err != nil) {
				t.Errorf("%s to %s %s: refused %v, error %v, %d bytes", file, target.to, target.form, refused, err, len(text))
			}
			keys := profile.Keys()
			for _, f := range refused {
				if !slices.Contains(keys, f.Key) {
					t.Errorf("%s: %q is no key", file, f.Key)
				}
			}
		}
	}
}
