package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/enr/inner/contrib/terminal"
)

// The main job with the real program: Claude Code as npm installs it, typed in a
// hooked shell in a real terminal (tmux), drawn inside the box, answering ^C. It
// needs no network and no account: the login is made up, and nothing is asked.
func TestClaude(t *testing.T) {
	need(t, "tmux", "bwrap", "bash", "git")
	claude := os.Getenv("INNER_TEST_CLAUDE")
	if claude == "" {
		missing(t, "Claude Code is not there; make test installs it from npm (contrib/agents.sh install claude)")
	}
	p := newPerson(t)
	p.path(filepath.Dir(claude))
	// Somebody who has used claude here before: logged in, past the questions.
	p.write(".claude/.credentials.json", fmt.Sprintf(
		`{"claudeAiOauth":{"accessToken":"sk-ant-oat01-none","refreshToken":"sk-ant-ort01-none","expiresAt":%d,"scopes":["user:inference"],"subscriptionType":"pro"}}`,
		time.Now().Add(24*time.Hour).UnixMilli()))
	p.write(".claude/settings.json", `{"theme":"dark","env":{},"mcpServers":{"host":{"command":"touch","args":["`+p.home+`/mcp-ran"]}}}`)
	p.write(".claude.json", fmt.Sprintf(
		`{"hasCompletedOnboarding":true,"theme":"dark","numStartups":3,"projects":{%q:{"hasTrustDialogAccepted":true,"hasCompletedProjectOnboarding":true}}}`, p.app))
	p.write("app/.inner/profiles/claude.toml", "schema_version = \"1\"\nextends = \"claude-interactive\"\n")
	p.run("git", "init", "-q", p.app)
	p.run("git", "-C", p.app, "-c", "user.name=a", "-c", "user.email=a@b", "add", ".")
	p.run("git", "-C", p.app, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x")
	before := digest(t, filepath.Join(p.home, ".claude"), filepath.Join(p.home, ".claude.json"))
	version := strings.TrimSpace(p.run(claude, "--version"))
	t.Logf("claude --version, outside: %s", version)

	s := p.tmux("bash", "--noprofile", "--rcfile", p.write("rc", "PS1='[ready] '\neval \"$(inner hook bash)\"\n"), "-i")
	s.want(`\[ready\] $`)
	s.enter("cd ~/app")
	s.want(`inner: .*not .*allow`) // one line of notice
	s.enter("clear; claude --version; echo code=$?")
	s.want(`code=126`)
	s.enter("clear; inner allow")
	s.want(`\[y/N\] $`)
	s.enter("y")
	s.want(`inner: allowed claude: claude runs in the sandbox from now on`)

	s.enter("clear; claude --version; echo code=$?")
	s.want(regexp.QuoteMeta(version) + `\s+code=0`)

	// Its screen: boxed by lines and with a prompt, whatever else a version shows.
	s.enter("clear; claude; echo code=$?")
	s.want(`(?s)Claude Code.*[❯>]`)
	s.want(`(?s)─────`)
	mine, _ := os.Readlink("/proc/self/ns/pid")
	boxed := running(claude)
	if len(boxed) == 0 {
		t.Error("no process of claude was found while its screen is drawn")
	}
	for pid, ns := range boxed {
		if ns == mine || ns == "" {
			t.Errorf("claude (process %s) is in the host's PID namespace %q", pid, ns)
		}
	}
	s.keys("h", "e", "l", "l", "o")
	s.want(`[❯>].hello`)
	s.keys("C-c") // empties the line
	s.wantNot(`[❯>].hello`)
	s.keys("C-c")
	s.want(`(?i)press ctrl-?\+?c again`)
	s.keys("C-c")
	s.want(`code=0`)
	s.enter("clear; stty -a | grep -c -- ' icanon'; echo back")
	s.want(`(?m)^1\nback`) // the terminal is as it was

	// Nothing of the host's login changed, nothing started, nothing is left.
	if after := digest(t, filepath.Join(p.home, ".claude"), filepath.Join(p.home, ".claude.json")); after != before {
		t.Errorf("the host's state of claude changed:\nbefore\n%s\nafter\n%s", before, after)
	}
	if _, err := os.Lstat(filepath.Join(p.home, "mcp-ran")); err == nil {
		t.Error("an MCP server of the host's settings was started")
	}
	if out := p.run("git", "-C", p.app, "status", "--porcelain"); out != "" {
		t.Errorf("git status in the project:\n%s", out)
	}
	if left, _ := filepath.Glob(filepath.Join(p.home, "..", "run", "inner", "2*")); len(left) > 0 {
		t.Errorf("left staged: %q", left)
	}
	s.enter("exit")
}

// running finds the processes of a program and their PID namespaces.
func running(program string) map[string]string {
	want, err := filepath.EvalSymlinks(program)
	if err != nil {
		return nil
	}
	found := map[string]string{}
	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, link := range links {
		if exe, err := os.Readlink(link); err == nil && exe == want {
			pid := filepath.Base(filepath.Dir(link))
			found[pid], _ = os.Readlink("/proc/" + pid + "/ns/pid")
		}
	}
	return found
}

// digest is every file below the paths with its hash and mode, as text.
func digest(t *testing.T, paths ...string) string {
	t.Helper()
	var b strings.Builder
	for _, root := range paths {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			fi, err := d.Info()
			if err != nil {
				return err
			}
			sum := ""
			if fi.Mode().IsRegular() {
				data, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				h := sha256.Sum256(data)
				sum = hex.EncodeToString(h[:6])
			}
			fmt.Fprintf(&b, "%s %s %s\n", fi.Mode(), sum, path)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// person is somebody with a home, a project and inner on PATH.
type person struct {
	t         *testing.T
	home, app string
	env       []string
}

func newPerson(t *testing.T) *person {
	t.Helper()
	work, err := os.MkdirTemp(os.Getenv("INNER_TEST_DIR"), strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-"))+".")
	if err != nil {
		t.Fatal(err)
	}
	return personIn(t, work)
}

// personIn has a home in a folder that is there already.
func personIn(t *testing.T, work string) *person {
	t.Helper()
	p := &person{t: t, home: filepath.Join(work, "home"), app: filepath.Join(work, "home", "app"), env: hostEnv(work)}
	for _, dir := range []string{p.app, filepath.Join(work, "run")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// path puts a folder on PATH, behind inner and before the system's.
func (p *person) path(dir string) {
	for i, kv := range p.env {
		if rest, ok := strings.CutPrefix(kv, "PATH="); ok {
			first, others, _ := strings.Cut(rest, ":")
			p.env[i] = "PATH=" + first + ":" + dir + ":" + others
		}
	}
}

func (p *person) getenv(name string) string {
	for _, kv := range p.env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

func (p *person) write(name, text string) string {
	p.t.Helper()
	file := filepath.Join(p.home, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return file
}

func (p *person) run(name string, args ...string) string {
	p.t.Helper()
	path, err := lookPath(name, p.getenv("PATH"))
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Env, cmd.Dir = p.env, "/"
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatalf("%s %q: %v\n%s%s", name, args, err, out, &stderr)
	}
	return string(out)
}

// screen is a real terminal: a tmux server of its own with one pane.
type screen struct {
	p      *person
	socket string
}

func (p *person) tmux(command ...string) *screen {
	p.t.Helper()
	s := &screen{p, filepath.Join(p.home, "..", "tmux")}
	conf := p.write(".tmux.conf", "set -g default-terminal tmux-256color\nset -g status off\n")
	args := append([]string{"-S", s.socket, "-f", conf, "new-session", "-d", "-x", "100", "-y", "30", "--"}, command...)
	p.run("tmux", args...)
	p.t.Cleanup(func() {
		cmd := exec.Command("tmux", "-S", s.socket, "kill-server")
		cmd.Env = p.env
		_ = cmd.Run() // it is gone when its shell has ended
	})
	return s
}

func (s *screen) keys(keys ...string) {
	s.p.t.Helper()
	s.p.run("tmux", append([]string{"-S", s.socket, "send-keys"}, keys...)...)
}

// enter types a line.
func (s *screen) enter(line string) {
	s.p.t.Helper()
	s.p.run("tmux", "-S", s.socket, "send-keys", "-l", line)
	s.keys("Enter")
}

func (s *screen) shown() string {
	cmd := exec.Command("tmux", "-S", s.socket, "capture-pane", "-p", "-J")
	cmd.Env = s.p.env
	out, _ := cmd.Output() // a pane that is gone shows nothing
	return strings.TrimRight(string(out), "\n")
}

func (s *screen) until(what string, ok func(string) bool) {
	s.p.t.Helper()
	end := time.Now().Add(3 * terminal.Patience) // 250 MB may have to come from a cold disk
	text := s.shown()
	for ; !ok(text); text = s.shown() {
		if time.Now().After(end) {
			s.p.t.Fatalf("the screen never %s:\n%s", what, text)
		}
		time.Sleep(50 * time.Millisecond) // between two looks
	}
}

func (s *screen) want(re string) {
	s.p.t.Helper()
	s.until(fmt.Sprintf("showed %q", re), regexp.MustCompile(re).MatchString)
}

// within reports whether the screen shows it in time.
func (s *screen) within(limit time.Duration, re string) bool {
	r := regexp.MustCompile(re)
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if r.MatchString(s.shown()) {
			return true
		}
	}
	return false
}

func (s *screen) wantNot(re string) {
	s.p.t.Helper()
	r := regexp.MustCompile(re)
	s.until(fmt.Sprintf("lost %q", re), func(text string) bool { return !r.MatchString(text) })
}
