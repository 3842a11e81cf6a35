package gitconfig

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A file that includes itself over and over is read a bounded number of times.
func TestLoadIncludesItself(t *testing.T) {
	dir := t.TempDir()
	text := "[a]\n\tb = 1\n[include]\n" + strings.Repeat("\tpath = config\n", 50)
	if err := os.WriteFile(filepath.Join(dir, "config"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	list := Sources{System: os.DevNull, Global: os.DevNull, GitDir: dir, CommonDir: dir}.Load()
	if len(list) > 100*51 || len(list) < 51 {
		t.Errorf("%d settings", len(list))
	}
}

// TestLoad compares with what git itself reads of a repository: system, user, includes
// at their place, where each condition holds, and where it does not.
func TestLoad(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal("git is not installed")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	repo := dir + "/src/app-1"
	put := func(name, text string) {
		t.Helper()
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"HOME=" + dir, "PATH=/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C"}
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(git, args...)
		cmd.Dir, cmd.Env = repo, env
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %q: %v", args, err)
		}
		return string(out)
	}
	if err := os.MkdirAll(repo, 0o755); err != nil {
		t.Fatal(err)
	}
	run("init", "-q", "-b", "feature/x1")
	var global strings.Builder
	global.WriteString("[a]\n\tb = first\n[include]\n\tpath = plain\n\tpath = ~/tilde\n\tpath = nowhere\n")
	put("plain", "[a]\n\tb = plain\n[include]\n\tpath = deep/er\n")
	put("deep/er", "[a]\n\tb = deeper\n[include]\n\tpath = ../tilde\n")
	put("tilde", "[a]\n\tb = tilde\n")
	for _, condition := range []string{"gitdir:**", "gitdir/i:SRC/", "onbranch:feature/", "hasconfig:remote.*.url:https://example.com/**"} {
		fmt.Fprintf(&global, "[includeIf %q]\n\tpath = holds\n", condition)
	}
	put("holds", "[a]\n\tb = holds\n")
	put(".gitconfig", global.String())
	put(".config/git/config", "[x]\n\tdg = 1\n")
	put("shared", "[core]\n\thooksPath = .githooks\n[a]\n\tb\n")
	run("config", "include.path", "../../../shared")
	run("config", "remote.o.url", "https://example.com/a/b.git")
	run("config", "extensions.worktreeConfig", "true")
	run("config", "--worktree", "w.t", "1")

	want := run("config", "--list", "--includes", "-z", "--show-origin")
	var got strings.Builder
	sources := Sources{System: os.DevNull, Home: dir, GitDir: repo + "/.git", CommonDir: repo + "/.git"}
	for _, e := range sources.Load() {
		file := e.File
		if rest, ok := strings.CutPrefix(file, repo+"/"); ok {
			file = rest
		}
		fmt.Fprintf(&got, "file:%s\x00%s", file, e.Key)
		if !e.Bare {
			got.WriteString("\n" + e.Value)
		}
		got.WriteString("\x00")
	}
	clean := func(text string) []string {
		fields := strings.Split(text, "\x00")
		for i, f := range fields {
			if p, ok := strings.CutPrefix(f, "file:"); ok {
				if !filepath.IsAbs(p) {
					p = filepath.Join(repo, p)
				}
				fields[i] = "file:" + filepath.Clean(p)
			}
		}
		return fields
	}
	a, b := clean(want), clean(got.String())
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			t.Fatalf("at %d: git has %q, Load %q", i, a[i:min(i+6, len(a))], b[i:min(i+6, len(b))])
		}
	}
	put(".gitconfig", "[includeIf \"onbranch:nowhere\"]\n\tpath = holds\n[includeIf \"nothing:x\"]\n\tpath = holds\n")
	if all := sources.Load(); len(all) < 4 || all[2].Value != "holds" || all[4].Value != "holds" {
		t.Errorf("%+v", all)
	}
}

// A circle of includes ends, and a pipe is not waited for.
func TestLoadEnds(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/config", []byte("[include]\n\tpath = config\n\tpath = pipe\n\tpath = /dev/zero\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("mkfifo", dir+"/pipe").Run(); err != nil {
		t.Fatal(err)
	}
	if list := (Sources{System: os.DevNull, GitDir: dir, CommonDir: dir}).Load(); len(list) == 0 {
		t.Error("nothing was read")
	}
}

func TestPlaces(t *testing.T) {
	for _, c := range []struct{ key, value, want string }{
		{"filter.x.clean", "./tools/clean.sh", "/p/tools/clean.sh"},
		{"filter.x.clean", "./tools/clean.sh %f", "/p/tools/clean.sh"},
		{"filter.x.smudge", "python3 -u tools/x.py --a=tools/conf.json", "/p/tools/x.py /p/tools/conf.json"},
		{"filter.x.process", "sh run", "/p/run"},
		{"filter.lfs.clean", "git-lfs clean -- %f", ""},
		{"diff.x.textconv", `"$(git rev-parse --show-toplevel)"/tools/t`, "/p/tools/t"},
		{"diff.x.command", "$HOME/bin/d", "/h/bin/d"},
		{"diff.x.command", "${HOME}/bin/d", "/h/bin/d"},
		{"diff.external", "~/bin/d && ./e", "/h/bin/d /p/e"},
		{"merge.x.driver", "bash -c 'tools/m %O %A'", "/p/tools/m"},
		{"mergetool.x.path", "/p/my tools/m", "/p/my tools/m /p/my /p/tools/m"},
		{"mergetool.x.cmd", "tools/m", "/p/tools/m"},
		{"diff.tool", "../../../../p/x", "/p/x"},
		{"merge.guitool", "meld", ""},
		{"core.hooksPath", ".githooks", "/p/.githooks"},
		{"core.hooksPath", "~/hooks", "/h/hooks"},
		{"core.attributesFile", "my.attributes", "/p/my.attributes"},
		{"core.fsmonitor", "true", ""},
		{"core.fsmonitor", "./watch", "/p/watch"},
		{"core.editor", "vim", ""},
		{"core.sshCommand", "ssh -F ./ssh.conf", "/p/ssh.conf"},
		{"core.sshCommand", "ssh -F./ssh.conf", "/p/ssh.conf"},
		{"svn.authorsProg", "tools/who", "/p/tools/who"},
		{"pager.log", "./p", "/p/p"},
		{"credential.helper", "!./c get", "/p/c"},
		{"gpg.program", "tools/gpg", "/p/tools/gpg"},
		{"sequence.editor", "./e", "/p/e"},
		{"hook.x.command", "./h", "/p/h"},
		{"trailer.x.cmd", "./t", "/p/t"},
		{"interactive.diffFilter", "./f", "/p/f"},
		{"alias.x", "!./a", ""},
		{"remote.o.url", "https://example.com/x", ""},
		{"core.sshCommand", "curl https://example.com/x", ""},
		{"include.path", "../inc", "/p/inc"},
		{"includeIf.onbranch:x.path", "../inc", "/p/inc"},
		{"user.name", "a/b", ""},
	} {
		key := c.key
		if canonical, err := Canonical(c.key); err == nil {
			key = canonical
		} else {
			key = strings.Replace(key, "includeIf", "includeif", 1)
		}
		got := strings.Join(Places(Entry{Key: key, Value: c.value, File: "/p/.git/config"}, "/p", "/h"), " ")
		got = strings.ReplaceAll(strings.ReplaceAll(got, "/usr/local/libexec/git-core/mergetools", "M"), "//", "/")
		if c.key == "diff.tool" {
			got, _, _ = strings.Cut(got, " ")
		}
		if got != c.want {
			t.Errorf("%s = %s: %q, want %q", c.key, c.value, got, c.want)
		}
	}
}

// Names of tools and strategies that are paths are programs of whoever wrote them.
func TestHarmlessNames(t *testing.T) {
	for _, c := range []struct {
		key, value string
		want       bool
	}{
		{"diff.tool", "meld", true},
		{"diff.tool", "../../x", false},
		{"merge.guitool", "/x", false},
		{"pull.twohead", "ort", true},
		{"pull.twohead", "/../evil", false},
		{"pull.octopus", "a/b", false},
		{"branch.x.mergeoptions", "-s /../evil", false},
		{"branch.x.mergeoptions", "--no-ff", true},
		{"branch.x.merge", "refs/heads/x", true},
		{"pull.rebase", "true", true},
		{"svn.authorsprog", "x", false},
		{"svn.rmdir", "true", true},
	} {
		if got := Harmless(Entry{Key: c.key, Value: c.value}, func(string) bool { return true }); got != c.want {
			t.Errorf("%s = %s: %t", c.key, c.value, got)
		}
	}
}

// TestEnvironment compares what variables say with what git itself makes of it.
func TestEnvironment(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"system": "[a]\n\tb = system\n", "global": "[a]\n\tb = global\n", "more": "[a]\n\tb = more\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{
		"HOME": dir, "GIT_CONFIG_SYSTEM": dir + "/system", "GIT_CONFIG_GLOBAL": dir + "/global", "GIT_CONFIG_COUNT": "4", "GIT_CONFIG_KEY_0": "Core.hooksPath", "GIT_CONFIG_VALUE_0": "/hooks",
		"GIT_CONFIG_KEY_1": "include.Path", "GIT_CONFIG_VALUE_1": dir + "/more", "GIT_CONFIG_KEY_2": "Filter.A.b.Clean", "GIT_CONFIG_VALUE_2": "/clean x", "GIT_CONFIG_KEY_3": "a.b", "GIT_CONFIG_VALUE_3": "",
		"GIT_CONFIG_KEY_4": "a.b", "GIT_CONFIG_VALUE_4": "not counted",
	}
	cmd := exec.Command("git", "config", "--list", "--includes", "-z")
	cmd.Dir, cmd.Env = dir, []string{"PATH=/usr/bin:/bin", "GIT_CEILING_DIRECTORIES=" + filepath.Dir(dir)}
	for k, v := range env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	want, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	read := func() string {
		var got strings.Builder
		for _, e := range Environment(func(name string) string { return env[name] }).Load() {
			got.WriteString(e.Key + "\n" + e.Value + "\x00")
		}
		return got.String()
	}
	if got := read(); got != string(want) {
		t.Errorf("%q, git reads %q", got, want)
	}
	env["GIT_TEMPLATE_DIR"] = "/templates"
	if got := read(); got != string(want)+"init.templatedir\n/templates\x00" {
		t.Errorf("with a folder of templates %q", got)
	}
	for _, count := range []string{"-1", "x", "1", "99999999999999999999"} {
		env["GIT_CONFIG_COUNT"] = count
		read() // ends
	}
}
