package hooks

import (
	"strings"
	"testing"
)

const outside = "runs outside the sandbox"

// Whatever a shell takes before PATH under the name of a command claimed here is seen
// at the next prompt and said once, with the cure, and the cure works. What comes to
// the shim all the same is not mentioned.
func TestShadowsAreSaidOnce(t *testing.T) {
	type step struct{ make, cure string }
	wrong := map[string][]step{
		"bash": {
			{"alias claude=/opt/claude", "unalias claude"},
			{"alias claude='npx claude-code'", "unalias claude"},
			{"claude() { /opt/claude \"$@\"; }", "unset -f claude"},
			{"alias run.sh=./run.sh", "unalias run.sh"},
		},
		"zsh": {
			{"alias claude=/opt/claude", "unalias claude"},
			{"alias -g claude='/opt/other/claude -x'", "unalias 'claude'"},
			{"alias -s sh='/bin/bash'", "unalias -s sh"},
			{"claude() { /opt/claude \"$@\"; }", "unset -f claude"},
			{"autoload claude", "unset -f claude"},
		},
		"fish": {
			{"alias claude=/opt/claude", "functions --erase claude"},
			{"function claude; /opt/other/claude $argv; end", "functions --erase claude"},
			{"abbr --add claude /opt/claude", "abbr --erase claude"},
		},
	}
	right := map[string][]step{
		"bash": {{"alias claude='claude --verbose'", "unalias claude"}, {"alias claude='command claude'", "unalias claude"}, {"claude() { command claude -v \"$@\"; }", "unset -f claude"}, {"alias c=/opt/claude", "unalias c"}, {"alias c='claude --verbose' claude='c -x'", "unalias c claude"}},
		"zsh":  {{"alias claude='noglob claude'", "unalias claude"}, {"claude() { command claude -v \"$@\"; }", "unset -f claude"}, {"alias -s txt=vim", "unalias -s txt"}},
		"fish": {{"alias claude='command claude --verbose'", "functions --erase claude"}, {"abbr --add claude claude --verbose", "abbr --erase claude"}},
	}
	each(t, func(t *testing.T, shell string) {
		s := newWorld(t).start(shell)
		variable := func() string {
			if shell == "fish" {
				return s.get(`"$__INNER_SHELL"`)[0]
			}
			return s.get(`"${__INNER_SHELL-}"`)[0]
		}
		said, told := 0, map[string]bool{}
		want := func(more int, about string) {
			t.Helper()
			said += more
			if got := strings.Count(s.shown(), outside); got != said {
				t.Fatalf("%s: said %d times, want %d", about, got, said)
			}
		}
		// Where nothing claims the command, nothing is said.
		s.run("%s", wrong[shell][0].make)
		s.line(":")
		want(0, "outside a project")
		s.run("%s", wrong[shell][0].cure)
		s.cd(s.w.project)
		s.line(":")
		for _, c := range right[shell] {
			s.run("%s", c.make)
			s.line(":")
			want(0, c.make)
			if got := variable(); got != "" {
				t.Errorf("%s: the variable is %q", c.make, got)
			}
			s.run("%s", c.cure)
			s.line(":")
		}
		for _, c := range wrong[shell] {
			s.run("%s", c.make)
			s.line(":")
			line := c.cure // an alias is told with its value, a function by its name alone
			if strings.Contains(c.make, "alias") && shell != "fish" || strings.Contains(c.make, "abbr") {
				line = c.make
			}
			if !told[line] {
				said++
			}
			told[line] = true
			want(0, c.make)
			if !strings.Contains(s.shown(), "type `"+c.cure+"`") {
				t.Errorf("%s: the cure is not said", c.make)
			}
			if pid, list := ParseShellValue(variable()); pid != s.pid() || len(list) != 1 {
				t.Errorf("%s: the variable is %q", c.make, variable())
			}
			calls := len(s.w.calls())
			for range 5 {
				s.line(":")
			}
			s.wantCalls(calls, "unchanged prompts after "+c.make)
			want(0, "again: "+c.make)
			s.cd(s.w.plain)
			if got := variable(); got != "" {
				t.Errorf("%s: outside the project the variable is %q", c.make, got)
			}
			s.cd(s.w.project)
			s.line(":")
			want(0, "back: "+c.make)
			s.run("%s", c.cure)
			s.line(":")
			if got := variable(); got != "" {
				t.Errorf("%s: after the cure the variable is %q", c.make, got)
			}
			want(0, c.cure)
		}
	})
}

// One made before the hook, as an installer writes it into the start-up file.
func TestShadowFromTheStartupFile(t *testing.T) {
	each(t, func(t *testing.T, shell string) {
		w := newWorld(t)
		global := map[string]string{"zsh": "-g "}[shell] // which replaces words of the answer, too
		w.rc(shell, "alias "+global+"claude=/opt/claude\n"+w.evalHook(shell))
		s := w.launch(shell, argv(shell), w.project)
		s.line(":")
		if got := strings.Count(s.shown(), outside); got != 1 {
			t.Fatalf("said %d times", got)
		}
	})
}

// An alias called inner does not keep the hook from being read: aliases are expanded as text.
func TestAliasOfInner(t *testing.T) {
	each(t, func(t *testing.T, shell string) {
		w := newWorld(t)
		w.rc(shell, "alias inner='/opt/inner --verbose'\n"+w.evalHook(shell))
		s := w.launch(shell, argv(shell), w.project)
		s.line(":")
		s.wantFirst("an alias called inner")
	})
}

// A place that the shell was told to remember does not stay before the shim.
func TestRememberedPlace(t *testing.T) {
	for shell, set := range map[string]string{"bash": "hash -p /opt/claude claude", "zsh": "hash claude=/opt/claude"} {
		w := newWorld(t)
		w.write(w.shims+"/claude", "#!/bin/sh\necho the shim\n")
		s := w.start(shell)
		s.cd(w.project)
		s.run("%s", set)
		s.line("claude")
		s.await("the shim", 1)
	}
}

// Where there is no inner, the hook makes one; where there is, it is let be.
func TestInnerIsThere(t *testing.T) {
	each(t, func(t *testing.T, shell string) {
		w := newWorld(t)
		s := w.start(shell)
		calls := len(w.calls())
		s.line("inner __hook bash '' '' /")
		s.wantCalls(calls+1, "inner was typed")
		if shell == "bash" { // jobs shows the body of the function
			if body := strings.Join(s.get(`"$(declare -f inner)"`), "\n"); !strings.Contains(body, "/inner \"$@\"") {
				t.Errorf("the function is %s", body)
			}
		}

		w = newWorld(t)
		w.rc(shell, "function inner\n\necho mine\nend\n"+w.evalHook(shell))
		if shell != "fish" {
			w.rc(shell, "inner() { echo mine; }\n"+w.evalHook(shell))
		}
		s = w.launch(shell, argv(shell), w.plain)
		s.line("inner")
		s.await("mine", 1)
	})
}
