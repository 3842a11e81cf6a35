package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/enr/inner/contrib/terminal"
)

// standIn is an agent for tests: it says where it is, and does what is typed.
const standIn = `#!/bin/sh
for last; do :; done
[ "$last" != --version ] || { echo "version 1, in ${INNER_SANDBOX:-no box}"; exit; }
echo "ready in ${INNER_SANDBOX:-no box}"
while read -r line; do [ "$line" != end ] || exit 3; sh -c "$line"; done
`

// A new user's first day, typed in a real terminal, in each shell: every step says in a line
// what is the case, and what to type.
func TestDay(t *testing.T) {
	for _, shell := range []struct {
		name, rc, function, unfunction, alias, unalias, seen, code string
		login                                                      []string
	}{
		{"bash", ".bashrc", "claude() { echo mine; }", "unset -f claude", "alias claude=/opt/claude", "unalias claude", "claude is .*/shims/bin/claude", "$?", []string{"bash", "-l"}},
		{"zsh", ".zshrc", "claude() { echo mine; }", "unset -f claude", "alias claude=/opt/claude", "unalias claude", "claude is .*/shims/bin/claude", "$?", []string{"zsh", "-l"}},
		{"fish", ".config/fish/config.fish", "function claude; echo mine; end", "functions --erase claude", "abbr --add claude /opt/claude", "abbr --erase claude", "claude is .*/shims/bin/claude", "$status", []string{"fish", "-l"}},
	} {
		t.Run(shell.name, func(t *testing.T) {
			need(t, "tmux", "bwrap", "git", shell.name)
			t.Parallel()
			p := newPerson(t)
			t.Cleanup(func() { // a box that a failed step left detached outlives its terminal
				stop := exec.Command(filepath.Join(os.Getenv("INNER_TEST_DIR"), "bin", "inner"), "stop")
				stop.Env = p.env
				_ = stop.Run()
			})
			p.env = append(p.env, "SHELL=/usr/bin/"+shell.name)
			for _, name := range []string{"claude", "codex"} {
				if err := os.Chmod(p.write("agents/"+name, standIn), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			p.path(filepath.Join(p.home, "agents"))
			p.write("app/go.mod", "module example.com/app\n")
			p.write("app/.env", "KEY=secret\n")
			p.run("git", "init", "-q", p.app)
			path := "PATH=" + p.getenv("PATH") + "\n"
			for file, text := range map[string]string{
				".bashrc": "PS1='[ready] '\n. ~/.completion\n", ".bash_profile": path + ". ~/.bashrc\n",
				".zshrc": "PS1='[ready] '\nfpath=(~/.zfunc $fpath)\nautoload -U compinit\ncompinit -u -D\n", ".zprofile": path,
				".completion": p.run("inner", "completion", "bash"), ".zfunc/_inner": p.run("inner", "completion", "zsh"),
				".config/fish/completions/inner.fish": p.run("inner", "completion", "fish"),
				".config/fish/config.fish":            "function fish_prompt; printf '[ready] '; end\nfunction fish_greeting; end\n",
			} {
				p.write(file, text)
			}
			s := p.tmux(shell.login...)
			s.want(`\[ready\] $`)
			// enter clears the screen and types a line, once the shell has shown that: what is typed while
			// a shell takes its terminal back may be lost.
			enter := func(line string) {
				t.Helper()
				s.p.run("tmux", "-S", s.socket, "send-keys", "-l", "clear; "+line)
				s.want(regexp.QuoteMeta("clear; " + line))
				s.keys("Enter")
			}
			// do enters a line, and waits for what has to be there with the next prompt.
			do := func(line string, wants ...string) {
				t.Helper()
				enter(line)
				for _, re := range append(wants, `(?s)\[ready\] $`) {
					s.want(re)
				}
			}
			// tab types the beginning of a line and has it completed, and drops it.
			tab := func(line string, wants ...string) {
				t.Helper()
				s.p.run("tmux", "-S", s.socket, "send-keys", "-l", "clear; "+line)
				s.want(regexp.QuoteMeta("clear; " + line))
				s.keys("Tab", "Tab")
				for _, re := range wants {
					s.want(re)
				}
				s.keys("C-u")
				s.want(`\[ready\]\s+$`)
			}
			no := func(what string) {
				t.Helper()
				if text := s.shown(); regexp.MustCompile(what).MatchString(text) {
					t.Fatalf("%q is on the screen:\n%s", what, text)
				}
			}

			do("inner init --hook", `inner: wrote the built-in profiles: \d+ files below ~/.inner\n`, `inner: added to ~/`+regexp.QuoteMeta(shell.rc)+`: `, `inner: hint: open a new shell, or type here: `)
			enter("exec " + strings.Join(shell.login, " "))
			s.wantNot("exec")
			s.want(`\[ready\] $`)
			do("cd ~/app; type claude", shell.seen)
			do("inner init claude --yes", `inner: project ~/app, Go`, `can change files in: ~/app`, `inner: allowed claude: claude runs in the sandbox from now on\ninner: type: claude\n`)
			do("claude --version; codex --version", `version 1, in claude\ninner: codex runs outside the sandbox: no profile claims it here; type: inner init codex\nversion 1, in no box`)
			do("inner status", `hook +live`, `command  claude: sandboxed by claude`, `runs outside the sandbox, claimed by no profile here: codex; type: inner init codex`)

			tab("inner bypass cl", `inner bypass claude`)
			tab("inner exp", `\bexplain\b`, `\bexport\b`)
			tab("inner explain -p claude-i", `inner explain -p claude-interactive`)

			// An alias of another name is boxed, an alias or a function of its name is told, and what starts without a prompt is boxed.
			do("alias c=claude")
			do("c --version", `version 1, in claude`)
			do(shell.alias, `inner: warning: .*claude.* runs outside the sandbox; type .`+shell.unalias)
			do(shell.unalias)
			do(shell.function, `inner: warning: "claude" is a function in this shell, so it runs outside the sandbox; type .`+shell.unfunction)
			do(shell.unfunction)
			do("bash -c 'claude --version'", `version 1, in claude`)
			do("env -i \"HOME=$HOME\" \"PATH=$PATH\" ~/.inner/shims/bin/claude --version", `version 1, in claude`)

			// The screen of the agent; what it kept, and what it may not see.
			enter("claude; echo code=" + shell.code)
			s.want(`ready in claude`)
			s.enter("mkdir ~/new; echo x >~/new/a; cat .env; exit")
			s.want(`# hidden by inner; outside type: inner why .env`)
			s.enter("end")
			s.want(`inner: kept in the box's home: ~/new/ \(1 file\); inner home get ~/new\ncode=3\n`)
			do("inner home list", `app@.*claude in ~/app`)
			do("inner home get ~/new", `~/app/new`)
			do("inner home reset --yes; inner home list", `inner: there are no homes: home = "own"`)
			do("inner why .env", `hidden .env: cannot be read`, `type   inner allow file:.env -p claude`)
			do("inner explain | tail -n 1", `inner: hint: inner why PATH -p claude`)
			do("inner changes show", `inner: no copies are kept\ninner: hint: inner run --keep`)

			// Away and back, by the shell and by name.
			do("inner ps", `inner: no box is running`)
			enter("claude")
			s.want(`ready in claude`)
			s.keys("C-z")
			s.want(`\[ready\] $`)
			do("inner detach", `inner: run 2\S+ goes on without a terminal; inner attach 2\S+ joins it`)
			do("inner ps", `detached +claude +claude +~/app`)
			enter("echo joining; inner attach")
			s.want(`(?m)^joining`)
			s.enter("echo joined $INNER_SANDBOX")
			s.want(`joined claude`)
			p.run("inner", "detach")
			s.want(`inner: detached: run 2\S+ goes on; inner attach 2\S+ joins it\n\[ready\] $`)
			do("inner stop", `inner: ended 2`)
			enter("claude")
			s.want(`ready in claude`)
			p.run("inner", "detach")
			s.want(`inner: detached: run 2\S+ goes on without a terminal; inner attach 2\S+ joins it\n(?s).*\[ready\] $`)
			if out := p.run("inner", "ps"); !strings.Contains(out, " detached ") {
				t.Errorf("inner ps after inner detach:\n%s", out)
			}
			s.enter("fg")
			for end := time.Now().Add(terminal.Patience); strings.Contains(p.run("inner", "ps"), " detached ") && time.Now().Before(end); {
				time.Sleep(50 * time.Millisecond)
			}
			s.enter("end")
			s.want(`(?s)fg *\n.*claude.*\[ready\] $`)

			// Decisions, and a profile that is broken, then gone.
			do("inner bypass claude --version", `inner: claude runs outside the sandbox, this once\nversion 1, in no box`)
			const refused = "code=126"
			do("inner allow --never; claude; echo code="+shell.code, `was denied\ninner: hint: inner allow\n`+refused)
			do("inner allow --yes", `inner: allowed claude`)
			do("inner allow --forget; claude; echo code="+shell.code, `is not allowed\ninner: hint: inner allow\n`+refused)
			do("inner allow --yes", `inner: allowed claude`)
			do("cp .inner/profiles/claude.toml ~/saved; echo '[' >>.inner/profiles/claude.toml")
			do("claude; echo code="+shell.code, `claude.toml:\d+: `, refused)
			do("inner allow", `inner: hint: edit .*, then inner allow`)
			do("rm .inner/profiles/claude.toml; claude; echo code="+shell.code, `was allowed and its file is gone\ninner: hint: cd .*/app && inner init claude`, refused)
			do("inner allow", `inner: profile "claude" was allowed and its file is gone\ninner: hint: cd .*/app && inner init claude`)
			do("cp ~/saved .inner/profiles/claude.toml")
			do("claude --version", `version 1, in claude`)
			no("warning")
			s.enter("exit")
		})
	}
}
