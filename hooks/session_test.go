package hooks

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A nested shell has a state of its own.
func TestNestedShell(t *testing.T) {
	each(t, func(t *testing.T, shell string) {
		s := newWorld(t).start(shell)
		s.cd(s.w.project)
		calls := len(s.w.calls())
		s.line(strings.Join(argv(shell), " "))
		if got := s.get(map[bool]string{true: "$SHLVL", false: `"$SHLVL"`}[shell == "fish"]); got[0] == "1" {
			t.Fatal("no nested shell")
		}
		s.wantCalls(calls+1, "the nested shell looks for itself")
		s.cd(s.w.plain)
		s.wantCalls(calls+2, "the nested shell left")
		s.line("exit")
		for range 3 {
			s.line(":")
		}
		s.wantCalls(calls+2, "back in the outer shell")
		if s.notices() != 2 {
			t.Fatalf("%d notices, want one in each shell", s.notices())
		}
		s.wantFirst("outer shell")
	})
}

// exec into a login shell of the same kind, as a tmux pane starts one.
func TestLoginShell(t *testing.T) {
	each(t, func(t *testing.T, shell string) {
		w := newWorld(t)
		w.rc(shell, w.evalHook(shell))
		reset := "PATH=/usr/local/bin:/usr/bin:/bin\n"
		w.write(w.home+"/.bash_profile", reset+". ~/.bashrc\n")
		w.write(w.home+"/.zprofile", reset)
		s := w.launch(shell, argv(shell), w.project)
		s.line("exec " + strings.Join(argv(shell), " ") + " -l")
		s.wantFirst("login shell")
		if s.notices() != 2 {
			t.Fatalf("%d notices, want one in each shell", s.notices())
		}
	})
}

func TestTmuxPane(t *testing.T) {
	need(t, "tmux")
	each(t, func(t *testing.T, shell string) {
		w := newWorld(t)
		need(t, shell)
		w.rc(shell, w.evalHook(shell))
		w.write(w.home+"/.bash_profile", ". ~/.bashrc\n")
		bin, err := exec.LookPath(shell)
		if err != nil {
			t.Fatal(err)
		}
		socket := filepath.Join(w.root, "tmux")
		tmux := func(args ...string) string {
			t.Helper()
			cmd := exec.Command("tmux", append([]string{"-S", socket, "-f", "/dev/null"}, args...)...)
			cmd.Env = w.env("SHELL=" + bin)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("tmux %q: %v\n%s", args, err, out)
			}
			return string(out)
		}
		tmux("new-session", "-d", "-x", "200", "-y", "50", "-c", w.project)
		defer tmux("kill-server")
		until(t, "a notice in the pane", func() bool { return strings.Contains(tmux("capture-pane", "-p"), "NOTICE") })
		tmux("send-keys", "printf '%s' \"$PATH\" > ~/pane; printf '<%s>\\n' seen", "Enter")
		until(t, "the pane's answer", func() bool { return strings.Contains(tmux("capture-pane", "-p"), "<seen>") })
		got, err := os.ReadFile(w.home + "/pane")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(got), w.shims) {
			t.Fatalf("PATH in the pane is %q", got)
		}
	})
}
