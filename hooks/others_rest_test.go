package hooks

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// press sends an empty line, for where no command can be run in the folder.
func (s otherSession) press() {
	s.t.Helper()
	n := strings.Count(s.shown(), "READY> ")
	s.send("\r")
	s.await("READY> ", n+1)
}

// The shim folder is first already while the rest of the start-up file runs.
func TestOthersFirstAtOnce(t *testing.T) {
	eachOther(t, func(t *testing.T, o other) {
		w := newWorld(t)
		w.startOther(o, w.plain, "", "/bin/sh -c 'printf %s \"$PATH\" >"+w.root+"/early'\n")
		early, err := os.ReadFile(w.root + "/early")
		if err != nil || !strings.HasPrefix(string(early), w.shims+":") {
			t.Fatalf("PATH after the hook is %q, %v", early, err)
		}
	})
}

// A new file in the place of the old one, a folder in the place of another, and a state that
// was written anew with the same token.
func TestOthersSeeWhatWasReplaced(t *testing.T) {
	eachOther(t, func(t *testing.T, o other) {
		w := newWorld(t)
		s := w.startOther(o, w.project, "", "")
		profiles := filepath.Join(w.project, ".inner", "profiles")
		quiet := func(why string) int {
			calls := -1
			until(t, why+": a quiet prompt", func() bool {
				before := calls
				s.nothing()
				calls = len(w.calls())
				return before == calls
			})
			return calls
		}
		step := func(what string, do func() error, asks bool) {
			t.Helper()
			calls := quiet(what)
			if err := do(); err != nil {
				t.Fatal(err)
			}
			s.nothing()
			if asked := len(w.calls()) > calls; asked != asks {
				t.Fatalf("%s: asked is %v, want %v", what, asked, asks)
			}
		}
		step("nothing", func() error { return nil }, false)
		step("saved by rename", func() error {
			w.write(profiles+"/claude.toml~", "four")
			return os.Rename(profiles+"/claude.toml~", profiles+"/claude.toml")
		}, true)
		step("profiles replaced", func() error {
			if err := os.Rename(profiles, profiles+".old"); err != nil {
				return err
			}
			w.write(profiles+"/claude.toml", "five")
			return nil
		}, true)
		quiet("before the state")
		calls := len(w.calls())
		w.setToken("first")
		s.nothing()
		s.nothing()
		if more := len(w.calls()) - calls; more > 1 || more == 1 && o.hook != "tcsh" && o.hook != "nu" {
			t.Errorf("the same token again: asked %d times", more)
		}
	})
}

// Logical and physical folder differ through a link: it is one project.
func TestOthersThroughASymlink(t *testing.T) {
	eachOther(t, func(t *testing.T, o other) {
		w := newWorld(t)
		s := w.startOther(o, w.plain, "", "")
		link := filepath.Join(w.root, "link")
		if err := os.Symlink(w.project, link); err != nil {
			t.Fatal(err)
		}
		s.cd(link)
		s.cd(w.project)
		s.wantNotices(1, "through a link")
		if calls := w.calls(); !strings.Contains(calls[1], "link") && o.program != "elvish" {
			t.Errorf("the shell's name of the folder was not passed: %s", calls[1])
		}
	})
}

// On one line, before any prompt, and in subshells: the shim decides.
func TestOthersOneLine(t *testing.T) {
	eachOther(t, func(t *testing.T, o other) {
		w := newWorld(t)
		w.write(w.shims+"/claude", "#!/bin/sh\necho \"shim in $PWD\"\n")
		s := w.startOther(o, w.plain, "", "")
		lines := []string{"cd %s; claude", "sh -c 'cd %s && claude'", "echo x | xargs '-I_' sh -c 'cd %s; claude'"}
		switch o.hook {
		case "sh":
			lines = append(lines, "(cd %s; claude)", "x=$(cd %s && claude); echo \"$x\"", "cd %s && claude")
		case "tcsh":
			lines = append(lines, "( cd %s; claude )", "cd %s && claude", "pushd %s >/dev/null; claude; popd >/dev/null")
		case "nu":
			lines = append(lines, "do { cd %s; claude }")
		}
		for i, line := range lines {
			s.line(fmt.Sprintf(line, w.project))
			s.await("shim in "+w.project+"\r\n", i+1)
			s.cd(w.plain)
		}
	})
}

// Without the mark, by which the shell knows the token unread, all is the same; tcsh and nu do
// not read the token, and look when the folder changes.
func TestOthersWithoutMark(t *testing.T) {
	eachOther(t, func(t *testing.T, o other) {
		w := newWorld(t)
		w.write(w.inner+"/nomark", "")
		s := w.startOther(o, w.plain, "", "")
		s.cd(w.project)
		for range 4 {
			s.nothing()
		}
		s.wantCalls(2, "unchanged")
		w.setToken("second")
		s.nothing()
		if o.hook == "tcsh" || o.hook == "nu" {
			s.cd(w.plain)
		}
		s.wantCalls(3, "changed")
		s.wantNotices(1, "without a mark")
	})
}

// The shell is in a folder that it may not read.
func TestOthersFolderUnreadable(t *testing.T) {
	eachOther(t, func(t *testing.T, o other) {
		if o.hook == "nu" { // says "Could not set current dir" at each prompt, and loses what is typed until it is drawn
			return
		}
		w := newWorld(t)
		s := w.startOther(o, w.plain, "", "")
		dir := filepath.Join(w.root, "closed")
		w.mkdir(dir)
		s.cd(dir)
		if err := os.Chmod(dir, 0o000); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(dir, 0o700)
		s.press()
		calls, shown := len(w.calls()), len(s.shown())
		for range 5 {
			s.press()
		}
		s.wantCalls(calls, "an unreadable folder")
		if strings.Contains(s.shown()[shown:], "inner:") {
			t.Errorf("the prompt repeats: %q", s.shown()[shown:])
		}
		s.line("cd " + w.plain)
		s.wantFirst("after an unreadable folder")
	})
}

// The user's variables, functions and settings stay, and nothing of the hook is exported.
func TestOthersLeaveTheShellAlone(t *testing.T) {
	mine := map[string]string{
		"elvish": "var p = mine\nvar dir = mine\nvar state = mine\nvar answer = mine\nfn first { echo mine }\nfn exists {|x| echo mine }\n",
		"nu":     "let p = 'mine'\nlet known = 'mine'\ndef stale [] { 'mine' }\n",
		"tcsh":   "set p = mine\nset dir = mine\nset out = mine\nalias foo bar\n",
		"ksh":    "p=mine line=mine rest=mine out=mine REPLY=mine; alias foo=bar; f() { echo mine; }; trap 'echo bye' EXIT\n",
	}
	mine["mksh"] = mine["ksh"]
	show := map[string]string{
		"elvish": "put $p $dir $state $answer | to-terminal; first; exists x; keys $edit: | each {|n| if (has-value [$n] inner) { put $n }}",
		"nu":     "print $p $known (stale)",
		"tcsh":   "set; alias",
		"ksh":    "echo $p $line $rest $out $REPLY; set -o; set; alias; f; trap",
	}
	show["elvish"] = "echo $p $dir $state $answer; first; exists x"
	show["mksh"] = show["ksh"]
	// What changes by itself, and what the hook keeps.
	moving := []string{"__inner_", "_=", "_\t", "RANDOM", "SECONDS", "LINENO", "PWD", "cwd\t", "owd\t", "dirstack\t", "OLDPWD", "EPOCH", "HISTCMD", "status", "killring", "done", "PATH", "path\t", "prompt", "PS1", "precmd", ".sh."}
	eachOther(t, func(t *testing.T, o other) {
		w := newWorld(t)
		s := w.startOther(o, w.plain, mine[o.program], "")
		s.cd(w.project)
		snapshot := func() string {
			from := len(s.shown())
			s.line("/bin/echo begins; " + show[o.program])
			_, text, _ := strings.Cut(s.shown()[from:], "begins\r\n")
			var keep []string
			for line := range strings.Lines(text) {
				if strings.Contains(line, "<done") {
					break
				}
				if !slices.ContainsFunc(moving, func(m string) bool { return strings.Contains(line, m) }) {
					keep = append(keep, line)
				}
			}
			return strings.Join(keep, "")
		}
		before := snapshot()
		if !strings.Contains(before, "mine") {
			t.Fatalf("the user's are not there: %q", before)
		}
		for i := range 2 {
			s.cd(w.plain)
			s.line(o.setPath([]string{"/usr/bin", "/bin"}, o.quote))
			s.cd(w.project)
			w.setToken(fmt.Sprint(i))
			s.nothing()
		}
		if after := snapshot(); after != before {
			t.Errorf("before:\n%s\nafter:\n%s", before, after)
		}
		s.line("/bin/sh -c '/usr/bin/env >" + w.root + "/env'")
		if env, err := os.ReadFile(w.root + "/env"); err != nil || strings.Contains(string(env), "__inner") {
			t.Errorf("exported: %s, %v", env, err)
		}
	})
}

// With the options of a shell set before the hook, and set later by hand.
func TestOthersOptions(t *testing.T) {
	options := map[string][]string{
		"ksh": {
			"set -u", "set -e", "set -C", "set -f", "set -a", "set -b", "set -k", "set -o pipefail", "set -o vi", "set -o emacs", "set -o markdirs", "set -h", "IFS=:", "IFS=", "IFS=/", "IFS=_",
			"alias read=false hash=false export=false test=false", "alias inner='/opt/inner --verbose'", "set -eu -o pipefail",
		},
		"tcsh": {
			"set noclobber", "set noglob", "set nonomatch", "set printexitvalue", "set nokanji", "set ignoreeof", "set autolist", "set symlinks = chase", "set symlinks = expand", "set symlinks = ignore", "set backslash_quote",
			"set csubstnonl", "unset csubstnonl", "set echo_style = none", "set histlit", "set listjobs", "set notify", "set rmstar", "set visiblebell", "set correct = cmd", "set dspmbyte = utf8",
			"alias rehash 'echo no'", "alias inner '/opt/inner -v'", "alias cd 'chdir \\!*'", "alias postcmd ':'", "alias cwdcmd 'echo moved'", "set prompt = 'a READY> '",
		},
		"elvish": {"set notify-bg-job-success = $false", "set edit:after-readline = [{|l| nop }]", "set edit:before-readline = []", "fn echo {|@a| print 'mine'; print $@a }", "set edit:prompt = { put 'READY> ' }"},
		"nu": {
			"$env.config.hooks.pre_execution = [{|| null }]", "$env.config.hooks.env_change.PWD = [{|a, b| null }]", "$env.config.edit_mode = 'vi'; $env.PROMPT_INDICATOR_VI_INSERT = 'READY> '",
			"$env.config.filesize.unit = 'B'", "$env.config.datetime_format.normal = '%Y'", "$env.config.table.mode = 'none'", "alias ls = ls -a", "alias open = xdg-open", "def open [] { 'mine' }", "$env.config.rm.always_trash = true",
		},
	}
	options["mksh"] = []string{"set -u", "set -e", "set -C", "set -f", "set -a", "set -k", "set -o pipefail", "set -o vi", "set -o utf8-mode", "set -o posix", "set -o markdirs", "IFS=:", "IFS=", "IFS=/", "IFS=_", options["ksh"][16], options["ksh"][17]}
	eachOther(t, func(t *testing.T, o other) {
		for _, option := range options[o.program] {
			t.Run(option, func(t *testing.T) {
				t.Parallel()
				check := func(w *world, s otherSession, when string) {
					t.Helper()
					s.cd(w.project)
					s.nothing()
					s.nothing()
					s.wantCalls(2, when)
					s.wantNotices(1, when)
					s.wantFirst(when)
					s.line(o.setPath([]string{"/usr/bin", "/bin"}, o.quote))
					s.wantFirst(when)
					w.setToken("second")
					s.nothing()
					s.wantCalls(3, when)
					s.cd(w.plain)
					s.wantCalls(4, when)
					if o.program == "elvish" {
						return // it complains of each half of a word while that is typed
					}
					for _, word := range []string{"rror", "not set", "unset", "read-only", "read only", "not found", "xception", "ndefined"} {
						if strings.Contains(s.shown(), word) && !strings.Contains(option, word) {
							t.Errorf("%s: it complained (%q): %q", when, word, s.shown())
						}
					}
				}
				w := newWorld(t)
				check(w, w.startOther(o, w.plain, option+"\n", ""), "set before")
				w = newWorld(t)
				s := w.startOther(o, w.plain, "", "")
				if strings.Contains(option, "before-readline") || strings.Contains(option, "pre_prompt") {
					return // which takes the hook away
				}
				s.line(option)
				check(w, s, "set later")
			})
		}
	})
}

// PATH is read-only: said, or left; the start-up file and the prompt go on.
func TestOthersReadOnlyPath(t *testing.T) {
	eachOther(t, func(t *testing.T, o other) {
		if o.hook != "sh" {
			return // in tcsh a start-up file ends there
		}
		w := newWorld(t)
		s := w.startOther(o, w.plain, "readonly PATH\n", "echo rest-of-the-file\n")
		s.await("rest-of-the-file", 1)
		s.cd(w.project)
		s.nothing()
		if n := strings.Count(s.shown(), "read"); n > 1 {
			t.Errorf("said %d times", n)
		}
		w = newWorld(t)
		s = w.startOther(o, w.plain, "", "")
		s.line("PATH=/usr/bin:/bin; readonly PATH")
		s.cd(w.project)
		shown := len(s.shown())
		for range 3 {
			s.nothing()
		}
		if strings.Contains(s.shown()[shown:], "read") {
			t.Errorf("repeats: %q", s.shown()[shown:])
		}
		s.wantNotices(1, "PATH is read-only")
	})
}

// Where there is an inner of the user's, it is let be.
func TestOthersInnerIsThere(t *testing.T) {
	mine := map[string]string{"elvish": "fn inner {|@a| echo mine }\n", "nu": "def inner [] { print mine }\n", "tcsh": "alias inner 'echo mine'\n", "sh": "inner() { echo mine; }\n"}
	eachOther(t, func(t *testing.T, o other) {
		w := newWorld(t)
		s := w.startOther(o, w.plain, mine[o.hook], "")
		s.line("inner")
		s.await("mine\r\n", 1)
	})
}

// One shell in the place of another, as a tmux pane starts one for a login.
func TestOthersTmuxPane(t *testing.T) {
	need(t, "tmux")
	eachOther(t, func(t *testing.T, o other) {
		w := newWorld(t)
		w.write(filepath.Join(w.home, o.rc), o.setup+w.loadLine(o))
		w.write(w.home+"/.profile", "PATH=/usr/local/bin:/usr/bin:/bin\nENV="+w.home+"/.kshrc; export ENV\n")
		bin, err := exec.LookPath(o.argv[0])
		if err != nil {
			t.Fatal(err)
		}
		tmux := func(args ...string) string {
			t.Helper()
			cmd := exec.Command("tmux", append([]string{"-S", filepath.Join(w.root, "tmux"), "-f", "/dev/null"}, args...)...)
			cmd.Env = w.env("SHELL=" + bin)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("tmux %q: %v\n%s", args, err, out)
			}
			return string(out)
		}
		tmux("new-session", "-d", "-x", "200", "-y", "50", "-c", w.project)
		defer tmux("kill-server")
		until(t, "a notice in the pane, and a prompt", func() bool {
			_, rest, found := strings.Cut(tmux("capture-pane", "-p"), "NOTICE")
			return found && strings.Contains(rest, "READY>")
		})
		tmux("send-keys", "/bin/sh -c 'printf %s \"$PATH\" > "+w.root+"/pane; echo \"<$0>\"' seen", "Enter")
		until(t, "the pane's answer", func() bool { return strings.Contains(tmux("capture-pane", "-p"), "<seen>") })
		got, err := os.ReadFile(w.root + "/pane")
		if err != nil || !strings.HasPrefix(string(got), w.shims+":") {
			t.Fatalf("PATH in the pane is %q, %v", got, err)
		}
	})
}

// exec puts a shell in the place of this one.
func TestOthersExec(t *testing.T) {
	eachOther(t, func(t *testing.T, o other) {
		w := newWorld(t)
		s := w.startOther(o, w.project, "", "")
		s.send("exec " + strings.Join(o.argv, " ") + "\r")
		s.await("NOTICE", 2)
		until(t, "its prompt", func() bool {
			shown := s.shown()
			return strings.Contains(shown[strings.LastIndex(shown, "NOTICE"):], "READY> ")
		})
		s.wantFirst("in its place")
		s.wantNotices(2, "one in each shell")
	})
}

// direnv and inner in one start-up file, in both orders.
func TestOthersBesideDirenv(t *testing.T) {
	need(t, "direnv")
	load := map[string]string{"elvish": "eval (direnv hook elvish | sed s/except/catch/ | slurp)\n", "tcsh": "eval `direnv hook tcsh`\n"}
	eachOther(t, func(t *testing.T, o other) {
		if load[o.program] == "" {
			return // direnv has no hook for it
		}
		for order := range 2 {
			if order == 1 && o.program == "tcsh" {
				continue // it sets precmd anew
			}
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
			before, after := load[o.program], ""
			if order == 1 {
				before, after = after, before
			}
			s := w.startOther(o, w.plain, before, after)
			s.nothing()
			outside := s.path()
			for round := 1; round <= 2; round++ {
				s.cd(w.project)
				s.nothing()
				s.wantFirst("in the project")
				if !strings.Contains(s.path(), ":"+w.project+"/bin:") {
					t.Fatalf("direnv did not load: %q", s.path())
				}
				s.line("claude")
				s.await("the shim\r\n", round)
				calls := len(w.calls())
				for range 3 {
					s.nothing()
				}
				s.wantCalls(calls, "quiet beside direnv")
				if loads, err := os.ReadFile(w.root + "/loads"); err != nil || strings.Count(string(loads), "x") != round {
					t.Errorf("direnv loaded %q, want %d: %v", loads, round, err)
				}
				s.cd(w.plain)
				s.nothing()
				if got := s.path(); got != outside {
					t.Errorf("PATH was %q and is %q", outside, got)
				}
			}
		}
	})
}

// A manager that puts its own folder first at every prompt: PATH does not grow, and inner is not asked.
func TestOthersBesideAManagerThatInsists(t *testing.T) {
	manager := map[string]string{
		"elvish": "set edit:before-readline = [$@edit:before-readline { set paths = [/opt/mgr/bin (each {|p| if (not-eq $p /opt/mgr/bin) { put $p } } $paths)] }]\n",
		"nu":     "$env.config.hooks.pre_prompt = ($env.config.hooks.pre_prompt | append {|| $env.PATH = ($env.PATH | where $it != '/opt/mgr/bin' | prepend '/opt/mgr/bin') })\n",
		"tcsh":   "alias manage 'set -f path = ( /opt/mgr/bin $path:q )'\nset was = \"`alias precmd`\"\nalias precmd \"$was:q; manage\"\n",
	}
	eachOther(t, func(t *testing.T, o other) {
		if manager[o.program] == "" {
			return
		}
		for order := range 2 {
			w := newWorld(t)
			before, after := manager[o.program], ""
			if order == 1 {
				before, after = after, before
			}
			s := w.startOther(o, w.plain, before, after)
			s.nothing()
			calls, path := len(w.calls()), s.path()
			for range 5 {
				s.nothing()
			}
			s.wantCalls(calls, "insisting manager")
			if got := s.path(); got != path || strings.Count(got, w.shims) != 1 {
				t.Errorf("PATH went from %q to %q", path, got)
			}
			if order == 0 {
				s.wantFirst("the hook comes last")
			}
		}
	})
}

// A virtual environment puts its folder first, and puts the old PATH back.
func TestOthersBesideVirtualenv(t *testing.T) {
	type step struct{ on, off string }
	venv := map[string]step{
		"elvish": {"var old = $paths; set paths = [/venv/bin $@paths]", "set paths = $old"},
		"nu":     {"$env.OLD = $env.PATH; $env.PATH = ($env.PATH | prepend /venv/bin)", "$env.PATH = $env.OLD; hide-env OLD"},
		"tcsh":   {"set _OLD_VIRTUAL_PATH=\"$PATH\"; setenv PATH \"/venv/bin:$PATH\"; rehash", "setenv PATH \"$_OLD_VIRTUAL_PATH\"; rehash; unset _OLD_VIRTUAL_PATH"},
		"sh":     {"_OLD_VIRTUAL_PATH=\"$PATH\"; PATH=\"/venv/bin:$PATH\"; export PATH; hash -r", "PATH=\"$_OLD_VIRTUAL_PATH\"; export PATH; unset _OLD_VIRTUAL_PATH; hash -r"},
	}
	eachOther(t, func(t *testing.T, o other) {
		w := newWorld(t)
		s := w.startOther(o, w.plain, "", "")
		before := s.path()
		s.line(venv[o.hook].on)
		if got := s.path(); !strings.HasPrefix(got, w.shims+":/venv/bin:") {
			t.Errorf("PATH is %q", got)
		}
		s.line(venv[o.hook].off)
		if got := s.path(); got != before {
			t.Errorf("PATH was %q and is %q", before, got)
		}
		s.wantCalls(1, "PATH changed")
	})
}
