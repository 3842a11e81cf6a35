package hooks

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// At a prompt where nothing changed, no process is started: counted by strace,
// not believed.
func TestUnchangedPromptsForkNothing(t *testing.T) {
	need(t, "strace")
	const prompts = 200
	each(t, func(t *testing.T, shell string) {
		for _, where := range []string{"plain", "project"} {
			t.Run(where, func(t *testing.T) {
				w := newWorld(t)
				w.rc(shell, w.evalHook(shell))
				trace := filepath.Join(w.root, "trace")
				strace := []string{"strace", "-f", "-qq", "-o", trace, "-e", "trace=clone,clone3,fork,vfork,execve,execveat,%%stat,access,faccessat,faccessat2", "-e", "signal=none"}
				s := w.launch(shell, append(strace, argv(shell)...), filepath.Join(w.root, where))
				for range 5 {
					s.line(":")
				}
				calls := len(w.calls())
				s.line("test -e /inner-test-begin")
				for range prompts {
					s.send("\n")
				}
				s.line("test -e /inner-test-end")
				s.wantCalls(calls, "unchanged prompts")
				// The twin that must be counted: a change.
				w.setToken("second")
				s.line("test -e /inner-test-changed")
				s.line("test -e /inner-test-over")
				s.wantCalls(calls+1, "changed")
				data, err := os.ReadFile(trace)
				if err != nil {
					t.Fatal(err)
				}
				_, rest, _ := strings.Cut(string(data), "/inner-test-begin")
				quiet, rest, _ := strings.Cut(rest, "/inner-test-end")
				changed, _, ok := strings.Cut(rest, "/inner-test-over")
				if !ok {
					t.Fatal("the trace does not have the marks")
				}
				if got := processes(quiet); len(got) > 0 {
					t.Errorf("%d processes started during %d prompts:\n%s", len(got), prompts, strings.Join(got, "\n"))
				}
				if tests := strings.Count(quiet, w.state); tests < prompts {
					t.Errorf("the hook looked at the state %d times during %d prompts", tests, prompts)
				}
				if len(processes(changed)) == 0 {
					t.Error("a changed prompt started no process: the count counts nothing")
				}
			})
		}
	})
}

// processes returns the lines of a trace that start a process or a program.
// fish makes threads, which are not processes.
func processes(trace string) []string {
	var out []string
	start := regexp.MustCompile(`^\d+ +(clone|clone3|fork|vfork|execve|execveat)\(`)
	for line := range strings.Lines(trace) {
		if start.MatchString(line) && !strings.Contains(line, "CLONE_THREAD") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

// A failing, hanging-up or missing inner is asked once for a folder, not at
// every prompt, and the prompt stays.
func TestBinaryTrouble(t *testing.T) {
	trouble := map[string]func(w *world) error{
		"fails":          func(w *world) error { return os.WriteFile(w.inner+"/fail", nil, 0o644) },
		"is gone":        func(w *world) error { return os.Remove(w.bin) },
		"is a folder":    func(w *world) error { os.Remove(w.bin); return os.Mkdir(w.bin, 0o700) },
		"not executable": func(w *world) error { os.Remove(w.bin); return os.WriteFile(w.bin, nil, 0o600) },
		"is no program":  func(w *world) error { os.Remove(w.bin); return os.WriteFile(w.bin, []byte("\x7fELF"), 0o700) },
		"says nonsense": func(w *world) error {
			os.Remove(w.bin)
			return os.WriteFile(w.bin, []byte("#!/bin/sh\necho 'if if ((('\necho x >>$INNER_HOME/calls\n"), 0o700)
		},
		"everything is gone": func(w *world) error { return os.RemoveAll(w.inner) },
	}
	for what, make := range trouble {
		t.Run(what, func(t *testing.T) {
			each(t, func(t *testing.T, shell string) {
				s := newWorld(t).start(shell)
				w := s.w
				if err := make(w); err != nil {
					t.Fatal(err)
				}
				s.cd(w.project)
				calls, shown := len(w.calls()), len(s.shown())
				for range 10 {
					s.line(":")
				}
				if len(w.calls()) != calls {
					t.Errorf("asked again: %q", w.calls())
				}
				for _, word := range []string{"inner:", "No such", "denied", "cannot", "rror"} {
					if strings.Contains(s.shown()[shown:], word) {
						t.Errorf("the prompt repeats %q", word)
					}
				}
				s.wantFirst(what)
				want := 0
				if what == "is gone" || what == "not executable" || what == "everything is gone" {
					// Shells pass over the shims then: that is said, once.
					want = 1
				}
				s.cd(w.plain)
				s.cd(w.project)
				if got := strings.Count(s.shown(), "nothing is sandboxed"); got != want {
					t.Errorf("%d warnings, want %d", got, want)
				}
				if what == "fails" {
					os.Remove(w.inner + "/fail")
					s.cd(w.plain)
					s.cd(w.project)
					if s.notices() != 1 {
						t.Errorf("%d notices after it works again", s.notices())
					}
				}
			})
		})
	}
}

// The state cannot be moved on: after some tries the watching stops.
func TestStateThatCannotKeepUp(t *testing.T) {
	each(t, func(t *testing.T, shell string) {
		s := newWorld(t).start(shell)
		w := s.w
		// An inner that answers, but never touches the state.
		os.Remove(w.bin)
		answer := Render(shell, Update{Token: "first", Watch: []string{w.project + "/.inner"}})
		w.write(w.root+"/answer", answer)
		w.write(w.bin, "#!/bin/sh\necho x >>$INNER_HOME/calls\ncat "+w.root+"/answer\n")
		w.write(w.project+"/.inner/new", "")
		s.cd(w.project)
		for range 40 {
			s.send("\n")
		}
		s.line(":")
		calls := len(w.calls())
		for range 10 {
			s.line(":")
		}
		s.wantCalls(calls, "after many tries")
	})
}

// Without the mark, by which the shell knows the token unread, all is the same.
func TestWithoutMark(t *testing.T) {
	each(t, func(t *testing.T, shell string) {
		w := newWorld(t)
		w.write(w.inner+"/nomark", "")
		s := w.start(shell)
		s.cd(w.project)
		for range 5 {
			s.line(":")
		}
		s.wantCalls(2, "unchanged")
		w.setToken("second")
		s.line(":")
		s.wantCalls(3, "changed")
		if s.notices() != 1 {
			t.Errorf("%d notices, want 1", s.notices())
		}
	})
}

func TestFolderGone(t *testing.T) {
	each(t, func(t *testing.T, shell string) {
		s := newWorld(t).start(shell)
		s.cd(s.w.project)
		if err := os.RemoveAll(s.w.project); err != nil {
			t.Fatal(err)
		}
		s.line(":")
		shown, calls := len(s.shown()), len(s.w.calls())
		for range 10 {
			s.line(":")
		}
		s.wantCalls(calls, "deleted folder")
		for _, word := range []string{"inner:", "getcwd", "rror"} {
			if strings.Contains(s.shown()[shown:], word) {
				t.Errorf("the prompt repeats %q", word)
			}
		}
		s.cd(s.w.plain)
		s.wantFirst("after a deleted folder")
	})
}

// The shell is put into a folder it may not read, as somebody without root's
// powers.
func TestFolderUnreadable(t *testing.T) {
	need(t, "setpriv")
	if os.Getuid() != 0 {
		t.Log("not root: file modes count already")
	}
	each(t, func(t *testing.T, shell string) {
		w := newWorld(t)
		w.rc(shell, w.evalHook(shell))
		args := argv(shell)
		if os.Getuid() == 0 {
			args = append([]string{"setpriv", "--bounding-set=-all", "--inh-caps=-all", "--"}, args...)
		}
		s := w.launch(shell, args, w.plain)
		dir := filepath.Join(w.root, "closed")
		w.mkdir(dir)
		s.cd(dir)
		if err := os.Chmod(dir, 0o000); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(dir, 0o700)
		calls := len(w.calls())
		for range 10 {
			s.line(":")
		}
		if got := len(w.calls()); got > calls+1 {
			t.Errorf("asked %d times in an unreadable folder", got-calls)
		}
		s.cd(w.plain)
		s.wantFirst("after an unreadable folder")
	})
}

// Shells without a prompt get nothing: no output, no PATH, no names. Only fish,
// which reads its start-up file there, too, gets PATH.
func TestNotInteractive(t *testing.T) {
	each(t, func(t *testing.T, shell string) {
		need(t, shell)
		w := newWorld(t)
		text := w.evalHook(shell) + "echo \"PATH is $PATH\"\n" + map[string]string{
			"bash": "declare -F; compgen -v __inner\n", "zsh": "print -l ${(k)functions} ${(Mk)parameters:#__inner*}\n", "fish": "functions --all --names; set --names | string match '__inner*'\n",
		}[shell]
		args := []string{"-c", text}
		cmd := exec.Command(shell, args...)
		cmd.Env = w.env()
		out, err := cmd.CombinedOutput()
		if shell != "bash" && err != nil {
			t.Logf("%s: %v", shell, err)
		}
		if strings.Contains(string(out), "__inner") || shell != "fish" && strings.Contains(string(out), w.shims) {
			t.Errorf("a shell without a prompt got: %s", out)
		}
		if shell == "fish" && !strings.Contains(string(out), "PATH is "+w.shims) {
			t.Errorf("in fish -c PATH is not led by the shims: %s", out)
		}
		if len(w.calls()) > 0 {
			t.Errorf("inner was called: %q", w.calls())
		}
		// And with the hook in its start-up files, nothing on either stream.
		w.rc(shell, w.evalHook(shell))
		w.write(w.home+"/.zshenv", w.evalHook("zsh"))
		cmd = exec.Command(shell, "-c", "exit 3")
		cmd.Env = w.env("BASH_ENV=" + w.home + "/.bashrc")
		out, err = cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 3 || len(out) > 0 {
			t.Errorf("%s -c said %q, %v", shell, out, err)
		}
	})
}

// Inside a box the hook does nothing.
func TestInsideABox(t *testing.T) {
	need(t, "bwrap")
	each(t, func(t *testing.T, shell string) {
		w := newWorld(t)
		w.rc(shell, w.evalHook(shell))
		box := []string{"bwrap", "--dev-bind", "/", "/", "--tmpfs", "/run", "--ro-bind", "/dev/null", "/run/.innerenv", "--"}
		s := w.launch(shell, append(box, argv(shell)...), w.project)
		s.cd(w.plain)
		s.wantCalls(0, "inside a box")
		if got := s.path(); strings.Contains(got, w.shims) {
			t.Errorf("PATH inside a box is %q", got)
		}
		// The same without the marker works.
		s = w.launch(shell, append(append([]string{}, append(box[:6:6], "--")...), argv(shell)...), w.project)
		s.wantCalls(1, "not in a box")
	})
}

// Whatever the terminal is, nothing but the notice is printed, and no escape
// codes are.
func TestStreams(t *testing.T) {
	each(t, func(t *testing.T, shell string) {
		w := newWorld(t)
		errs := w.root + "/errors"
		for name, redirect := range map[string]string{"closed": "2>&-", "file": "2>" + errs} {
			t.Run(name, func(t *testing.T) {
				w.rc(shell, w.evalHook(shell))
				s := w.launch(shell, []string{"sh", "-c", "exec " + strings.Join(argv(shell), " ") + " " + redirect}, w.plain, "TERM=dumb", "NO_COLOR=1")
				calls := len(w.calls())
				out := fmt.Sprintf("%s/out-%s", w.root, name)
				s.send("cd " + w.project + "\n")
				s.send(":\n")
				s.send("echo $PWD $status >" + out + "\n")
				until(t, "the shell's answer", func() bool { data, _ := os.ReadFile(out); return strings.Contains(string(data), "\n") })
				if got := len(w.calls()); got != calls+1 {
					t.Errorf("asked %d times, want once", got-calls)
				}
			})
		}
		data, err := os.ReadFile(errs)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(data), "NOTICE \"one\"") {
			t.Errorf("standard error got %q", data)
		}
	})
}
