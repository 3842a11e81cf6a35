package export

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/enr/inner/internal/fault"
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
func request(p *profile.Profile, to Target) *Request {
	return &Request{Profile: p, Target: to, Image: testImage, Tasks: []Task{{}}}
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

// samples are a profile for each case of the table that is refused or said in part, by key.
func samples(t *testing.T) map[string][]string {
	data, err := os.ReadFile("../../profile/testdata/keys.txtar")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, part := range strings.Split("\n"+string(data), "\n-- ")[1:] {
		key, text, _ := strings.Cut(part, " --\n")
		out[key] = append(out[key], text)
	}
	out["credentials"] = append(out["credentials"], "[credentials]\ncodex = true\n") // an agent's, as in built-in profiles
	return out
}

// Each case of the table is what becomes of a profile with that key alone: what is refused gives
// 125 and no byte of output, and says the key; what is said in part is said.
func TestEachKeyAlone(t *testing.T) {
	all := samples(t)
	for _, row := range Table() {
		for _, target := range Targets() {
			found, alone := map[string]bool{}, map[string]bool{}
			for _, sample := range all[row.Key] {
				r := request(load(t, sample), target)
				refused, said := Judge(r)
				text, err := Objects(r)
				var refusal *fault.Refusal
				if (len(refused) > 0) != (errors.As(err, &refusal) && refusal.Code == 125) || (len(text) > 0) != (err == nil) {
					t.Errorf("%s to %s: refused %v, error %v, %d bytes", row.Key, target, refused, err, len(text))
				}
				if again, _ := Objects(request(load(t, sample), target)); !bytes.Equal(text, again) {
					t.Errorf("%s to %s: exported twice, the bytes differ", row.Key, target)
				}
				if strings.Contains(fmt.Sprint(string(text), err, refused, said), "sk-hidden") {
					t.Errorf("%s to %s: a secret is in the text", row.Key, target)
				}
				others := slices.ContainsFunc(refused, func(f Finding) bool { return f.Key != row.Key })
				for _, f := range append(refused, said...) {
					if f.Key == row.Key {
						found[f.Words], alone[f.Words] = true, alone[f.Words] || !others || f.Verdict == Partly
					}
				}
			}
			for words := range found {
				with := []string{"sandbox.keep", "sandbox.workdir_mode", "sandbox.backend"} // which the language takes with another one
				if !alone[words] && !slices.Contains(with, row.Key) {
					t.Errorf("%s to %s: no sample is refused for %q alone", row.Key, target, words)
				}
			}
			for _, c := range row.cases(target) {
				given := c.Words == "its login is variables of the Secret; your settings of it do not travel"
				if !found[c.Words] && !given { // those are of TestGolden
					t.Errorf("%s to %s: no sample comes to %q", row.Key, target, c.Words)
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
func full(t testing.TB, to Target) *Request {
	r := request(load(t, agent), to)
	if to == Podman {
		r.Profile = load(t, strings.Replace(agent, "memory = \"2G\"\ncpu = \"150%\"\n", "", 1))
		r.Tasks = []Task{{Prompt: "task 0:\n do it\n"}, {Prompt: "$(HOME)"}}
	}
	if to == AgentSandbox {
		r.Tasks = []Task{{Prompt: "serve\n"}}
	}
	r.Secrets = []Secret{{"claude", "claude-login"}}
	r.Variables = []Variable{{Var: "TEAM_TOKEN", Name: "team", Key: "token"}}
	r.Volumes = []Volume{{"~/data", "data"}, {"~", "home"}}
	r.Args = []string{"--model", "two words"}
	if to == Kube {
		r.Args = append(r.Args, "$(MODEL)")
		r.Secrets = append(r.Secrets, Secret{"publish", "forge"})
		for i := range 2 {
			r.Tasks = append(r.Tasks, Task{fmt.Sprintf("https://git.example/%d.git", i), strings.Repeat("b", 40), fmt.Sprintf("task %d:\n do it\n", i)})
		}
		r.Tasks = r.Tasks[1:]
	}
	return r
}

func TestGolden(t *testing.T) {
	for _, target := range Targets() {
		name := string(target)
		r := full(t, target)
		if err := r.Check(); err != nil {
			t.Fatal(name, err)
		}
		text, err := Objects(r)
		if err != nil {
			refused, _ := Judge(r)
			t.Fatal(name, err, refused)
		}
		again, err := Objects(full(t, target))
		if err != nil || !bytes.Equal(text, again) {
			t.Errorf("%s: exported twice, the bytes differ (%v)", name, err)
		}
		compare(t, name+".yaml", text)
	}
}

// compare compares a text with a golden file.
func compare(t *testing.T, name string, text []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
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
		{func(r *Request) { r.Name = "Upper" }, "not the name of an object"},
		{func(r *Request) { r.Secrets = []Secret{{"nobody", "x"}} }, "--secret nobody"},
		{func(r *Request) { r.Secrets = []Secret{{"publish", "x"}} }, "and a repository"},
		{func(r *Request) { r.Variables = []Variable{{Var: "A B", Name: "x", Key: "y"}} }, "--secret-env"},
		{func(r *Request) { r.Volumes = []Volume{{"~/other", "x"}} }, "--volume"},
		{func(r *Request) { r.Volumes = []Volume{{"~/data", "x"}} }, ""},
		{func(r *Request) { r.Tasks = []Task{{Repo: "https://me:pw@git.example/x", Commit: commit}} }, "a login"},
		{func(r *Request) { r.Tasks = []Task{{Repo: "ssh://git.example/x", Commit: commit}} }, "not an https"},
		{func(r *Request) { r.Tasks = []Task{{Repo: "https://git.example/x", Commit: "main"}} }, "not a whole commit"},
		{func(r *Request) { r.Tasks = []Task{{Prompt: strings.Repeat("x", maxText)}} }, "a ConfigMap holds"},
		{func(r *Request) { r.Target, r.Args = Podman, []string{"$HOME"} }, "takes no $"},
		{func(r *Request) { r.Target, r.Args = Podman, []string{"a b"} }, ""},
		{func(r *Request) { r.Target = AgentSandbox }, ""},
		{func(r *Request) { r.Target, r.Tasks = AgentSandbox, make([]Task, 2) }, "takes one task"},
		{func(r *Request) { r.Target, r.Tasks = AgentSandbox, []Task{{"https://git.example/x", commit, ""}} }, "takes no repository"},
	} {
		r := request(p, Kube)
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
		for _, target := range Targets() {
			r := request(p, target)
			refused, _ := Judge(r)
			text, err := Objects(r)
			if (len(refused) == 0) != (err == nil) || (len(text) == 0) != (err != nil) {
				t.Errorf("%s to %s: refused %v, error %v, %d bytes", file, target, refused, err, len(text))
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

// Objects with other bytes in their ConfigMap do not share its name with the earlier ones, of
// which a node may have kept the bytes.
func TestOtherBytesHaveAnotherName(t *testing.T) {
	for _, to := range []Target{Kube, Podman} {
		names := map[string]bool{}
		for _, prompt := range []string{"one", "two"} {
			r := full(t, to)
			for i := range r.Tasks {
				r.Tasks[i].Prompt = prompt
			}
			text, err := Objects(r)
			if err != nil {
				t.Fatal(err)
			}
			_, after, _ := strings.Cut(string(text), "kind: ConfigMap\nmetadata:\n  name: ")
			name, _, _ := strings.Cut(after, "\n")
			if names[name] || !strings.Contains(string(text), "        name: "+name+"\n") && !strings.Contains(string(text), "      name: "+name+"\n") {
				t.Errorf("%s: the ConfigMap %q is an earlier one, or no pod has it", to, name)
			}
			names[name] = true
		}
	}
}

// TestTexts: a reader of YAML gets each text as it was given, be it of the signs that YAML has a meaning for.
func TestTexts(t *testing.T) {
	signs := []string{"", "a", " ", "\t", "\n", "\r", ":", "#", "-", "---", "\"", "'", "\\", "|", "~", "yes", "1", "0x1", ".", "{", "&", "*", "!", "%", "@", "`", "\x07", "\u2028", "\ufeff", "é"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 4000 {
		var text strings.Builder
		for range random.IntN(6) {
			text.WriteString(signs[random.IntN(len(signs))])
		}
		var got struct{ Before, Text, After string }
		data, err := yamlOf("before: x\ntext: " + strconv.QuoteToASCII(text.String()) + "\nafter: y\n")
		if err := errors.Join(err, yaml.Unmarshal(data, &got)); err != nil || got.Text != text.String() || got.Before != "x" || got.After != "y" {
			t.Fatalf("%q: %v, %q, as\n%s", text.String(), err, got, data)
		}
	}
}

// An agent's login needs nothing of this computer but the login, which is variables there.
func TestLoginOfAnAgent(t *testing.T) {
	for login, want := range map[string]bool{`claude = "clone"`: false, "claude = true": false, "github = true": true} {
		refused, _ := Judge(request(load(t, "capabilities = [\"claude\"]\n[sandbox]\nnetwork_mode = \"allowlist\"\n[credentials]\n"+login+"\n"), Targets()[0]))
		if got := slices.ContainsFunc(refused, func(f Finding) bool { return f.Key == "credentials" }); got != want {
			t.Errorf("%s: %v", login, refused)
		}
	}
}
