package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/enr/inner/contrib/terminal"
)

// TestFourAgents asks about four agents on a terminal of 24 lines and 80 columns: it is
// one screen, with what is dangerous next to the question.
func TestFourAgents(t *testing.T) {
	for name, agents := range map[string][]string{
		"short names": {"claude-interactive=claude", "gemini-interactive=gemini", "codex-interactive=codex", "opencode-interactive=opencode"},
		"as they are": {"claude-interactive", "gemini-interactive", "codex-interactive", "opencode-interactive"},
		"of inner":    {"claude-interactive", "gemini-interactive", "cursor-interactive", "codex-interactive"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPerson(t)
			p.env = append(p.env, "GOPROXY=off") // a proxy of the machine's own network has a line
			p.run("inner", "init")
			for _, agent := range agents {
				from, to, renamed := strings.Cut(agent, "=")
				data, err := os.ReadFile("../../contrib/profiles/" + from + ".toml")
				if err != nil {
					data, err = os.ReadFile(filepath.Join(p.home, ".inner/profiles", from+".toml"))
				}
				if err != nil {
					t.Fatal(err)
				}
				text := string(data)
				if !renamed {
					to = from
				}
				p.write("app/.inner/profiles/"+to+".toml", strings.Replace(text, `"`+from+`"`, `"`+to+`"`, 1))
			}
			for _, program := range []string{"claude", "gemini", "codex", "opencode", "cursor-agent"} {
				if err := os.Chmod(p.write("bin/"+program, "#!/bin/sh\n"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			p.path(filepath.Join(p.home, "bin"))
			inner, err := lookPath("inner", p.getenv("PATH"))
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(inner, "allow")
			cmd.Env, cmd.Dir = append(p.env, "TERM=xterm"), p.app
			term, err := terminal.Start(cmd)
			if err != nil {
				t.Fatal(err)
			}
			defer term.Close()
			if err := term.Expect(regexp.MustCompile(`Allow this\? \[y/N\]`), terminal.Patience); err != nil {
				t.Fatalf("%v\n%s", err, term.Text())
			}
			shown := strings.ReplaceAll(term.Text(), "\r", "")
			screen, _, _ := strings.Cut(shown, "Allow this?")
			if rows(screen, 80)+1 > 24 {
				t.Errorf("%d rows:\n%s", rows(screen, 80)+1, shown)
			}
			_, danger, _ := strings.Cut(screen, "reaches beyond the project and the box:\n")
			wants := []string{"reaches hosts with logins of yours, which it cannot read: claude", "codex", "gemini", "gets your secrets: "}
			if slices.Contains(agents, "cursor-interactive") {
				wants = append(wants, "CURSOR_API_KEY")
			} else {
				wants = append(wants, "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY")
			}
			for _, want := range wants {
				if !strings.Contains(danger, want) {
					t.Errorf("next to the question there is no %s:\n%s", want, shown)
				}
			}
			for _, want := range []string{"can change files in: ~/app\n", "codex --sandbox danger-full-access", "@github, @npm, @pypi, @go, @crates", "ANTHROPIC_BASE_URL", "login and settings"} {
				if n := strings.Count(screen, want); n != 1 {
					t.Errorf("%q is shown %d times:\n%s", want, n, shown)
				}
			}
		})
	}
}

// rows is how many rows of a terminal a text takes.
func rows(text string, width int) (n int) {
	for line := range strings.Lines(text) {
		n += 1 + max(0, len([]rune(strings.TrimSuffix(line, "\n")))-1)/width
	}
	return n
}

// The profiles of contrib/profiles, put beside the built-in ones: all are valid,
// and each is run where its program is on the machine. What is not is said.
func TestContribProfiles(t *testing.T) {
	need(t, "bwrap", "bash")
	files, err := filepath.Glob("../../contrib/profiles/*.toml")
	if err != nil || len(files) != 9 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	p := newPerson(t)
	p.run("inner", "init")
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		p.write(".inner/profiles/"+filepath.Base(f), string(data))
	}
	for _, dir := range []string{".m2/repository", ".gradle/caches", ".gradle/wrapper"} {
		mkdir(filepath.Join(p.home, dir))
	}
	p.write(".m2/settings.xml", "<settings><password>hunter2</password></settings>")
	p.write(".gradle/gradle.properties", "password=hunter2")
	p.write(".gradle/init.d/x.gradle", "// run by every build")
	p.write(".npmrc", "//example.com/:_authToken=hunter2")
	p.write(".pypirc", "password = hunter2")
	claude := p.write(".local/bin/claude", "#!/bin/sh\necho boxed claude in $INNER_SANDBOX\n")
	if err := os.Chmod(claude, 0o755); err != nil { // stands for one in the home folder
		t.Fatal(err)
	}

	p.path(filepath.Dir(claude))

	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".toml")
		if out := p.run("env", "-C", p.app, "inner", "profile", "validate", name); !strings.HasPrefix(out, name+": ok") || strings.Contains(out, "[") {
			t.Errorf("validate: %s", out)
		}
	}

	goBin, _ := exec.LookPath("go")
	if goBin == "" {
		goBin = "/usr/local/go/bin/go"
	}
	for _, c := range []struct {
		profile, program string // what must be on the machine: a path, or a word on PATH
		line             string // run in the box by bash; "" is the program's own --version
		want             string
	}{
		{"node", "node", "node --version; test -s ~/.npmrc || echo no login; touch ~/.npm && echo cache", "v*no login\ncache\n"},
		{"python", "/usr/bin/python3", "python3 --version; test -s ~/.pypirc || echo no login; python3 -m pip --version >/dev/null; echo $PIP_REQUIRE_VIRTUALENV", "Python 3*no login\n1\n"},
		{"go", goBin, goBin + " version; mkdir -p $(" + goBin + " env GOCACHE) && echo cache", "go version go*cache\n"},
		{"rust", "cargo", "cargo --version; test -e ~/.cargo/credentials.toml || echo no login", "cargo *no login\n"},
		{"java-maven", "mvn", "mvn -v; touch ~/.m2/repository/x && echo repository; grep -q hunter2 ~/.m2/settings.xml || echo hidden", "*Apache Maven*repository\nhidden\n*"},
		{"gradle-java", "java", "java -version 2>&1; ls -A ~/.gradle; touch ~/.gradle/caches/x && echo caches; mkdir ~/.gradle/init.d && echo its own", "*version*caches\nwrapper\ncaches\nits own\n"},
		{"shell-with-claude", "bash", "claude; echo $BASH_VERSION", "boxed claude in shell-with-claude\n5.*\n"},
		{"shell-containers", "podman", "export USER=$(id -un); podman info --format '{{.Host.Security.Rootless}}' 2>&1; docker --version; test -S /run/user/$(id -u)/podman/podman.sock || echo no socket", "true\npodman version*no socket\n"},
		{"claude-containers", os.Getenv("INNER_TEST_CLAUDE"), "", "*(Claude Code)*"},
		{"codex-interactive", os.Getenv("INNER_TEST_CODEX"), "", "codex*"},
		{"opencode-interactive", os.Getenv("INNER_TEST_OPENCODE"), "", "*.*.*"},
	} {
		t.Run(c.profile, func(t *testing.T) {
			program, err := exec.LookPath(c.program)
			switch {
			case err == nil:
			case c.program == "" || slices.Contains([]string{"node", "cargo", "mvn", "java", "podman"}, c.program):
				t.Skipf("%s: its program is not on this machine", c.profile) // contrib/test.sh prints these
			default:
				missing(t, "%s: %s is not on this machine", c.profile, c.program)
			}
			args := []string{"inner", "run", "-p", c.profile, "-w", p.app, "--no-interactive", "--timeout", "120"}
			if c.line == "" {
				args = append(args, "--entrypoint", program, "--", "--version")
			} else {
				args = append(args, "--entrypoint", "bash", "--", "-c", c.line)
			}
			here := *p
			here.t = t
			out := here.run(args[0], args[1:]...)
			t.Logf("%s", out)
			if !like(out, c.want) {
				t.Errorf("got %q, want %q", out, c.want)
			}
		})
	}
	if st, err := os.Stat(filepath.Join(p.home, ".gradle/init.d")); err != nil || !st.IsDir() {
		t.Error("the host's init.d is gone")
	}
	if _, err := os.Stat(filepath.Join(p.home, ".npm")); err == nil {
		t.Error("a cache of the box is on the host")
	}
}

// like matches a text against a pattern in which * is any text.
func like(text, pattern string) bool {
	parts := strings.Split(pattern, "*")
	if !strings.HasPrefix(text, parts[0]) {
		return false
	}
	text = text[len(parts[0]):]
	for _, part := range parts[1:] {
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return text == "" || strings.HasSuffix(pattern, "*")
}
