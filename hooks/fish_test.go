package hooks

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func (w *world) startFish(before, after string) *session {
	w.t.Helper()
	w.rc("fish", before+"\n"+w.evalHook("fish")+after+"\n")
	return w.launch("fish", argv("fish"), w.plain)
}

func TestFishKeepsStatus(t *testing.T) {
	w := newWorld(t)
	s := w.startFish("", "")
	for _, change := range []string{":", "cd " + w.project, "set -gx PATH /usr/bin /bin"} {
		s.run("%s", change)
		out := filepath.Join(w.root, "status")
		s.send("false | true | sh -c 'exit 7'\n")
		s.send("printf '%s ' $status >" + out + "\n")
		s.send("false | true | sh -c 'exit 7'\n")
		s.send("printf '%s ' $pipestatus >>" + out + "\n")
		s.sync()
		got, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != "7 1 0 7 " {
			t.Errorf("after %q the next command sees %q", change, got)
		}
	}
}

// Alt-Left goes back a folder while a line is being edited: no prompt event
// follows.
// TestFishLast has a function behind the hook change PATH before each command.
func TestFishLast(t *testing.T) {
	w := newWorld(t)
	s := w.startFish("", "function late --on-event fish_preexec; set -gx PATH /usr/bin $PATH; end")
	s.wantFirst("at the first command")
	s.cd(w.project)
	s.wantFirst("in the project")
}

func TestFishAltArrow(t *testing.T) {
	w := newWorld(t)
	s := w.startFish("", "")
	s.cd(w.project)
	s.cd(w.plain)
	s.wantCalls(3, "moved")
	s.send("\x1b[1;3D")
	until(t, "a call", func() bool { return len(w.calls()) == 4 })
	s.await("NOTICE", 2)
	s.sync()
	s.wantCalls(4, "after Alt-Left")
}

// A folder changed and changed back inside a command substitution, as prompt
// themes do, is nothing; one that stays is noticed at the prompt.
func TestFishCommandSubstitution(t *testing.T) {
	w := newWorld(t)
	s := w.startFish("", "")
	s.run("set -l x (cd %s; pwd; cd %s)", w.project, w.plain)
	s.wantCalls(1, "there and back")
	s.run("set -l x (cd %s; pwd)", w.project)
	s.wantCalls(2, "there")
	if s.notices() != 1 {
		t.Errorf("%d notices, want 1", s.notices())
	}
	// Helpers that a prompt runs start fish themselves.
	s.run("function fish_prompt; fish -c 'true'; echo '> '; end")
	for range 5 {
		s.line(":")
	}
	s.wantCalls(2, "fish -c in the prompt")
}

// Without the tests of times and links that fish 3.6 brought, folder and PATH
// are still followed.
func TestFishBefore36(t *testing.T) {
	w := newWorld(t)
	text, err := scriptOf("fish", w.vars())
	if err != nil {
		t.Fatal(err)
	}
	old := strings.Replace(text, "test / -ef /", "false", 1)
	if old == text {
		t.Fatal("the probe is gone")
	}
	w.write(w.root+"/old", old)
	w.rc("fish", "source "+w.root+"/old\n")
	s := w.launch("fish", argv("fish"), w.plain)
	s.wantFirst("old fish")
	s.cd(w.project)
	for range 5 {
		s.line(":")
	}
	s.wantCalls(2, "old fish")
	s.run("set -gx PATH /usr/bin /bin")
	s.wantFirst("old fish")
	if got := s.get("(functions __inner_prompt)"); strings.Contains(strings.Join(got, " "), "-ef") || strings.Contains(strings.Join(got, " "), "-nt") {
		t.Errorf("the prompt function uses what is not there: %q", got)
	}
}

func TestFishLeavesTheShellAlone(t *testing.T) {
	w := newWorld(t)
	s := w.startFish("set -g p mine; set -g rest mine; set -g line mine; set -g t mine; set -g go mine; set -gx i mine; function f; echo mine; end; function g --on-event fish_prompt; set -g seen_by_g $status; end", "")
	s.cd(w.project)
	const all = "(set --names | string match -v '__inner_*'; functions --all --names | string match -v '__inner_*'; echo $p $rest $line $t $go $i; functions --handlers | string match -v '*__inner_*')"
	before := s.get(all)
	for range 3 {
		s.cd(w.plain)
		s.run("set -gx PATH /usr/bin /bin")
		s.cd(w.project)
		s.line(":")
	}
	drop := func(names []string) []string {
		// fish loads functions on demand and keeps these itself.
		return slices.DeleteFunc(names, func(n string) bool {
			return strings.HasPrefix(n, "dirprev") || strings.HasPrefix(n, "dirnext") || strings.HasPrefix(n, "__fish_cd_direction")
		})
	}
	after := drop(s.get(all))
	if before = drop(before); !slices.Equal(after, before) {
		t.Errorf("before:\n%q\nafter:\n%q", before, after)
	}
	if got := strings.Join(s.get("(env)"), " "); strings.Contains(got, "__inner") {
		t.Errorf("exported: %s", got)
	}
}
