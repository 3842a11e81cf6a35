package profile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/enr/inner/profile/builtin"
	"github.com/enr/inner/profile/listing"
)

// resolved is the text of a profile that extends nothing.
func resolved(p *Profile, c Context) string {
	return listing.Resolved(p.Name, append([]string{p.Path}, p.Extends()...), p.Merged(c), c.Home)
}

// loadsBack wants a profile and its resolved text to be one RunConfig, but for
// where things were written.
func loadsBack(t *testing.T, p *Profile, c Context) {
	t.Helper()
	text := resolved(p, c)
	l := Loader{Home: c.Home}
	again, err := l.LoadBytes(File{Path: p.Path, Data: []byte(text)}, p.Scope)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	want, errWant := p.Resolve(c)
	got, errGot := again.Resolve(c)
	if (errWant == nil) != (errGot == nil) {
		t.Fatalf("%v, then %v\n%s", errWant, errGot, text)
	}
	ignore := cmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(RunConfig{}), cmpopts.IgnoreFields(Mount{}, "File", "Line"), cmpopts.IgnoreFields(RunConfig{}, "Files")}
	if diff := cmp.Diff(want, got, ignore); diff != "" {
		t.Fatalf("%s\n%s", diff, text)
	}
	if strings.Join(again.Commands(), " ") != strings.Join(p.Commands(), " ") || again.When() != p.When() {
		t.Fatalf("claims %q %q, then %q %q", p.Commands(), p.When(), again.Commands(), again.When())
	}
	if diff := cmp.Diff(valuesOf(p), valuesOf(again)); diff != "" {
		t.Fatalf("%s\n%s", diff, text)
	}
}

// valuesOf is what a profile says, but for its mounts, of which replaced ones
// are not written again, and what it extends.
func valuesOf(p *Profile) []string {
	var out []string
	for _, o := range p.Origins() {
		if o.Key != "extends" && !strings.HasPrefix(o.Key, "mounts.") {
			out = append(out, o.Key+" = "+o.Value)
		}
	}
	return out
}

const sink = `V1
name = "sink"
description = "quotes \" and \\ and \u0007 and \u202e and 😀 and	tab"
[sandbox]
network_mode = "full"
allow = ["netrc"]
hide = ["*.key", "/srv/x"]
home = "isolated"
home_allow = ["~/.local/bin"]
[sandbox.limits]
memory = "512M"
pids = 77
[mounts]
"~/data" = "ro"
"~/other" = { dest = "~/src/app/data", mode = "rw" }
"/var/tmp" = "tmpfs"
"~/link-target" = {}
[env]
inherit = ["TERM", "LC_*"]
path_prepend = ["~/bin"]
[env.set]
"odd.key" = "a = b # c"
A = "$GOPATH/x"
A-B = "$$"
[git]
overrides = { "push.default" = "nothing" }
[entrypoint]
cmd = "bash"
args = ["-c", "echo \"x\"\n", ""]
history = ["one", "two"]
[output]
timeout_seconds = 60
[noop]
block = ["apt", "pip install"]
rewrite = { docker = "podman" }
[verify.custom]
checks = [{ name = "n", cmd = "true" }, { name = "m", cmd = "false", severity = "high" }]
`

func TestResolvedLoadsBack(t *testing.T) {
	w, _ := resolveWorld(t, "")
	w.write("sink", sink)
	w.write("mid", "V1\nextends = \"sink\"\n[sandbox]\nallow = [\"ssh-keys\"]\nhide = [\"-/srv/x\"]\n[mounts]\n\"~/data\" = \"rw\"\n\"~/box\" = { dest = \"~/src/app/data\", mode = \"ro\" }\n[env]\npath_prepend = [\"~/first\"]\n[entrypoint]\nargs = [\"-x\"]\n")
	w.write("local/top", "V1\nextends = \"mid\"\n[sandbox]\nnetwork = false\n[mounts]\n\"${workdir}/data\" = \"ro\"\n[shim]\ncommands = []\n[git]\nstrip_sections = []\n[env]\nset = { A = \"over\", B = \"\" }\n[verify.custom]\nchecks = [{ name = \"o\", cmd = \"x\" }]\n")
	for _, name := range []string{"sink", "mid", "top"} {
		p, err := w.load(name)
		must(t, err)
		if _, err := p.Resolve(w.context()); err != nil {
			t.Fatal(err) // two equal errors would prove nothing
		}
		loadsBack(t, p, w.context())
	}
	p, err := w.load("top")
	must(t, err)
	text := resolved(p, w.context())
	for _, want := range []string{
		"network = false # ~/src/app/.inner/profiles/top.toml:4\n",
		"  \"netrc\", # ~/.inner/profiles/sink.toml:6\n  \"ssh-keys\", # ~/.inner/profiles/mid.toml:4\n]\n",
		"A = \"over\" # ~/src/app/.inner/profiles/top.toml:12\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	for _, not := range []string{"extends =", "\n\"~/other\"", "\n\"~/box\""} { // replaced at its place by a later file
		if strings.Contains(text, not) {
			t.Errorf("%q is in\n%s", not, text)
		}
	}
}

func TestResolvedBuiltins(t *testing.T) {
	w, _ := resolveWorld(t, "")
	must(t, os.MkdirAll(filepath.Join(w.home, ".gemini"), 0o700))
	for _, name := range builtin.Names() {
		w.write(name, string(builtin.Read(name)))
		p, err := w.load(name)
		must(t, err)
		loadsBack(t, p, w.context())
	}
}

// FuzzResolved: whatever a valid profile is, its resolved text is the same one.
func FuzzResolved(f *testing.F) {
	f.Add(strings.ReplaceAll(sink, "V1\n", "schema_version = \"1\"\n"))
	f.Add(greedy)
	f.Add("schema_version = \"1\"\n[mounts]\n\"\\u0085 x\" = \"tmpfs\"\n[env.set]\n\"\\U0001f600\" = \"\\u2028\"\n[noop.message]\n\"pip install\" = \"\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "extends") {
			return
		}
		l := Loader{Home: "/nonexistent/home"}
		p, err := l.LoadBytes(File{Path: "/p.toml", Data: []byte(text)}, Global)
		if err != nil {
			return
		}
		loadsBack(t, p, Context{Home: "/nonexistent/home", InnerHome: "/nonexistent/home/.inner", Cwd: "/usr/src", Lookup: func(n string) (string, bool) { return "/" + n, n != "UNSET" }})
	})
}

// Every kind of grant knows the keys it comes from; a kind that was added and
// is not in the table would be explained without them.
func TestOriginsOf(t *testing.T) {
	w, _ := resolveWorld(t, "")
	w.write("sink", sink)
	p, err := w.load("sink")
	must(t, err)
	rc, err := p.Resolve(w.context())
	must(t, err)
	for _, g := range Grants(rc) {
		if len(p.OriginsOf(g)) == 0 {
			t.Errorf("%s (%s) comes from nowhere", g.Kind, g.Text)
		}
	}
	got := p.OriginsOf(Grant{Key: "limits"})
	want := []Origin{
		{"sandbox.limits.memory", `"512M"`, p.Path, 11},
		{"sandbox.limits.pids", `"77"`, p.Path, 12},
		{"output.timeout_seconds", "60", p.Path, 32},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
