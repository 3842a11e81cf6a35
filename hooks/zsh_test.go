package hooks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func (w *world) startZsh(before, after string) *session {
	w.t.Helper()
	w.rc("zsh", before+"\n"+w.evalHook("zsh")+after+"\n")
	return w.launch("zsh", argv("zsh"), w.plain)
}

func TestZshOptions(t *testing.T) {
	for _, o := range []string{
		"setopt ksharrays", "setopt shwordsplit", "setopt nounset", "setopt errexit", "setopt errreturn", "setopt noclobber", "setopt globsubst", "setopt nonomatch", "setopt nullglob", "setopt cshnullglob",
		"setopt allexport", "setopt warncreateglobal", "setopt warnnestedvar", "setopt kshglob", "setopt shglob", "setopt extendedglob", "setopt ignorebraces", "setopt rcquotes", "setopt posixbuiltins", "setopt posixidentifiers",
		"setopt posixtraps", "setopt pipefail", "setopt kshtypeset", "setopt globassign", "setopt interactivecomments", "setopt autocd", "setopt pathdirs", "setopt nohashcmds", "setopt noaliases", "setopt cshjunkiequotes", "setopt cshjunkieloops", "setopt noshortloops",
		"setopt kshoptionprint", "setopt promptsubst", "setopt noprompt_percent", "setopt octalzeroes", "setopt cbases", "setopt noequals", "setopt magicequalsubst", "setopt chaselinks", "setopt pushdsilent autopushd", "setopt noglob", "setopt nocasematch", "setopt nocaseglob",
		"setopt ksharrays shwordsplit nounset errexit noclobber warncreateglobal warnnestedvar",
		"IFS=:", "IFS=", "IFS=_", "typeset -U path", "alias read=false hash=false rehash=false setopt=false typeset=false test=false",
		"setopt noaliasfuncdef; readonly rest=1 line=1 out=1 p=1", "exec 2>/dev/null",
	} {
		t.Run(o, func(t *testing.T) {
			w := newWorld(t)
			s := w.startZsh(o, "")
			const options = `"$(builtin setopt | grep -v monitor)"`
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
			if after := s.get(options)[0]; after != before {
				t.Errorf("options were\n%s\nand are\n%s", before, after)
			}
			if got := s.get(`"$(env)"`)[0]; strings.Contains(got, "__inner") {
				t.Errorf("exported: %s", got)
			}
			for _, word := range []string{"rror", "not set", "read-only", "not found", "created", "in enclosing scope", "bad pattern"} {
				if strings.Contains(s.shown(), word) {
					t.Errorf("zsh complained (%q): %q", word, s.shown())
					break
				}
			}
			w2 := newWorld(t)
			s = w2.startZsh("", "")
			s.run("%s", o)
			s.cd(w2.project)
			s.line(":")
			s.wantCalls(2, o+" set later")
			s.wantFirst(o + " set later")
		})
	}
}

func TestZshKeepsStatus(t *testing.T) {
	w := newWorld(t)
	s := w.startZsh("", "precmd_functions+=(later); later() { print -r -- \"later $?\" }")
	for _, change := range []string{":", "cd " + w.project, "PATH=/usr/bin:/bin"} {
		s.run("%s", change)
		out := filepath.Join(w.root, "status")
		s.send("false | true | (exit 7)\n")
		s.send("printf '%s ' $? >" + out + "\n")
		s.send("false | true | (exit 7)\n")
		s.send("printf '%s ' $pipestatus >>" + out + "\n")
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
	s.await("later 7", 6)
}

// What completion and command substitutions do with folders in subshells is no
// business of the hook's.
func TestZshSubshells(t *testing.T) {
	w := newWorld(t)
	s := w.startZsh("autoload -Uz compinit; compinit -u -d $HOME/dump", "")
	calls := len(w.calls())
	s.run("(cd %s); x=$(cd %s && pwd); print -r -- \"$x\"", w.project, w.project)
	s.wantCalls(calls, "subshells")
	s.line("cd " + w.root)
	s.wantCalls(calls+1, "moved")
	s.send("cd plain/../pro\t")
	s.await("../project", 1)
	s.wantCalls(calls+1, "while completing")
	s.send("\n")
	s.sync()
	s.wantCalls(calls+2, "completed")
	if got := s.get(`"$PWD"`)[0]; got != w.project {
		t.Errorf("the folder is %q", got)
	}
}

// A widget changes the folder: no prompt follows, and it is noticed all the
// same, with the notice above the line being edited.
func TestZshWidget(t *testing.T) {
	w := newWorld(t)
	s := w.startZsh("go-there() { cd "+w.project+"; zle reset-prompt }; zle -N go-there; bindkey '^G' go-there", "")
	s.send("print typed-before")
	s.send("\x07")
	until(t, "a call", func() bool { return len(w.calls()) == 2 })
	s.await("NOTICE", 1)
	s.send("-and-after\n")
	s.await("typed-before-and-after\r\n", 1)
	s.sync()
	s.wantCalls(2, "after the widget")
	s.wantFirst("after the widget")
}

func TestZshLeavesTheShellAlone(t *testing.T) {
	w := newWorld(t)
	s := w.startZsh(`trap 'echo int' INT
trap 'echo bye' EXIT
TRAPUSR1() { echo usr }
i=mine rest=mine p=mine line=mine REPLY=mine MATCH=mine reply=(mine) match=(mine)
typeset -r readonly_mine=1
f() { echo mine }
add-precmd() { : }; precmd_functions=(add-precmd "with space"); "with space"() { : }
precmd() { : }; chpwd() { : }
alias foo=bar`, "")
	s.cd(w.project)
	const all = `"$(trap; setopt; alias; whence -f f TRAPUSR1 precmd chpwd; print -rl -- $precmd_functions $chpwd_functions; typeset -p i rest p line REPLY MATCH reply match readonly_mine IFS options; print -rl -- ${(ok)parameters:#(__inner_*|RANDOM)} ${(ok)functions:#__inner_*})"`
	before := s.get(all)[0]
	for range 3 {
		s.cd(w.plain)
		s.run("PATH=/usr/bin:/bin")
		s.cd(w.project)
		s.line(":")
	}
	if after := s.get(all)[0]; after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	if !strings.Contains(before, "add-precmd\nwith space\n__inner_prompt\n__inner_chpwd") {
		t.Errorf("hook functions: %s", before)
	}
}

// TestZshLast has functions behind the hook's change PATH, at the first prompt too.
func TestZshLast(t *testing.T) {
	w := newWorld(t)
	s := w.startZsh("", "late() { PATH=/usr/bin:$PATH }; for w in precmd preexec chpwd; do eval \"${w}_functions+=(late)\"; done")
	s.wantFirst("at the first command")
	s.run("cd -- %s; first=$path[1]", w.project)
	if first := s.get(`"$first"`)[0]; first != w.shims {
		t.Errorf("behind cd on its line %q comes first", first)
	}
	s.wantFirst("in the project")
}

func TestZshReadOnly(t *testing.T) {
	for _, before := range []string{"typeset -r PATH", "precmd_functions=(); typeset -r precmd_functions", "typeset -ra preexec_functions", "typeset -ra chpwd_functions"} {
		w := newWorld(t)
		s := w.startZsh(before, "echo rest-of-the-file")
		s.cd(w.project)
		if shown := s.shown(); strings.Count(shown, "read-only") != 1 || !strings.Contains(shown, "inner: warning") || !strings.Contains(shown, "rest-of-the-file") {
			t.Errorf("%s: %q", before, shown)
		}
	}
	s := newWorld(t).startZsh("", "")
	s.run("PATH=/usr/bin:/bin; typeset -r PATH")
	s.cd(s.w.project)
	s.line(":")
	shown := len(s.shown())
	for range 5 {
		s.line(":")
	}
	if strings.Contains(s.shown()[shown:], "read-only") {
		t.Errorf("repeats: %q", s.shown()[shown:])
	}
}
