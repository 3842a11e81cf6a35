package builtin

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/enr/inner/profile"
)

func TestNames(t *testing.T) {
	want := []string{"claude-interactive", "claude-one-shot", "codex-interactive", "cursor-interactive", "gemini-interactive", "gemini-one-shot", "guest", "member", "opencode-interactive", "public-bot", "runner", "shell", "shell-oneshot", "trusted", "trusted-maintenance"}
	if diff := cmp.Diff(want, Names()); diff != "" {
		t.Error(diff)
	}
	if Read("nope") != nil || Read("../builtin") != nil {
		t.Error("Read finds what is not there")
	}
}

// Every built-in profile is valid, resolves in an ordinary home and, where this
// version has all it needs, may run.
func TestValid(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, dir, project := filepath.Join(base, "h"), filepath.Join(base, "h/.inner/profiles"), filepath.Join(base, "h/p")
	if _, err := Install(dir, ""); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(project, 0o700); err != nil {
		t.Fatal(err)
	}
	l := profile.Loader{Home: home, GlobalDir: dir}
	for _, name := range Names() {
		path, scope, err := l.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := l.Load(path, scope)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		rc, err := p.Resolve(profile.Context{Home: home, InnerHome: filepath.Dir(dir), Cwd: project, Lookup: func(string) (string, bool) { return "", false }})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if rc.Output.Audit {
			checkRole(t, name, rc)
			continue
		}
		shell := strings.HasPrefix(name, "shell")
		if rc.Network.ByName() == shell || rc.Network == profile.NetFull || (rc.Home == "own") == shell {
			t.Errorf("%s: network %s, home %s", name, rc.Network, rc.Home)
		}
		if p.Description == "" || rc.Env.InheritAll || !slices.Contains(rc.Env.Inherit, "LC_*") || len(rc.Allow) > 0 {
			t.Errorf("%s: %+v", name, rc)
		}
		// Variables that look secret are the agent's own keys and nothing else.
		for _, v := range rc.Env.Inherit {
			own := strings.HasPrefix(v, "ANTHROPIC_") || strings.HasPrefix(v, "CLAUDE_") || strings.HasPrefix(v, "GEMINI_") || strings.HasPrefix(v, "GOOGLE_") || strings.HasPrefix(v, "CURSOR_") || strings.HasPrefix(v, "OPENAI_") || strings.HasPrefix(v, "CODEX_") || strings.HasPrefix(v, "OPENROUTER_")
			if profile.LooksSecret(v) && !own {
				t.Errorf("%s passes %s", name, v)
			}
		}
		if rc.Entrypoint.Interactive == (rc.Output.Timeout > 0) {
			t.Errorf("%s: interactive %t, timeout %s", name, rc.Entrypoint.Interactive, rc.Output.Timeout)
		}
	}
}

// checkRole checks a profile for the calls of others.
func checkRole(t *testing.T, name string, rc profile.RunConfig) {
	t.Helper()
	open := name == "trusted-maintenance"
	if rc.Home != "isolated" || (rc.Network == profile.NetFull) != open || !open && rc.Network != profile.NetOff {
		t.Errorf("%s: network %s, home %s", name, rc.Network, rc.Home)
	}
	if rc.Entrypoint.Interactive || rc.Output.Timeout == 0 || rc.Env.InheritAll || slices.ContainsFunc(rc.Env.Inherit, profile.LooksSecret) {
		t.Errorf("%s: %+v", name, rc)
	}
	if len(rc.Allow) > 0 != (name == "trusted") {
		t.Errorf("%s allows %q", name, rc.Allow)
	}
}

// Each role may do at least what the one before may.
func TestRolesRise(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir, project := filepath.Join(home, ".inner/profiles"), filepath.Join(home, "p")
	if _, err := Install(dir, ""); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(project, 0o700); err != nil {
		t.Fatal(err)
	}
	l := profile.Loader{Home: home, GlobalDir: dir}
	spec := func(name string) profile.RunConfig {
		p, err := l.Load(filepath.Join(dir, name+".toml"), profile.Global)
		if err != nil {
			t.Fatal(err)
		}
		rc, err := p.Resolve(profile.Context{Home: home, InnerHome: filepath.Dir(dir), Cwd: project, Lookup: func(string) (string, bool) { return "", false }})
		if err != nil {
			t.Fatal(err)
		}
		return rc
	}
	guest, member, trusted := spec("guest"), spec("member"), spec("trusted")
	for _, step := range [][2]profile.RunConfig{{guest, member}, {member, trusted}} {
		if list := profile.Narrower(step[0], step[1]); len(list) > 0 {
			t.Errorf("%s is narrower than %s: %+v", step[1].Name, step[0].Name, list)
		}
		if list := profile.Narrower(step[1], step[0]); len(list) == 0 {
			t.Errorf("%s is not narrower than %s", step[0].Name, step[1].Name)
		}
	}
}

func TestInstall(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a/profiles")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(dir, "shell.toml")
	if err := os.WriteFile(mine, []byte("mine"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "shell-oneshot.toml")); err != nil {
		t.Fatal(err)
	}
	done, err := Install(dir, "")
	if err != nil || len(done.Written) != len(Names())-2 || !slices.Equal(done.Changed, []string{"shell"}) {
		t.Fatalf("%q %v", done, err)
	}
	for _, path := range done.Written {
		st, err := os.Stat(path)
		if err != nil || st.Mode() != 0o600 {
			t.Errorf("%s: %v %v", path, st.Mode(), err)
		}
		data, _ := os.ReadFile(path)
		if !bytes.Equal(data, Read(strings.TrimSuffix(filepath.Base(path), ".toml"))) {
			t.Errorf("%s differs", path)
		}
	}
	if data, _ := os.ReadFile(mine); string(data) != "mine" {
		t.Errorf("overwritten: %q", data)
	}
	if again, err := Install(dir, ""); err != nil || again.Written != nil {
		t.Errorf("second time: %q %v", again, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != len(Names()) {
		t.Errorf("%d entries", len(entries))
	}
}

// A text that an earlier inner came with follows; what the user deleted stays deleted, and a
// profile that is new comes.
func TestUpgrade(t *testing.T) {
	dir := t.TempDir()
	if _, err := Install(dir, ""); err != nil {
		t.Fatal(err)
	}
	old, mine := []byte("an earlier text"), []byte("my own text")
	defer func(was string) { digests = was }(digests)
	digests += line("shell", old)
	for name, text := range map[string][]byte{"shell": old, "runner": mine, "guest": old} {
		if err := os.WriteFile(filepath.Join(dir, name+".toml"), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"member", "trusted"} {
		if err := os.Remove(filepath.Join(dir, name+".toml")); err != nil {
			t.Fatal(err)
		}
	}
	had := strings.Replace(Sums(), line("trusted", Read("trusted")), "", 1)
	done, err := Install(dir, had)
	if want := []string{filepath.Join(dir, "shell.toml"), filepath.Join(dir, "trusted.toml")}; err != nil || !slices.Equal(done.Written, want) {
		t.Errorf("%q %v, want %q", done.Written, err, want)
	}
	if want := []string{"guest", "runner"}; !slices.Equal(done.Changed, want) {
		t.Errorf("%q, want %q", done.Changed, want)
	}
	for name, want := range map[string][]byte{"shell": Read("shell"), "runner": mine, "guest": old} {
		if got, _ := os.ReadFile(filepath.Join(dir, name+".toml")); !bytes.Equal(got, want) {
			t.Errorf("%s is %q", name, got)
		}
	}
}

// The next version knows the texts of this one.
func TestDigests(t *testing.T) {
	for _, name := range Names() {
		if l := line(name, Read(name)); !strings.Contains(digests, l) {
			t.Errorf("digests has no line: %s", l)
		}
	}
}

func TestInstallAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "profiles")
	var group sync.WaitGroup
	var mu sync.Mutex
	total := 0
	for range 8 {
		group.Go(func() {
			done, err := Install(dir, "")
			mu.Lock()
			defer mu.Unlock()
			total += len(done.Written)
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if total != len(Names()) {
		t.Errorf("%d files written", total)
	}
	if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", st.Mode(), err)
	}
}
