package hooks

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// calm draws ten prompts and checks that neither PATH nor the number of calls
// moves.
func (s *session) calm(why string) {
	s.t.Helper()
	s.wantFirst(why)
	path, calls := s.path(), len(s.w.calls())
	for i := range 10 {
		if got := s.path(); got != path {
			s.t.Fatalf("%s: PATH changed at prompt %d from\n%q to\n%q", why, i, path, got)
		}
	}
	s.wantCalls(calls, why)
}

// direnv and inner in one start-up file, in both orders.
func TestBesideDirenv(t *testing.T) {
	need(t, "direnv")
	each(t, func(t *testing.T, shell string) {
		for _, order := range []string{"inner first", "direnv first"} {
			t.Run(order, func(t *testing.T) {
				w := newWorld(t)
				w.write(w.project+"/.envrc", "PATH_add bin\nexport FROM_ENVRC=yes\necho x >>"+w.root+"/loads\n")
				w.write(w.project+"/bin/claude", "#!/bin/sh\necho the real claude\n")
				w.write(w.shims+"/claude", "#!/bin/sh\necho the shim\n")
				w.age(w.project)
				allow := exec.Command("direnv", "allow", w.project)
				allow.Env = w.env()
				if out, err := allow.CombinedOutput(); err != nil {
					t.Fatalf("direnv allow: %v\n%s", err, out)
				}
				direnv := `eval "$(direnv hook ` + shell + `)"` + "\n"
				if shell == "fish" {
					direnv = "direnv hook fish | source\n"
				}
				if order == "inner first" {
					w.rc(shell, w.evalHook(shell)+direnv)
				} else {
					w.rc(shell, direnv+w.evalHook(shell))
				}
				s := w.launch(shell, argv(shell), w.plain)
				s.calm("started")
				outside := s.path()
				for round := 1; round <= 2; round++ {
					s.cd(w.project)
					s.calm("in the project")
					if !strings.Contains(s.path(), ":"+w.project+"/bin:") {
						t.Fatalf("direnv did not load: %q", s.path())
					}
					s.line("claude")
					s.await("the shim\r\n", round)
					loads, err := os.ReadFile(w.root + "/loads")
					if err != nil {
						t.Fatal(err)
					}
					if got := strings.Count(string(loads), "x"); got != round {
						t.Errorf("direnv loaded %d times, want %d", got, round)
					}
					s.cd(w.plain)
					s.calm("left the project")
					if got := s.path(); got != outside {
						t.Errorf("PATH was %q and is %q", outside, got)
					}
				}
				// In a login shell inside the project, direnv's state says loaded
				// while PATH is new.
				if shell == "bash" {
					s.cd(w.project)
					s.line("bash -i")
					s.run("PATH=/usr/bin:/bin")
					s.calm("a login shell's PATH")
				}
			})
		}
	})
}

// A manager that puts its own folders first at every prompt, as mise does when
// they were moved. Whoever runs last wins for that prompt; the shim folder
// must win when it runs last, and the two must not drive PATH anywhere.
func TestBesideAManagerThatInsists(t *testing.T) {
	each(t, func(t *testing.T, shell string) {
		w := newWorld(t)
		manager := map[string]string{
			"bash": `mgr_hook() { local s=$?; case $PATH in "/opt/mgr/bin:"*) ;; *) PATH=/opt/mgr/bin:${PATH//\/opt\/mgr\/bin:/};; esac; return $s; }
PROMPT_COMMAND="mgr_hook${PROMPT_COMMAND:+;$PROMPT_COMMAND}"
`,
			"zsh": `mgr_hook() { path=(/opt/mgr/bin ${path:#/opt/mgr/bin}) }
precmd_functions=(mgr_hook $precmd_functions)
`,
			"fish": `function mgr_hook --on-event fish_prompt; set -gx PATH /opt/mgr/bin (string match -v /opt/mgr/bin $PATH); end
`,
		}[shell]
		for order := range 2 {
			t.Run(fmt.Sprint(order), func(t *testing.T) {
				text := manager + w.evalHook(shell)
				if order == 1 {
					text = w.evalHook(shell) + manager
				}
				w.rc(shell, text)
				s := w.launch(shell, argv(shell), w.plain)
				if shell == "fish" && order == 1 {
					// Here the manager's handler comes after ours at each prompt: what is
					// promised is no growth, no calls, and the folder right behind.
					calls, path := len(w.calls()), s.path()
					for range 10 {
						s.line(":")
					}
					s.wantCalls(calls, "insisting manager")
					if got := s.path(); got != path {
						t.Errorf("PATH went from %q to %q", path, got)
					}
					return
				}
				s.calm("insisting manager")
			})
		}
	})
}

// A virtual environment puts its folder first, and puts the old PATH back.
func TestBesideVirtualenv(t *testing.T) {
	each(t, func(t *testing.T, shell string) {
		s := newWorld(t).start(shell)
		before := s.path()
		if shell == "fish" {
			s.run("set -gx _OLD_VIRTUAL_PATH $PATH; set -gx PATH /venv/bin $PATH")
		} else {
			s.run("_OLD_VIRTUAL_PATH=\"$PATH\"; PATH=\"/venv/bin:$PATH\"; export PATH; hash -r")
		}
		s.calm("activated")
		if want := s.w.shims + ":/venv/bin:"; !strings.HasPrefix(s.path(), want) {
			t.Errorf("PATH is %q", s.path())
		}
		if shell == "fish" {
			s.run("set -gx PATH $_OLD_VIRTUAL_PATH; set -e _OLD_VIRTUAL_PATH")
		} else {
			s.run("PATH=\"$_OLD_VIRTUAL_PATH\"; export PATH; unset _OLD_VIRTUAL_PATH; hash -r")
		}
		s.calm("deactivated")
		if s.path() != before {
			t.Errorf("PATH is %q", s.path())
		}
	})
}

// The user's own additions stay, in order.
func TestUserAdditionsStay(t *testing.T) {
	each(t, func(t *testing.T, shell string) {
		s := newWorld(t).start(shell)
		s.cd(s.w.project)
		if shell == "fish" {
			s.run("fish_add_path -g %s; set -gx PATH $PATH %s", s.w.plain, filepath.Join(s.w.root, "tmp"))
		} else {
			s.run("PATH=%s:$PATH:%s", s.w.plain, filepath.Join(s.w.root, "tmp"))
		}
		s.cd(s.w.plain)
		s.calm("added")
		want := strings.Join([]string{s.w.shims, s.w.plain, "/usr/local/bin", "/usr/bin", "/bin", filepath.Join(s.w.root, "tmp")}, ":")
		if got := s.path(); got != want {
			t.Errorf("PATH is %q, want %q", got, want)
		}
	})
}
