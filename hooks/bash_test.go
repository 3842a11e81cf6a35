package hooks

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/enr/inner/hooks/script"
)

// startBash runs bash with text before and after the hook in its start-up file.
func (w *world) startBash(before, after string) *session {
	w.t.Helper()
	w.rc("bash", before+"\n"+w.evalHook("bash")+after+"\n")
	return w.launch("bash", argv("bash"), w.plain)
}

// People write the eval without quotes: newlines become blanks, blanks
// collapse, and each word is matched against the files of the folder.
func TestBashWithoutQuotes(t *testing.T) {
	for name, where := range map[string]string{"plain": "plain", "odd files": "files"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			dir := filepath.Join(w.root, where)
			for _, f := range []string{"a", "?", "*", "@", "$", "#", "0", "]", "if", "fi;", "do", "x y", "$(touch pwned)", "x;touch pwned;", ":touch pwned", "$__inner_dir\":;touch pwned;", "__inner_rc=$#;", "{", "}", "[[", "__inner_", "0i", "((;"} {
				w.write(filepath.Join(dir, f), "")
			}
			w.rc("bash", "eval $(cat "+w.hook("bash")+")\n")
			s := w.launch("bash", argv("bash"), dir)
			s.wantFirst("unquoted")
			s.wantCalls(1, "unquoted")
			s.cd(w.project)
			s.cd(dir)
			s.wantCalls(3, "unquoted, moved")
			if strings.Contains(s.shown(), "rror") {
				t.Errorf("bash complained: %q", s.shown())
			}
			if _, err := os.Stat(filepath.Join(dir, "pwned")); err == nil {
				t.Error("a file name was run")
			}
			s.run("eval $(cat %s)", w.hook("bash"))
			if got := s.get(`"${PROMPT_COMMAND[@]}"`); len(got) != 1 || got[0] != "__inner_prompt && :" {
				t.Errorf("PROMPT_COMMAND is %q", got)
			}
		})
	}
}

// No word of the text may be taken for a wildcard: a file of that name, in a
// folder somebody cloned, would become part of what is evaluated.
func TestBashTextHasNoWildcard(t *testing.T) {
	text, err := scriptOf("bash", script.Vars{Inner: "/a b/*", Command: "/c", ShimDir: "/c?d/[e]", StateFile: "/f'g"})
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range strings.Fields(text) {
		if rest := strings.ReplaceAll(word, "$?;", ""); strings.ContainsAny(rest, "*?") && !strings.HasPrefix(word, "$'") {
			t.Errorf("the word %s holds a wildcard", word)
		}
	}
}

func TestBashKeepsStatus(t *testing.T) {
	w := newWorld(t)
	s := w.start("bash")
	for _, change := range []string{":", "cd " + w.project, "PATH=/usr/bin:/bin"} {
		s.run("%s", change)
		out := filepath.Join(w.root, "status")
		// Typed in one go, so that nothing but prompts lies between.
		s.send("false | true | (exit 7)\n")
		s.send("printf '%s ' $? >" + out + "\n")
		s.send("false | true | (exit 7)\n")
		s.send("printf '%s ' ${PIPESTATUS[@]} >>" + out + "\n")
		s.send("echo one two-words\n")
		s.send("printf '%s ' \"$_\" >>" + out + "\n")
		s.sync()
		got, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != "7 1 0 7 two-words " {
			t.Errorf("after %q the next command sees %q", change, got)
		}
	}
}

// A prompt entry that comes after the hook still sees the status.
func TestBashStatusForLaterEntries(t *testing.T) {
	w := newWorld(t)
	s := w.startBash("", `PROMPT_COMMAND+=$'\n''echo "later $?"'`)
	s.line("(exit 9)")
	s.await("later 9\r\n", 1)
	s.line("cd " + w.project + "; (exit 8)")
	s.await("later 8\r\n", 1)
	s.line("! :")
	s.await("later 1\r\n", 1)
}

// A restricted shell has the shims, and no hook at the prompt, which could run nothing there.
func TestBashRestricted(t *testing.T) {
	w := newWorld(t)
	w.rc("bash", w.evalHook("bash"))
	s := w.launch("bash", []string{"bash", "-r", "-i"}, w.project)
	s.line(`echo "first-$PATH"`)
	s.await("first-"+w.shims+":", 1)
	if strings.Contains(s.shown(), "restricted: ") {
		t.Errorf("shown: %q", s.shown())
	}
}

// A command that fails counts once for a trap on ERR, and not again at the prompt.
func TestFailureIsTrappedOnce(t *testing.T) {
	w := newWorld(t)
	s := w.startBash("", "")
	s.run("trap '((traps += 1))' ERR; set -E")
	s.line("cd " + w.project + "; (exit 8)")
	s.line("(exit 9)")
	if got := s.get(`"$traps"`)[0]; got != "2" {
		t.Errorf("bash: two failures were trapped %s times", got)
	}
	for _, o := range others() {
		if o.program == "mksh" {
			w := newWorld(t)
			s := w.startOther(o, w.project, "", "")
			s.line("traps=; trap 'traps=x$traps' ERR")
			s.line("(exit 9)")
			s.send("(exit 8)\r")
			s.nothing()
			s.line("echo traps-$traps-")
			if !strings.Contains(s.shown(), "traps-xx-") {
				t.Errorf("mksh: shown: %q", s.shown())
			}
		}
	}
}

// Prompts, changes of folder and asked inners leave traps, options, variables
// and functions of the user alone, and export nothing.
func TestBashLeavesTheShellAlone(t *testing.T) {
	w := newWorld(t)
	s := w.startBash(`trap 'echo int' INT
trap 'echo usr' USR1
trap 'echo bye' EXIT
i=mine rest=mine p=mine line=mine REPLY=mine BASH_REMATCH=mine vars=mine
readonly readonly_mine=1
f() { echo mine; }
alias foo=bar`, "")
	s.cd(w.project)
	snapshot := func() string {
		return strings.Join(s.get(`"$(trap -p; shopt; set -o; alias; declare -f f; declare -p | grep -v -E -e '-- (__inner_|_=|BASH_|LINENO|RANDOM|SRANDOM|SECONDS|EPOCH|PIPESTATUS|HISTCMD|OLDPWD|PWD|LINES|COLUMNS|FUNCNAME)' -e '-[a-z]+ (PWD|OLDPWD|BASH|FUNCNAME|DIRSTACK|GROUPS|EPOCH|RANDOM|SRANDOM|LINENO|SECONDS|HISTCMD|PATH|_)' )"`), "\n")
	}
	before := snapshot()
	for range 3 {
		s.cd(w.plain)
		s.run("PATH=/usr/bin:/bin")
		s.cd(w.project)
		w.setToken(fmt.Sprint(len(w.calls())))
		s.line(":")
	}
	if after := snapshot(); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	s.run("set -a; cd %s", w.plain)
	s.cd(w.project)
	s.run("eval \"$(cat %s)\"", w.hook("bash"))
	s.cd(w.plain)
	if got := s.get(`"$(export -p; declare -Fx; env)"`)[0]; strings.Contains(got, "__inner") || strings.Contains(got, "BASH_FUNC_inner") {
		t.Errorf("exported under set -a: %s", got)
	}
}

func TestBashPromptCommand(t *testing.T) {
	for name, c := range map[string]struct{ before, want string }{
		"unset":           {"unset PROMPT_COMMAND", "<__inner_prompt && :>"},
		"empty":           {"PROMPT_COMMAND=", "<__inner_prompt && :>"},
		"string":          {"PROMPT_COMMAND='echo user'", "<echo user\n__inner_prompt && :>"},
		"semicolon":       {"PROMPT_COMMAND='echo user;'", "<echo user;\n__inner_prompt && :>"},
		"semicolon blank": {"PROMPT_COMMAND='echo user; '", "<echo user; \n__inner_prompt && :>"},
		"newline":         {"PROMPT_COMMAND=$'echo user\\n'", "<echo user\n\n__inner_prompt && :>"},
		"comment":         {"PROMPT_COMMAND='echo user # all'", "<echo user # all\n__inner_prompt && :>"},
		"background":      {"PROMPT_COMMAND='echo user & '", "<echo user & \n__inner_prompt && :>"},
		"array":           {"PROMPT_COMMAND=('echo user' ':')", "<echo user><:><__inner_prompt && :>"},
		"array of one":    {"PROMPT_COMMAND=('echo user')", "<echo user><__inner_prompt && :>"},
		"sparse array":    {"PROMPT_COMMAND=([3]='echo user' [7]=:)", "<echo user><:><__inner_prompt && :>"},
		"exported":        {"export PROMPT_COMMAND='echo user'", "<echo user\n${__inner_bin:+__inner_prompt} && :>"},
		"set -u":          {"set -u; unset PROMPT_COMMAND", "<__inner_prompt && :>"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			s := w.startBash(c.before, w.evalHook("bash"))
			if got := s.get(`"$(printf '<%s>' "${PROMPT_COMMAND[@]}")"`)[0]; got != c.want {
				t.Errorf("PROMPT_COMMAND is %q, want %q", got, c.want)
			}
			s.cd(w.project)
			s.wantCalls(2, "moved")
			if strings.Contains(c.before, "user") && !strings.Contains(s.shown(), "user\r\n") {
				t.Error("the user's entry does not run")
			}
			if strings.Contains(s.shown(), "rror") {
				t.Errorf("bash complained: %q", s.shown())
			}
			if name == "exported" {
				s.line("bash --norc -i")
				s.line(":")
				if strings.Contains(s.shown(), "not found") {
					t.Errorf("a child without the hook complains: %q", s.shown())
				}
				s.line("exit")
			}
		})
	}
}

func TestBashReadOnly(t *testing.T) {
	for name, c := range map[string]struct{ before, says string }{
		"PROMPT_COMMAND":       {"readonly PROMPT_COMMAND=:", "inner: warning: PROMPT_COMMAND is read-only"},
		"PROMPT_COMMAND unset": {"readonly PROMPT_COMMAND", "inner: warning: PROMPT_COMMAND is read-only"},
		"PROMPT_COMMAND array": {"PROMPT_COMMAND=(: :); readonly PROMPT_COMMAND", "inner: warning: PROMPT_COMMAND is read-only"},
		"PATH":                 {"readonly PATH", "inner: warning: PATH is read-only"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			s := w.startBash(c.before, "echo rest-of-the-file")
			s.cd(w.project)
			s.line(":")
			shown := s.shown()
			if strings.Count(shown, c.says) != 1 || strings.Count(shown, "read-only") != 1 || strings.Contains(shown, "readonly variable") {
				t.Errorf("shown: %q", shown)
			}
			if !strings.Contains(shown, "rest-of-the-file") {
				t.Error("the start-up file stopped")
			}
			if name != "PATH" {
				s.wantFirst(name)
			}
		})
	}
	// PATH made read-only later: nothing breaks.
	s := newWorld(t).start("bash")
	s.run("PATH=/usr/bin:/bin; readonly PATH")
	shown := len(s.shown())
	s.cd(s.w.project)
	s.line(":")
	if strings.Contains(s.shown()[shown:], "readonly") {
		t.Errorf("shown: %q", s.shown()[shown:])
	}
}

// Programs that take PROMPT_COMMAND over and run what was in it themselves.
func TestBashTakenOver(t *testing.T) {
	starship := `starship_precmd() { eval "$STARSHIP_PROMPT_COMMAND"; PS1='> '; }
STARSHIP_PROMPT_COMMAND=$PROMPT_COMMAND
PROMPT_COMMAND=starship_precmd
`
	vscode := `__vsc_original_prompt_command=${PROMPT_COMMAND-}
__vsc_prompt_cmd_original() { __vsc_status=$?; eval "${__vsc_original_prompt_command}"; }
PROMPT_COMMAND=__vsc_prompt_cmd_original
`
	preexec := `__bp_precmd_invoke_cmd() { __bp_last=$?; return $__bp_last; }
__bp_interactive_mode() { __bp_on=1; }
__bp_trim() { :; }
PROMPT_COMMAND=$'__bp_precmd_invoke_cmd\n'"$PROMPT_COMMAND"$'\n__bp_interactive_mode'
trap 'true "$BASH_COMMAND"' DEBUG
`
	for name, text := range map[string]string{"starship": starship, "vscode": vscode, "preexec": preexec} {
		for order := range 2 {
			t.Run(fmt.Sprint(name, order), func(t *testing.T) {
				w := newWorld(t)
				before, after := text, w.evalHook("bash")
				if order == 1 {
					before, after = "", text+w.evalHook("bash")
				}
				s := w.startBash(before, after)
				s.run("__inner_count=0; eval \"$(declare -f __inner_update | sed '1,2s/{/{ : $((__inner_count++));/')\"; eval \"$(declare -f __inner_prompt | sed 's/local __inner_rc/: $((__inner_prompts++)); local __inner_rc/')\"; __inner_prompts=0")
				before10 := s.get(`"$__inner_prompts"`)[0]
				for range 10 {
					s.send("\n")
				}
				after10 := s.get(`"$__inner_prompts"`)[0]
				var a, b int
				fmt.Sscan(before10, &a)
				fmt.Sscan(after10, &b)
				// Besides the ten, get draws two prompts.
				if b-a != 12 {
					t.Errorf("the hook ran %d times in 12 prompts", b-a)
				}
				s.cd(w.project)
				s.run("PATH=/usr/bin:/bin")
				s.wantFirst(name)
				s.wantCalls(2, name)
			})
		}
	}
}

func TestBashOptions(t *testing.T) {
	for _, o := range []string{
		"set -u", "set -e", "set -C", "set -f", "set -E; trap 'err=1' ERR", "set -T; trap ': debug' DEBUG", "set -eu -o pipefail", "set -a", "set -o posix", "set +h", "set +B", "set -P", "set -h -m",
		"IFS=:", "IFS=", "IFS=_", "IFS=/", "IFS=1", "IFS=$' \\t\\n_inerbash/'", "shopt -s nocasematch", "shopt -s extglob", "shopt -s failglob", "shopt -s nullglob", "shopt -s nocaseglob", "shopt -s checkhash", "shopt -s autocd cdspell", "shopt -s extdebug",
		"shopt -s localvar_inherit 2>/dev/null", "shopt -u sourcepath", "shopt -s compat44", "shopt -s inherit_errexit", "shopt -s gnu_errfmt", "shopt -s xpg_echo", "shopt -u promptvars",
		"alias read=false hash=false shopt=false export=false unset=false test=false '['=false",
		"read() { false; }; printf() { command printf \"$@\"; }; hash() { false; }; test() { false; }; shopt() { false; }; local_() { :; }",
		"readonly i=1 p=1 rest=1 line=1 REPLY=1 out=1",
		"exec 2>/dev/null",
	} {
		t.Run(o, func(t *testing.T) {
			w := newWorld(t)
			options := `"$(shopt -po; builtin shopt -p 2>/dev/null)"`
			if strings.Contains(o, "alias") || strings.Contains(o, "()") {
				options = `"$-"`
			}
			s := w.startBash(o, "")
			before := s.get(options)[0]
			s.cd(w.project)
			s.line(":")
			s.line(":")
			s.wantCalls(2, o)
			s.wantFirst(o)
			s.run("PATH=/usr/bin:/bin")
			s.wantFirst(o)
			w.setToken("second")
			s.line(":")
			s.wantCalls(3, o)
			s.cd(w.plain)
			s.wantCalls(4, o)
			s.line("! :")
			s.line(":")
			if after := s.get(options)[0]; after != before {
				t.Errorf("options were\n%s\nand are\n%s", before, after)
			}
			for _, word := range []string{"rror", "unbound", "readonly", "not found", "syntax"} {
				if strings.Contains(s.shown(), word) && !strings.Contains(o, word) {
					t.Errorf("bash complained (%q): %q", word, s.shown())
					break
				}
			}
			// And with the option set only later, by hand.
			w2 := newWorld(t)
			s = w2.start("bash")
			s.run("%s", o)
			s.cd(w2.project)
			s.line(":")
			s.wantCalls(2, o+" set later")
			s.wantFirst(o + " set later")
		})
	}
}

// Two folders that differ only by case are two folders, also under
// nocasematch.
func TestBashNocasematchFolders(t *testing.T) {
	w := newWorld(t)
	s := w.startBash("shopt -s nocasematch", "")
	w.makeProject(w.root+"/proj", "lower")
	w.makeProject(w.root+"/PROJ", "upper")
	s.cd(w.root + "/proj")
	s.cd(w.root + "/PROJ")
	if !strings.Contains(s.shown(), `NOTICE "lower"`) || !strings.Contains(s.shown(), `NOTICE "upper"`) {
		t.Errorf("shown: %q", s.shown())
	}
	other := strings.ToUpper(w.shims)
	s.run("PATH=%s:/usr/bin:/bin", other)
	if got, want := s.path(), w.shims+":"+other+":/usr/bin:/bin"; got != want {
		t.Errorf("PATH is %q, want %q", got, want)
	}
}

// set -x shows one line of the hook at an unchanged prompt.
func TestTraceIsShort(t *testing.T) {
	// Ten lines, ten synchronising ones, and the prompt just being drawn. The hook of zsh runs before each
	// command, too.
	for shell, most := range map[string]int{"bash": 21, "zsh": 41} {
		t.Run(shell, func(t *testing.T) {
			s := newWorld(t).start(shell)
			s.cd(s.w.project)
			s.line("set -x")
			from := len(s.shown())
			for range 10 {
				s.line(":")
			}
			lines := 0
			for line := range strings.Lines(s.shown()[from:]) {
				if strings.HasPrefix(strings.TrimSpace(line), "+") && strings.Contains(line, "inner") {
					lines++
				}
			}
			if lines > most {
				t.Errorf("%d lines of trace at 21 prompts:\n%s", lines, s.shown()[from:])
			}
			if s.cd(s.w.plain); len(s.w.calls()) != 3 {
				t.Errorf("%d calls, want 3", len(s.w.calls()))
			}
			s.run("set +x")
			s.wantFirst("after set -x")
		})
	}
}

// TestLooksInTurn: with more than two files to watch, one that was edited in place is
// noticed within as many prompts as there are files; a new one at once.
func TestLooksInTurn(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		t.Run(shell, func(t *testing.T) { looksInTurn(t, newWorld(t).start(shell)) })
	}
}

func looksInTurn(t *testing.T, s *session) {
	profiles := filepath.Join(s.w.project, ".inner", "profiles")
	for _, name := range []string{"one", "two", "three"} {
		if err := os.WriteFile(filepath.Join(profiles, name+".toml"), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	calm := func() int {
		calls := -1
		until(t, "quiet prompts", func() bool {
			before := len(s.w.calls())
			for range 5 {
				s.line(":")
			}
			calls = len(s.w.calls())
			return calls == before
		})
		return calls
	}
	s.cd(s.w.project)
	for _, name := range []string{"claude", "one", "two", "three"} {
		calls := calm()
		if err := os.WriteFile(filepath.Join(profiles, name+".toml"), []byte("again "+name), 0o644); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			s.line(":")
		}
		if len(s.w.calls()) == calls {
			t.Errorf("%s.toml was edited, and nothing asked in four prompts", name)
		}
	}
	calls := calm()
	if err := os.WriteFile(filepath.Join(profiles, "new.toml"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if s.line(":"); len(s.w.calls()) == calls {
		t.Error("a profile was added, and nothing asked at the next prompt")
	}
}
