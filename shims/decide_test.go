package shims

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/trust"
)

// world is a home folder and whatever a test puts in it.
type world struct {
	testing.TB
	dir  string
	home Home
}

func newWorld(t testing.TB) *world {
	t.Helper()
	dir := tempDir(t)
	w := &world{t, dir, Home{Inner: filepath.Join(dir, ".inner"), User: dir}}
	must(t, os.Mkdir(w.home.Inner, 0o700))
	return w
}

// path is a path below the home folder.
func (w *world) path(rel string) string { return filepath.Join(w.dir, rel) }

// file writes a file below the home folder.
func (w *world) file(rel, content string) {
	w.Helper()
	write(w, w.path(rel), content, 0o600)
}

// toml is a profile that runs cmd; lines are put before its first table.
func toml(cmd string, lines ...string) string {
	return "schema_version = \"1\"\n" + strings.Join(append(lines, ""), "\n") + "[entrypoint]\ncmd = \"" + cmd + "\"\n"
}

// shim is the [shim] of a profile.
func shim(when string, commands ...string) string {
	return fmt.Sprintf("schema_version = \"1\"\n[shim]\nwhen = %q\ncommands = [\"%s\"]\n", when, strings.Join(commands, `", "`))
}

// profile writes a profile of a project.
func (w *world) profile(project, name, content string) {
	w.Helper()
	w.file(filepath.Join(project, ".inner", "profiles", name+".toml"), content)
}

// look is the view of the project that a folder lies in.
func (w *world) look(rel string) *View {
	w.Helper()
	p := profile.FindProject(w.path(rel), w.home.Inner)
	if p == nil {
		w.Fatalf("no project at %q", rel)
	}
	return w.home.Look(p)
}

// allow allows profiles of a project, or all of them and its config.toml.
func (w *world) allow(rel string, names ...string) {
	w.Helper()
	v := w.look(rel)
	var words []string
	if v.Config.Config != nil {
		words = v.Config.Claims()
	}
	if len(v.Profiles) == 0 {
		must(w, w.home.Trust().Allow(v.Root, trust.Approval{Config: v.Config.File, ConfigCommands: words}))
	}
	for _, p := range v.Profiles {
		if len(names) == 0 && p.Profile != nil || contains(names, p.Name) {
			must(w, w.home.Trust().Allow(v.Root, trust.Approval{Profile: p.Profile, Config: v.Config.File, ConfigCommands: words}))
		}
	}
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

func (w *world) decide(cwd, name string, tty bool) Decision {
	w.Helper()
	return Decide(Env{Home: w.home, Name: name, Cwd: w.path(cwd), StdinTTY: tty, Marker: w.path("no-marker")})
}

// line is a decision in one line, with the home folder written as ~.
func (w *world) line(d Decision) string {
	s := ""
	switch d.Kind {
	case Run:
		project := "-"
		if d.Project != nil {
			project = d.Project.Root
		}
		s = fmt.Sprintf("run %s for %s", d.Profile.Path, project)
	case PassThrough:
		s = "pass: " + d.Why
	default:
		s = fmt.Sprintf("%d: %s [%s]", d.ExitCode, d.Reason, d.Hint)
	}
	return strings.ReplaceAll(s, w.dir, "~")
}

// want checks decisions: folder, command (with "| " before it for a call whose
// standard input is no terminal), decision.
func (w *world) want(about string, table ...[3]string) {
	w.Helper()
	for _, row := range table {
		name, pipe := strings.CutPrefix(row[1], "| ")
		if got := w.line(w.decide(row[0], name, !pipe)); got != row[2] {
			w.Errorf("%s: %s in ~/%s:\n got %s\nwant %s", about, row[1], row[0], got, row[2])
		}
	}
}

const none = "pass: no profile claims it"

func TestDecide(t *testing.T) {
	w := newWorld(t)
	must(t, os.MkdirAll(w.path("app/pkg/deep"), 0o700))
	must(t, os.MkdirAll(w.path("application"), 0o700))
	w.want("no project", [3]string{"app", "claude", none})

	w.profile("app", "claude", toml("claude"))
	w.profile("app", "tools", shim("always", "make", "ls", "bash"))
	const untrusted = `126: profile "claude" of "~/app" is not allowed [inner allow]`
	const everyday = `pass: profile "tools" of "~/app" claims it, and is not allowed (untrusted); everyday tools are not guarded for it`
	w.want("not allowed",
		[3]string{"app", "claude", untrusted},
		[3]string{"app/pkg/deep", "| claude", untrusted},
		[3]string{"app/.inner/profiles", "claude", untrusted},
		[3]string{"app", "make", `126: profile "tools" of "~/app" is not allowed [inner allow]`},
		[3]string{"app", "ls", everyday},
		[3]string{"app", "bash", everyday},
		[3]string{"app", "codex", none},
		[3]string{"application", "claude", none},
		[3]string{"", "claude", none},
	)

	w.allow("app")
	const run = "run ~/app/.inner/profiles/claude.toml for ~/app"
	w.want("approved",
		[3]string{"app", "claude", run},
		[3]string{"app/pkg/deep", "claude", run},
		[3]string{"app", "ls", "run ~/app/.inner/profiles/tools.toml for ~/app"},
		[3]string{"app", "bash", "run ~/app/.inner/profiles/tools.toml for ~/app"},
		[3]string{"app", "codex", none},
		[3]string{"application", "claude", none},
	)

	w.profile("app", "tools", shim("always", "make", "ls", "git", "go"))
	const changed = `126: profile "tools" of "~/app" changed since it was allowed (".inner/profiles/tools.toml") [inner allow]`
	w.want("edited",
		[3]string{"app", "make", changed},
		[3]string{"app", "ls", changed},   // still, though an everyday tool: the user relies on it
		[3]string{"app", "bash", changed}, // taken out by the edit, guarded all the same
		[3]string{"app", "go", changed},
		[3]string{"app", "git", `pass: profile "tools" of "~/app" claims it, and is not allowed (changed); everyday tools are not guarded for it`},
		[3]string{"app", "claude", run},
	)
	w.profile("app", "tools", "schema_version = \"1\"\nnonsense\n[shim]\ncommands = [\"go\", \"git\"]\n")
	broken := w.line(w.decide("app", "make", true))
	if !strings.HasPrefix(broken, `126: profile "tools" of "~/app" is not valid: ~/app/.inner/profiles/tools.toml:2: `) ||
		!strings.HasSuffix(broken, " [inner profile validate tools]") || strings.Contains(broken, "\n") {
		t.Errorf("broken: %s", broken)
	}
	w.want("broken",
		[3]string{"app", "ls", broken},
		[3]string{"app", "bash", broken},
		[3]string{"app", "go", broken},
		[3]string{"app", "claude", run},
		[3]string{"app", "git", strings.Replace(everyday, "untrusted", "broken", 1)},
		// It may be in the part that cannot be read.
		[3]string{"app", "codex", `126: "codex" may be claimed in "~/app": ` + strings.TrimSuffix(strings.SplitN(broken, "not valid: ", 2)[1], " [inner profile validate tools]") + ` [inner status]`},
		[3]string{"app", "cargo", none},
	)
	w.profile("app", "tools", toml("make", "nonsense = 1", "more = 2"))
	w.want("broken twice", [3]string{"app", "make", `126: profile "tools" of "~/app" is not valid: ~/app/.inner/profiles/tools.toml:2: nonsense: unknown key (and 1 more) [inner profile validate tools]`})
	must(t, os.Remove(w.path("app/.inner/profiles/tools.toml")))
	const gone = `126: profile "tools" of "~/app" was allowed and its file is gone [bring back ~/app/.inner/profiles/tools.toml]`
	w.want("deleted", [3]string{"app", "make", gone}, [3]string{"app", "ls", gone}, [3]string{"app", "go", none}, [3]string{"app", "claude", run})
	must(t, os.Rename(w.path("app/.inner"), w.path("app/.inner.bak")))
	const goneAll = `126: profile "tools" of "~/app" was allowed and its file is gone [bring back ~/app/.inner/profiles/tools.toml]`
	const goneToo = `126: profile "claude" of "~/app" was allowed and its file is gone [cd ~/app && inner init claude]`
	w.want(".inner deleted", [3]string{"app/pkg", "make", goneAll}, [3]string{"app/pkg/deep", "claude", goneToo}, [3]string{"app", "codex", none})
	must(t, os.Mkdir(w.path("app/.inner"), 0o700))
	w.want(".inner empty", [3]string{"app/pkg", "make", goneAll}, [3]string{"app/pkg/deep", "claude", goneToo})
	must(t, os.Remove(w.path("app/.inner")))
	must(t, os.Rename(w.path("app/.inner.bak"), w.path("app/.inner")))
	w.want(".inner back", [3]string{"app", "claude", run})

	// A copy is another project.
	must(t, exec.Command("cp", "-a", w.path("app"), w.path("copy")).Run())
	w.want("a copy", [3]string{"copy", "claude", `126: profile "claude" of "~/copy" is not allowed [inner allow]`})
	must(t, os.Rename(w.path("app"), w.path("moved")))
	must(t, os.Rename(w.path("copy"), w.path("app")))
	w.want("another folder at the allowed path, same bytes", [3]string{"app", "claude", run})
	w.want("the allowed folder elsewhere", [3]string{"moved", "claude", `126: profile "claude" of "~/moved" is not allowed [inner allow]`})

	must(t, w.home.Trust().Deny(w.path("app"), w.path("app/.inner/profiles/claude.toml")))
	const denied = `126: profile "claude" of "~/app" was denied [inner allow]`
	w.want("denied", [3]string{"app", "claude", denied})
	w.profile("app", "claude", toml("claude", `description = "x"`))
	w.want("denied and edited", [3]string{"app", "claude", denied})
	must(t, w.home.Trust().Revoke(w.path("app")))
	w.want("revoked", [3]string{"app", "claude", untrusted}, [3]string{"app", "make", none})
}

// What cannot be a project's word on a command.
func TestDecideRefusals(t *testing.T) {
	w := newWorld(t)
	w.profile("app", "claude", toml("claude"))
	w.allow("app")
	plain := Env{Home: w.home, Name: "claude", Cwd: w.path("app"), Marker: w.path("no-marker")}
	for _, c := range []struct {
		about  string
		change func(*Env)
		want   string
	}{
		{"nothing", func(*Env) {}, "run ~/app/.inner/profiles/claude.toml for ~/app"},
		{"a marker anybody can write", func(e *Env) { w.file("marker", "x"); e.Marker = w.path("marker") }, "run ~/app/.inner/profiles/claude.toml for ~/app"},
		{"a folder as marker", func(e *Env) { e.Marker = w.path("app") }, "run ~/app/.inner/profiles/claude.toml for ~/app"},
		{"setuid", func(e *Env) { e.SetID = true }, `126: "claude" was called with the rights of another user []`},
		{"no home", func(e *Env) { e.Home.User = "" }, `126: "claude": HOME is not set and no home folder is known [export HOME=...]`},
		{"no INNER_HOME", func(e *Env) { e.Home.Inner = "" }, `126: "claude": HOME is not set and no home folder is known [export HOME=...]`},
		{"no working folder", func(e *Env) { e.CwdErr = syscall.ENOENT }, `126: "claude": the working folder cannot be named: no such file or directory [cd]`},
		{"reserved", func(e *Env) { e.Name = "sudo" }, `126: "sudo" cannot be a shim: command "sudo" may not be claimed [inner shim regenerate]`},
		{"odd", func(e *Env) { e.Name = "a\nb" }, `126: "a\nb" cannot be a shim: command "a\nb" contains a control character [inner shim regenerate]`},
	} {
		e := plain
		c.change(&e)
		if got := w.line(Decide(e)); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.about, got, c.want)
		}
	}

	// A record that cannot be read.
	entries, err := filepath.Glob(w.path(".inner/trust/*.json"))
	must(t, err)
	must(t, os.WriteFile(entries[0], []byte("{"), 0o600))
	damaged := fmt.Sprintf(`: what was allowed for "~/app" cannot be read: trust record %q: unexpected end of JSON input [inner allow ~/app]`,
		strings.Replace(entries[0], w.dir, "~", 1))
	w.want("a damaged record",
		[3]string{"app", "claude", `126: "claude"` + damaged},
		[3]string{"app", "make", `126: "make"` + damaged},
		[3]string{"", "make", none})
	must(t, os.RemoveAll(w.path("app/.inner")))
	damaged = strings.Replace(damaged, "[inner allow ~/app]", "[bring back ~/app/.inner, then inner allow --forget and inner allow ~/app]", 1)
	w.want("a damaged record of what is gone", [3]string{"app", "claude", `126: "claude"` + damaged})
}

// Between several profiles of one project.
func TestDecideBetween(t *testing.T) {
	at := func(name string) string { return "run ~/app/.inner/profiles/" + name + ".toml for ~/app" }
	for _, c := range []struct {
		about    string
		profiles map[string]string
		allow    []string
		tty, not string // the decision with and without a terminal
	}{
		{
			about: "the natural pair", profiles: map[string]string{"claude-interactive": shim("tty", "claude"), "claude-one-shot": shim("pipe", "claude")},
			tty: at("claude-interactive"), not: at("claude-one-shot"),
		},
		{about: "one for terminals only", profiles: map[string]string{"a": shim("tty", "claude")}, tty: at("a"), not: none},
		{
			about: "one for pipes beside one for all", profiles: map[string]string{"a": shim("pipe", "claude"), "claude": shim("always", "claude")},
			tty: at("claude"), not: at("a"),
		},
		{
			about: "named like the command", profiles: map[string]string{"a": shim("always", "claude"), "claude": toml("claude"), "z": toml("/opt/claude")},
			tty: at("claude"), not: at("claude"),
		},
		{
			about: "two for terminals, one named like it", profiles: map[string]string{"a": shim("tty", "claude"), "claude": shim("tty", "claude"), "z": toml("claude")},
			tty: at("claude"), not: at("z"),
		},
		{
			about: "no way to tell", profiles: map[string]string{"a": shim("always", "claude"), "b": shim("always", "claude"), "c": shim("always", "codex")},
			tty: `126: "claude" is claimed by profiles "a", "b" of "~/app" [add claude = "a" under [shims] in .inner/config.toml, then: inner allow]`,
			not: `126: "claude" is claimed by profiles "a", "b" of "~/app" [add claude = "a" under [shims] in .inner/config.toml, then: inner allow]`,
		},
		{
			about: "one of them is not allowed", profiles: map[string]string{"claude": toml("claude"), "other": toml("claude")}, allow: []string{"claude"},
			tty: `126: profile "other" of "~/app" is not allowed [inner allow]`, not: `126: profile "other" of "~/app" is not allowed [inner allow]`,
		},
		{
			about: "one of them is not allowed, for pipes", profiles: map[string]string{"claude": toml("claude"), "other": shim("pipe", "claude")}, allow: []string{"claude"},
			tty: at("claude"), not: `126: profile "other" of "~/app" is not allowed [inner allow]`,
		},
		{about: "claims nothing", profiles: map[string]string{"claude": "schema_version = \"1\"\n[shim]\ncommands = []\n[entrypoint]\ncmd = \"claude\"\n"}, tty: none, not: none},
	} {
		w := newWorld(t)
		for name, content := range c.profiles {
			w.profile("app", name, content)
		}
		w.allow("app", c.allow...)
		w.want(c.about, [3]string{"app", "claude", c.tty}, [3]string{"app", "| claude", c.not})
	}

	// A denied profile beside an allowed one: the user has said which they want.
	w := newWorld(t)
	w.profile("app", "claude", toml("claude"))
	w.profile("app", "other", toml("claude"))
	w.allow("app", "claude")
	must(t, w.home.Trust().Deny(w.path("app"), w.path("app/.inner/profiles/other.toml")))
	w.want("a denied one", [3]string{"app", "claude", at("claude")})
	must(t, os.Remove(w.path("app/.inner/profiles/claude.toml")))
	w.want("only the denied one is left", [3]string{"app", "claude", `126: profile "claude" of "~/app" was allowed and its file is gone [cd ~/app && inner init claude]`})

	// Taking one of a pair away must not make the other one run in its place.
	w = newWorld(t)
	w.profile("app", "tight", shim("tty", "claude"))
	w.profile("app", "loose", shim("always", "claude"))
	w.allow("app")
	must(t, os.Remove(w.path("app/.inner/profiles/tight.toml")))
	w.want("one of a pair is gone",
		[3]string{"app", "claude", `126: profile "tight" of "~/app" was allowed and its file is gone [bring back ~/app/.inner/profiles/tight.toml]`},
		[3]string{"app", "| claude", at("loose")})
}

// A .inner further in must not lift a claim further out: the boxed program can make one.
func TestDecideNested(t *testing.T) {
	w := newWorld(t)
	w.profile("app", "claude", toml("claude"))
	w.profile("app", "bash", toml("bash"))
	w.allow("app")
	const run = "run ~/app/.inner/profiles/claude.toml for ~/app"
	w.profile("app/vendor/x", "web", toml("web"))
	w.profile("app/vendor/x", "bash", toml("bash"))
	w.want("an unapproved project inside",
		[3]string{"app/vendor/x", "claude", run},
		[3]string{"app/vendor/x", "bash", "run ~/app/.inner/profiles/bash.toml for ~/app"},
		[3]string{"app/vendor/x", "web", `126: profile "web" of "~/app/vendor/x" is not allowed [inner allow]`},
		[3]string{"app/vendor", "web", none})
	w.allow("app/vendor/x")
	w.want("an allowed project inside",
		[3]string{"app/vendor/x", "claude", run},
		[3]string{"app/vendor/x", "bash", "run ~/app/vendor/x/.inner/profiles/bash.toml for ~/app/vendor/x"})
	w.profile("app/vendor/x", "claude", toml("claude"))
	w.want("it claims the same", [3]string{"app/vendor/x", "claude", `126: profile "claude" of "~/app/vendor/x" is not allowed [inner allow]`})
	must(t, os.RemoveAll(w.path("app/vendor/x/.inner")))
	w.want("it is gone",
		[3]string{"app/vendor/x", "bash", `126: profile "bash" of "~/app/vendor/x" was allowed and its file is gone [bring back ~/app/vendor/x/.inner/profiles/bash.toml]`},
		[3]string{"app/vendor/x", "claude", run})
}

func TestDecideConfig(t *testing.T) {
	w := newWorld(t)
	must(t, os.MkdirAll(w.path("elsewhere"), 0o700))
	w.file(".inner/profiles/box.toml", toml("claude"))
	w.file(".inner/profiles/broken.toml", "x")
	w.file(".inner/profiles/a.toml", toml("codex"))
	w.file(".inner/config.toml", "[shims]\nclaude = \"box\"\nmake = \"nowhere\"\nnode = \"broken\"\n")
	const global = "run ~/.inner/profiles/box.toml for -"
	w.want("the user's own",
		[3]string{"elsewhere", "claude", global},
		[3]string{"elsewhere", "make", `126: profile "nowhere", to which "~/.inner/config.toml" maps "make", cannot be used: no profile is called "nowhere" [inner profile validate nowhere]`},
		[3]string{"elsewhere", "go", none})
	if d := w.decide("elsewhere", "node", true); d.Kind != Refuse || d.ExitCode != 126 || !strings.HasPrefix(d.Reason, `profile "broken", to which `) {
		t.Errorf("a broken global profile: %s", w.line(d))
	}

	// In a project: only its own profiles claim, and an untrusted one has no say.
	w.profile("app", "web", toml("web"))
	w.want("in a project that does not claim it", [3]string{"app", "claude", global})
	w.allow("app")
	w.want("in an allowed project that does not claim it", [3]string{"app", "claude", "run ~/.inner/profiles/box.toml for ~/app"})

	// The project's config.toml.
	w.profile("app", "a", shim("always", "claude"))
	w.profile("app", "b", shim("always", "claude"))
	w.allow("app")
	const conf = "app/.inner/config.toml"
	w.file(conf, "[shims]\nclaude = \"b\"\ncodex = \"box\"\ncargo = \"nowhere\"\nls = \"b\"\n")
	w.want("not allowed",
		[3]string{"app", "claude", `126: config.toml of "~/app" is not allowed [inner allow]`},
		[3]string{"app", "codex", `126: config.toml of "~/app" is not allowed [inner allow]`},
		[3]string{"app", "ls", `pass: config.toml of "~/app" maps it, and is not allowed; everyday tools are not guarded for it`},
		[3]string{"app", "web", `126: profile "web" of "~/app" changed since it was allowed (".inner/config.toml": it was not part of what was allowed) [inner allow]`})
	w.allow("app")
	const b = "run ~/app/.inner/profiles/b.toml for ~/app"
	w.want("approved",
		[3]string{"app", "claude", b},
		[3]string{"app", "ls", b},
		[3]string{"app", "codex", "run ~/.inner/profiles/box.toml for ~/app"},
		[3]string{"app", "cargo", `126: profile "nowhere", to which config.toml of "~/app" maps "cargo", cannot be used: no profile is called "nowhere" [inner profile validate nowhere]`},
		[3]string{"app", "web", "run ~/app/.inner/profiles/web.toml for ~/app"})
	w.profile("app", "c", shim("always", "claude"))
	w.want("what is added does not steer what is allowed", [3]string{"app", "claude", b})
	w.profile("app", "b", shim("always", "claude", "x"))
	const changed = `126: profile "b" of "~/app" changed since it was allowed (".inner/profiles/b.toml") [inner allow]`
	w.want("the one it names changed", [3]string{"app", "claude", changed}, [3]string{"app", "ls", changed})
	w.allow("app")

	// Gone, the profile does not give way to the global one of the same name.
	w.file(conf, "[shims]\nclaude = \"a\"\n")
	w.allow("app")
	must(t, os.Remove(w.path("app/.inner/profiles/a.toml")))
	w.want("the one it names is gone", [3]string{"app", "claude", `126: profile "a" of "~/app" was allowed and its file is gone [bring back ~/app/.inner/profiles/a.toml]`})

	must(t, w.home.Trust().Deny(w.path("app"), w.path(conf)))
	w.want("config denied",
		[3]string{"app", "claude", `126: config.toml of "~/app" was denied [inner allow]`},
		[3]string{"app", "web", `126: profile "web" of "~/app" is not used: ".inner/config.toml" was denied [inner allow]`},
		[3]string{"app", "go", none})
	w.allow("app", "web", "b", "c")
	must(t, os.Remove(w.path(conf)))
	w.want("config gone",
		[3]string{"app", "claude", `126: config.toml of "~/app" was allowed and is gone [mkdir -p ~/app/.inner && touch ~/app/.inner/config.toml && inner allow ~/app]`},
		[3]string{"app", "web", `126: profile "web" of "~/app" changed since it was allowed (".inner/config.toml": it was allowed too, and is not used any more) [inner allow]`},
		[3]string{"app", "go", none})
	w.file(conf, "[shims\n")
	for _, name := range []string{"claude", "web", "amp"} {
		if got := w.line(w.decide("app", name, true)); !strings.HasPrefix(got, "126: ") || !strings.Contains(got, "~/app/.inner/config.toml:1: ") {
			t.Errorf("config broken: %s: %s", name, got)
		}
	}
	w.want("config broken", [3]string{"app", "go", none})

	// A project with a config.toml only.
	w.file("only/.inner/config.toml", "[shims]\ncodex = \"box\"\n")
	w.want("only a config", [3]string{"only", "codex", `126: config.toml of "~/only" is not allowed [inner allow]`}, [3]string{"only", "claude", global})
	w.allow("only")
	w.want("only a config, allowed",
		[3]string{"only", "codex", "run ~/.inner/profiles/box.toml for ~/only"}, [3]string{"only", "claude", "run ~/.inner/profiles/box.toml for ~/only"})

	// The user's own config.toml with a mistake in it.
	w.file(".inner/config.toml", "[shims]\nclaude = \nmake = \"box\"\n")
	for _, name := range []string{"claude", "make", "amp"} {
		if got := w.line(w.decide("elsewhere", name, true)); !strings.HasPrefix(got, fmt.Sprintf("126: %q may be claimed in a file that is not valid: ~/.inner/config.toml:2: ", name)) {
			t.Errorf("the user's own config broken: %s: %s", name, got)
		}
	}
	w.want("the user's own config broken", [3]string{"elsewhere", "bash", none}, [3]string{"elsewhere", "go", none})
	must(t, os.Remove(w.path(".inner/config.toml")))
	must(t, os.Mkdir(w.path(".inner/config.toml"), 0o700))
	w.want("the user's own config unreadable", [3]string{"elsewhere", "bash", none})
	if d := w.decide("elsewhere", "go", true); d.Kind != Refuse {
		t.Errorf("the user's own config unreadable: go: %s", w.line(d))
	}
}

// Files that are no profiles, and folders that are somebody else's.
func TestDecideOdd(t *testing.T) {
	for _, c := range []struct {
		about string
		make  func(w *world, path string)
		want  string
	}{
		{
			"a link", func(w *world, path string) { must(w, os.Rename(path, path+".2")); must(w, os.Symlink(path+".2", path)) },
			`126: profile "claude" of "~/app" is not valid: "~/app/.inner/profiles/claude.toml" is a link, not a regular file [inner profile validate claude]`,
		},
		{
			"a FIFO", func(w *world, path string) { must(w, os.Remove(path)); must(w, syscall.Mkfifo(path, 0o600)) },
			`126: profile "claude" of "~/app" is not valid: "~/app/.inner/profiles/claude.toml" is a FIFO, not a regular file [inner profile validate claude]`,
		},
		{
			"a folder", func(w *world, path string) { must(w, os.Remove(path)); must(w, os.Mkdir(path, 0o700)) },
			`126: profile "claude" of "~/app" is not valid: "~/app/.inner/profiles/claude.toml" is a folder, not a regular file [inner profile validate claude]`,
		},
		{
			"huge", func(w *world, path string) { must(w, os.Truncate(path, 1<<20+1)) },
			`126: profile "claude" of "~/app" is not valid: "~/app/.inner/profiles/claude.toml" is larger than 1024 KiB [inner profile validate claude]`,
		},
		{".inner is a link", func(w *world, path string) {
			must(w, os.Rename(w.path("app/.inner"), w.path("real")))
			must(w, os.Symlink("../real", w.path("app/.inner")))
		}, `126: profile "claude" of "~/app" is not used: "~/app/.inner" is a link [inner status]`},
		{
			".inner is open to all", func(w *world, path string) { must(w, os.Chmod(w.path("app/.inner"), 0o777)) },
			`126: profile "claude" of "~/app" is not used: "~/app/.inner" can be changed by everyone (mode 0777) [inner status]`,
		},
		{".inner belongs to another", func(w *world, path string) {
			if os.Getuid() != 0 { // the next best thing a plain user can do
				must(w, os.Chmod(w.path("app/.inner"), 0o777))
				return
			}
			must(w, os.Chown(w.path("app/.inner"), 54321, 54321))
		}, map[bool]string{
			true:  `126: profile "claude" of "~/app" is not used: "~/app/.inner" belongs to user 54321, not to you [inner status]`,
			false: `126: profile "claude" of "~/app" is not used: "~/app/.inner" can be changed by everyone (mode 0777) [inner status]`,
		}[os.Getuid() == 0]},
	} {
		for _, approved := range []bool{false, true} {
			w := newWorld(t)
			w.profile("app", "claude", toml("claude"))
			if approved {
				w.allow("app")
			}
			c.make(w, w.path("app/.inner/profiles/claude.toml"))
			about := fmt.Sprintf("%s (allowed before: %v)", c.about, approved)
			w.want(about, [3]string{"app", "claude", c.want}, [3]string{"app", "go", none})
		}
	}
}

// Names of folders with any byte in them.
func TestDecideNames(t *testing.T) {
	for _, name := range []string{"a b", "it's", `"x"`, "$(touch x)", "`x`", "a\nb", "a:b", "-x", "\xff\xfe", "é", "*", "%s", `\`, "hex:zz"} {
		w := newWorld(t)
		w.profile(name, "claude", toml("claude"))
		must(t, os.MkdirAll(w.path(name+"/sub "+name), 0o700))
		d := w.decide(name+"/sub "+name, "claude", true)
		if want := fmt.Sprintf("profile \"claude\" of %q is not allowed", w.path(name)); d.Kind != Refuse || d.Reason != want || strings.Contains(d.Reason, "\n") {
			t.Errorf("%q: %s, want %s", name, d.Reason, want)
		}
		w.allow(name)
		if d = w.decide(name+"/sub "+name, "claude", true); d.Kind != Run || d.Project.Root != w.path(name) {
			t.Errorf("%q allowed: %s", name, w.line(d))
		}
		w.profile(name, "claude", "x\ny\n[\n")
		if d = w.decide(name, "claude", true); d.Kind != Refuse || strings.ContainsFunc(d.Reason, unicode.IsControl) || !utf8.ValidString(d.Reason) {
			t.Errorf("%q broken: %q", name, d.Reason)
		}
		must(t, os.RemoveAll(w.path(name+"/.inner")))
		d = w.decide(name, "claude", true)
		if out, err := exec.Command("bash", "-c", `inner() { printf '%s\0' "$PWD" "$@"; }; `+d.Hint).Output(); err != nil || string(out) != w.path(name)+"\x00init\x00claude\x00" {
			t.Errorf("%q: the hint %q is %q in a shell (%v)", name, d.Hint, out, err)
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	w := newWorld(b)
	w.profile("src/app", "claude", toml("claude"))
	w.profile("src/app", "web", toml("web"))
	w.file(".inner/config.toml", "[shims]\nclaude = \"x\"\n")
	w.allow("src/app")
	must(b, os.MkdirAll(w.path("src/app/a/b/c"), 0o700))
	for _, c := range []struct{ about, cwd, name string }{{"run", "src/app/a/b/c", "claude"}, {"pass", "src", "go"}} {
		b.Run(c.about, func(b *testing.B) {
			for b.Loop() {
				if d := w.decide(c.cwd, c.name, true); d.Kind == Refuse {
					b.Fatal(w.line(d))
				}
			}
		})
	}
}
