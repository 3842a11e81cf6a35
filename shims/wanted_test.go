package shims

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/trust"
)

func (w *world) site() Site {
	return Site{InnerHome: w.home.Inner, Home: w.home.User, Path: w.path("bin"), Binary: self(w)}
}

// set writes what Wanted returns: one line per name and reason.
func (w *world) set() []string {
	w.Helper()
	set := Wanted(w.site())
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(set.Names)) {
		for _, why := range set.Names[name] {
			lines = append(lines, name+": "+strings.ReplaceAll(why.Text, w.dir, "~"))
		}
	}
	for _, err := range set.Problems {
		lines = append(lines, "!"+strings.ReplaceAll(err.Error(), w.dir, "~"))
	}
	return lines
}

func (w *world) wantSet(about string, want ...string) {
	w.Helper()
	if diff := cmp.Diff(want, w.set()); diff != "" {
		w.Errorf("%s (-want +got):\n%s", about, diff)
	}
}

func TestWanted(t *testing.T) {
	w := newWorld(t)
	w.wantSet("nothing")
	script(t, w.path("bin/claude"))
	script(t, w.path("bin/make"))
	const claude = `claude: installed agent ("~/bin/claude")`
	w.wantSet("an agent", claude)
	w.file(".inner/config.toml", "[shims]\ncodex = \"box\"\nsudo = \"box\"\n\"a/b\" = \"box\"\n")
	w.file(".inner/config.toml", "[shims]\ncodex = \"box\"\n")
	const codex = `codex: [shims] in "~/.inner/config.toml"`
	w.wantSet("a global entry", claude, codex)

	w.profile("app", "tools", shim("always", "make", "ls", "sudo-x"))
	w.wantSet("a project nobody has entered", claude, codex)
	must(t, w.home.Trust().Enter(w.path("app")))
	refused := func(name, state string) string {
		return fmt.Sprintf(`%s: claimed by profile "tools" of "~/app", to be refused (%s)`, name, state)
	}
	claimed := func(name, state string) string {
		return fmt.Sprintf(`%s: claimed by profile "tools" of "~/app" (%s)`, name, state)
	}
	w.wantSet("entered", claude, codex, refused("make", "untrusted"), refused("sudo-x", "untrusted"))
	w.allow("app")
	w.wantSet("approved", claude, codex, claimed("ls", "allowed"), claimed("make", "allowed"), claimed("sudo-x", "allowed"))
	w.profile("app", "tools", shim("always", "make", "cat", "go"))
	w.wantSet("changed", claude, codex, refused("go", "changed"), claimed("ls", "changed"), claimed("make", "changed"),
		claimed("sudo-x", "changed"))
	w.profile("app", "tools", "commands = [\"go\", \"cat\"\n")
	w.wantSet("broken", claude, codex, refused("go", "broken"), claimed("ls", "broken"), claimed("make", "broken"), claimed("sudo-x", "broken"),
		refused("tools", "broken"))
	must(t, os.Remove(w.path("app/.inner/profiles/tools.toml")))
	gone := []string{claude, codex, claimed("ls", "deleted"), claimed("make", "deleted"), claimed("sudo-x", "deleted")}
	w.wantSet("deleted", gone...)
	must(t, os.RemoveAll(w.path("app/.inner")))
	w.wantSet("all of .inner deleted", gone...)
	must(t, os.RemoveAll(w.path("app")))
	w.wantSet("the project is gone", claude, codex)
	must(t, os.Mkdir(w.path("app"), 0o700))
	w.wantSet("and back, empty", gone...)
	must(t, w.home.Trust().Deny(w.path("app"), w.path("app/.inner/profiles/tools.toml")))
	w.wantSet("denied", claude, codex, refused("make", "denied"), refused("sudo-x", "denied"))
	must(t, w.home.Trust().Revoke(w.path("app")))
	w.wantSet("revoked", claude, codex)

	// A record or a file that cannot be read.
	w.file(".inner/config.toml", "[shims]\ncodex = \n")
	w.file(".inner/trust/"+strings.Repeat("0", 64)+".json", "")
	got := w.set()
	if len(got) != 3 || got[0] != claude || !strings.HasPrefix(got[1], "!~/.inner/config.toml:2: ") ||
		got[2] != `!trust record "~/.inner/trust/`+strings.Repeat("0", 64)+`.json": unexpected end of JSON input` {
		t.Errorf("damaged: %q", got)
	}
}

// The words of an allowed profile are in its record, but for one that extends a file that need not be allowed.
func TestWantedExtends(t *testing.T) {
	w := newWorld(t)
	w.file(".inner/profiles/base.toml", shim("always", "first"))
	w.profile("app", "tools", "extends = \"base\"\nschema_version = \"1\"\n")
	w.profile("app", "escaped", "\"ext\\u0065nds\" = \"base\"\nschema_version = \"1\"\n")
	w.allow("app")
	must(t, w.home.Trust().Enter(w.path("app")))
	for _, word := range []string{"first", "second"} {
		w.file(".inner/profiles/base.toml", shim("always", word))
		w.wantSet(word, word+`: claimed by profile "escaped" of "~/app" (allowed)`, word+`: claimed by profile "tools" of "~/app" (allowed)`)
	}
}

// A project's config.toml, and projects in each other's way.
func TestWantedConfig(t *testing.T) {
	w := newWorld(t)
	w.file("app/.inner/config.toml", "[shims]\nweb = \"box\"\nls = \"box\"\n")
	w.profile("app/in", "web", toml("web"))
	must(t, w.home.Trust().Enter(w.path("app")))
	must(t, w.home.Trust().Enter(w.path("app/in")))
	must(t, w.home.Trust().Enter(w.path("app/in/none")))
	must(t, os.Mkdir(w.path("app/in/none"), 0o700))
	const in = `web: claimed by profile "web" of "~/app/in", to be refused (untrusted)`
	w.wantSet("entered", `web: claimed by profile "box" of "~/app", to be refused (untrusted)`, in)
	w.allow("app")
	w.wantSet("approved", `ls: claimed by profile "box" of "~/app" (allowed)`, `web: claimed by profile "box" of "~/app" (allowed)`, in)
	must(t, os.Remove(w.path("app/.inner/config.toml")))
	w.wantSet("gone", `ls: claimed by config.toml of "~/app" (deleted)`, `web: claimed by config.toml of "~/app" (deleted)`, in)
}

// One untrusted project gets at most so many names, an allowed one all it wants.
func TestWantedLimit(t *testing.T) {
	w := newWorld(t)
	var commands []string
	for i := range 30 {
		commands = append(commands, fmt.Sprintf("tool%02d", i))
	}
	w.profile("app", "a", shim("always", commands[:10]...))
	w.profile("app", "b", shim("always", commands...))
	w.profile("other", "a", shim("always", "zzz"))
	must(t, w.home.Trust().Enter(w.path("app")))
	must(t, w.home.Trust().Enter(w.path("other")))
	names := func() []string { return slices.Sorted(maps.Keys(Wanted(w.site()).Names)) }
	if diff := cmp.Diff(append(commands[:maxUnapproved:maxUnapproved], "zzz"), names()); diff != "" {
		t.Errorf("not allowed (-want +got):\n%s", diff)
	}
	// Whether it has a shim or not, the decision refuses it.
	w.want("beyond the limit", [3]string{"app", "tool29", `126: profile "b" of "~/app" is not allowed [inner allow]`})
	w.allow("app")
	if diff := cmp.Diff(append(commands, "zzz"), names()); diff != "" {
		t.Errorf("allowed (-want +got):\n%s", diff)
	}
}

// No file can ask for a shim that must not be.
func TestWantedReserved(t *testing.T) {
	reserved := []string{"inner", "bwrap", "sudo", "su", "doas", "login", "env", "a/b", "-x", ".", "..", "a\nb", ""}
	w := newWorld(t)
	for i, name := range reserved {
		if profile.CheckCommand(name) == nil {
			t.Errorf("%q may be claimed", name)
		}
		w.profile("app", fmt.Sprintf("p%d", i), shim("always", strings.NewReplacer("\n", `\n`).Replace(name)))
	}
	w.profile("app", "sudo", "not toml")
	// A record that somebody wrote by hand.
	f := profile.File{Path: w.path("app/.inner/profiles/gone.toml"), Digest: strings.Repeat("0", 64)}
	must(t, w.home.Trust().Allow(w.path("app"), trust.Approval{Config: &f, ConfigCommands: reserved}))
	for name, why := range Wanted(w.site()).Names {
		if contains(reserved, name) {
			t.Errorf("%q is wanted: %v", name, why)
		}
	}
	regenerate(t, w.site())
	list, err := Folder{w.home.Inner}.List()
	must(t, err)
	for _, name := range list {
		if contains(reserved, name) {
			t.Errorf("%q has a shim", name)
		}
	}
}

func TestEverydayIsNoAgent(t *testing.T) {
	for _, name := range Agents() {
		if Everyday(name) {
			t.Errorf("%q is on both lists", name)
		}
	}
}

// The names of 50 projects, as in "shim regenerate with 50 names".
func BenchmarkRegenerate50(b *testing.B) {
	w := newWorld(b)
	for i := range 50 {
		app := fmt.Sprintf("src/app%d", i)
		w.profile(app, "claude", toml("claude"))
		w.profile(app, "tool", shim("always", fmt.Sprintf("tool%d", i)))
		w.allow(app)
	}
	s := w.site()
	b.Run("unchanged", func(b *testing.B) {
		regenerate(b, s)
		for b.Loop() {
			regenerate(b, s)
		}
	})
	b.Run("all new", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			list, err := filepath.Glob(filepath.Join(s.InnerHome, "shims", "bin", "*"))
			must(b, err)
			for _, f := range list {
				must(b, os.Remove(f))
			}
			b.StartTimer()
			if r := regenerate(b, s); len(r.Added) != 51 {
				b.Fatal(words(r))
			}
		}
	})
}

// A clone cannot keep prompts and commands busy with profiles nobody has allowed:
// 400 links to one large profile, 400 of them, 70,000 keys, 70,000 claims. Its
// commands and agents still refuse.
func TestUnapprovedProfilesCostLittle(t *testing.T) {
	large := func(line string) string {
		return "schema_version = \"1\"\n[entrypoint]\ncmd = \"tool\"\n" + line
	}
	many := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for about, c := range map[string]struct {
		text string
		make func(w *world, i int, text string) // the i-th profile
	}{
		"links":         {large("[env.set]\n" + many(70000, "K%d = \"\"\n")), linkProfile},
		"valid links":   {large("#" + strings.Repeat("x", 750<<10) + "\n"), linkProfile},
		"copies":        {large("#" + strings.Repeat("x", 750<<10) + "\n"), copyProfile},
		"claims":        {large("[shim]\ncommands = [" + many(70000, "\"c%d\",") + "]\n"), copyProfile},
		"not followed":  {large("[env.set]\nA = \x01\n" + many(50000, "K%d = \"\"\n")), copyProfile},
		"small, copied": {large(""), copyProfile},
	} {
		t.Run(about, func(t *testing.T) {
			w := newWorld(t)
			for i := range 400 {
				c.make(w, i, c.text)
			}
			v := w.home.Look(profile.FindProject(w.path("app"), w.home.Inner))
			read, size := 0, 0
			for _, p := range v.Profiles {
				if !p.Unread {
					read, size = read+1, size+len(c.text)
				}
			}
			t.Logf("%d of %d profiles, %d KiB, were read", read, len(v.Profiles), size>>10)
			if size > maxUnapprovedBytes {
				t.Errorf("%d profiles, %d KiB, were read", read, size>>10)
			}
			if len(v.Profiles) != 400 || read > maxUnapprovedFiles || len(v.Uncertain) == 0 {
				t.Errorf("%d profiles, %d were read, %d are uncertain", len(v.Profiles), read, len(v.Uncertain))
			}
			for _, name := range []string{"claude", "p399"} {
				if d := Decide(Env{Home: w.home, Name: name, Cwd: w.path("app")}); d.Kind != Refuse {
					t.Errorf("%s: %s (%s)", name, d.Kind, d.Why)
				}
			}
		})
	}
}

func copyProfile(w *world, i int, text string) {
	write(w, w.path(fmt.Sprintf("app/.inner/profiles/p%d.toml", i)), text, 0o600)
}

func linkProfile(w *world, i int, text string) {
	if i == 0 {
		copyProfile(w, i, text)
		return
	}
	must(w, os.Link(w.path("app/.inner/profiles/p0.toml"), w.path(fmt.Sprintf("app/.inner/profiles/p%d.toml", i))))
}

// What a person allowed is read, however much lies beside it.
func TestApprovedProfilesAreAlwaysRead(t *testing.T) {
	w := newWorld(t)
	w.profile("app", "zz", shim("always", "tool"))
	w.allow("app")
	for i := range 2 * maxUnapprovedFiles {
		copyProfile(w, i, shim("always", fmt.Sprintf("c%d", i)))
	}
	if d := Decide(Env{Home: w.home, Name: "tool", Cwd: w.path("app")}); d.Kind != Run || d.Profile.Name != "zz" {
		t.Errorf("tool: %s %s (%s)", d.Kind, d.Reason, d.Why)
	}
	if d := Decide(Env{Home: w.home, Name: "claude", Cwd: w.path("app")}); d.Kind != Refuse {
		t.Errorf("claude: %s (%s)", d.Kind, d.Why)
	}
}
