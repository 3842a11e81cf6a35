package hooks

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAskedOncePerVisit(t *testing.T) {
	each(t, func(t *testing.T, shell string) {
		s := newWorld(t).start(shell)
		s.wantCalls(1, "first prompt")
		s.wantFirst("after start")
		for range 5 {
			s.line(":")
		}
		s.wantCalls(1, "unchanged prompts")
		s.cd(s.w.project)
		s.wantCalls(2, "entered the project")
		for range 5 {
			s.line(":")
		}
		s.wantCalls(2, "unchanged prompts in the project")
		if s.notices() != 1 {
			t.Fatalf("%d notices after entering, want 1", s.notices())
		}
		s.cd(s.w.project + "/.inner")
		s.cd(s.w.project)
		if s.notices() != 1 {
			t.Fatalf("%d notices after moving within the project, want 1", s.notices())
		}
		s.cd(s.w.plain)
		s.cd(s.w.project)
		if s.notices() != 2 {
			t.Fatalf("%d notices after coming back, want 2", s.notices())
		}
	})
}

func TestChangesAreSeenAtTheNextPrompt(t *testing.T) {
	each(t, func(t *testing.T, shell string) {
		s := newWorld(t).start(shell)
		s.cd(s.w.project)
		calls := len(s.w.calls())
		inner := filepath.Join(s.w.project, ".inner")
		profile := filepath.Join(inner, "profiles", "claude.toml")
		// Each step is done by the test, not by the shell, and then one prompt is
		// drawn. A file saved this very
		// moment stays newer than the check, so some prompts later it is quiet.
		step := func(what string, do func() error, asks bool) {
			t.Helper()
			if err := do(); err != nil {
				t.Fatal(err)
			}
			s.line(":")
			got := len(s.w.calls())
			if asked := got > calls; asked != asks {
				t.Fatalf("%s: asked is %v, want %v", what, asked, asks)
			}
			until(t, what+": a quiet prompt", func() bool {
				calls = len(s.w.calls())
				s.line(":")
				return len(s.w.calls()) == calls
			})
			calls = len(s.w.calls())
			for range 3 {
				s.line(":")
			}
			if len(s.w.calls()) != calls {
				t.Fatalf("%s: inner is still asked: %q", what, s.w.calls()[got:])
			}
		}
		write := func(path, text string) func() error {
			return func() error { return os.WriteFile(path, []byte(text), 0o644) }
		}
		step("nothing", func() error { return nil }, false)
		step("profile saved", write(profile, "two"), true)
		step("unrelated file", write(s.w.project+"/x.toml", ""), false)
		step("profile added", write(filepath.Join(inner, "profiles", "new.toml"), "three"), true)
		step("profile removed", func() error { return os.Remove(filepath.Join(inner, "profiles", "new.toml")) }, true)
		step("config created", write(filepath.Join(inner, "config.toml"), ""), true)
		step("config saved", write(filepath.Join(inner, "config.toml"), "#"), true)
		step("saved by rename", func() error {
			if err := os.WriteFile(profile+"~", []byte("four"), 0o644); err != nil {
				return err
			}
			return os.Rename(profile+"~", profile)
		}, true)
		step("profiles replaced", func() error {
			dir := filepath.Join(inner, "profiles")
			if err := os.Rename(dir, dir+".old"); err != nil {
				return err
			}
			if err := os.Mkdir(dir, 0o755); err != nil {
				return err
			}
			return os.WriteFile(profile, []byte("five"), 0o644)
		}, true)
		step("all gone", func() error { return os.Rename(inner, s.w.root+"/away") }, true)
		step("all back", func() error { return os.Rename(s.w.root+"/away", inner) }, true)
		step("token", func() error { s.w.setToken("second"); return nil }, true)
		step("state rewritten, same token", func() error { s.w.setToken("second"); return nil }, false)
		step("another shell's token, again", func() error { s.w.setToken("third"); return nil }, true)
	})
}

// A shell started inside a project is active without a cd.
func TestStartedInsideAProject(t *testing.T) {
	each(t, func(t *testing.T, shell string) {
		w := newWorld(t)
		w.rc(shell, w.evalHook(shell))
		s := w.launch(shell, argv(shell), w.project)
		if s.notices() != 1 {
			t.Fatalf("%d notices, want 1", s.notices())
		}
		s.wantCalls(1, "start")
	})
}

// The shim folder is first already while the rest of the start-up file runs.
func TestFirstAtOnce(t *testing.T) {
	each(t, func(t *testing.T, shell string) {
		w := newWorld(t)
		after := "printf '%s' \"$PATH\" > $HOME/early\n"
		if shell == "fish" {
			after = "printf '%s' $PATH[1] > $HOME/early\n"
		}
		w.rc(shell, w.evalHook(shell)+after)
		w.launch(shell, argv(shell), w.plain)
		early, err := os.ReadFile(filepath.Join(w.home, "early"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(early), w.shims) {
			t.Fatalf("PATH after the hook is %q", early)
		}
	})
}

func TestEvaluatedTwice(t *testing.T) {
	each(t, func(t *testing.T, shell string) {
		w := newWorld(t)
		w.rc(shell, w.evalHook(shell)+w.evalHook(shell))
		s := w.launch(shell, argv(shell), w.project)
		s.run("%s", w.evalHook(shell))
		s.wantFirst("three times")
		s.wantCalls(2, "start and the third evaluation")
		if s.notices() != 1 {
			t.Fatalf("%d notices, want 1", s.notices())
		}
		switch shell {
		case "bash":
			if got := s.get(`"${PROMPT_COMMAND[@]}"`); !slices.Equal(got, []string{"__inner_prompt && :"}) {
				t.Fatalf("PROMPT_COMMAND is %q", got)
			}
		case "zsh":
			got := s.get(`"${(@)precmd_functions}" "${(@)preexec_functions}" "${(@)chpwd_functions}"`)
			if !slices.Equal(got, []string{"__inner_prompt", "__inner_prompt", "__inner_chpwd"}) {
				t.Fatalf("hook functions are %q", got)
			}
		case "fish":
			got := s.get("(functions --handlers | string match '*__inner*' | string trim)")
			slices.Sort(got)
			want := []string{"PATH __inner_changed_path", "PWD __inner_changed_pwd", "fish_preexec __inner_prompt", "fish_prompt __inner_prompt"}
			for i := range got {
				got[i] = strings.Join(strings.Fields(got[i]), " ")
			}
			if len(got) != len(want) {
				t.Fatalf("handlers are %q", got)
			}
		}
	})
}

// Odd names come through: the shell tests the right paths, inner is asked in
// the right folder and told its right name.
func TestOddFolderNames(t *testing.T) {
	names := []string{
		"a b", " lead", "trail ", "it's", `say "x"`, "$HOME", "`id`", "$(id)", "a\nb", "a:b", "-n", "--", "*", "[x]", "{a,b}", "~", "=ls", "!x", `back\slash`,
		"#x", "é", "日本", "bad\xffbyte", "\xc3", "tab\tx", "\x1b[31m", "&;|", "(", "%s", "\uf601",
	}
	each(t, func(t *testing.T, shell string) {
		s := newWorld(t).start(shell)
		for i, name := range names {
			dir := filepath.Join(s.w.root, "odd", name)
			s.w.makeProject(dir, fmt.Sprintf("odd%d", i))
			calls := len(s.w.calls())
			s.cd(dir)
			s.line(":")
			got := s.w.calls()
			if len(got) != calls+1 {
				t.Fatalf("%q: asked %d times, want once", name, len(got)-calls)
			}
			if want := fmt.Sprintf("%q]", dir); !strings.HasSuffix(got[calls], " "+want) {
				t.Fatalf("%q: call is %s", name, got[calls])
			}
			if want := fmt.Sprintf("NOTICE \"odd%d\"", i); !strings.Contains(s.shown(), want) {
				t.Fatalf("%q: no notice", name)
			}
			s.w.write(filepath.Join(dir, ".inner", "profiles", "claude.toml"), fmt.Sprintf("changed%d", i))
			s.line(":")
			if want := fmt.Sprintf("NOTICE \"changed%d\"", i); !strings.Contains(s.shown(), want) {
				t.Fatalf("%q: an edited profile was not noticed", name)
			}
			s.cd(s.w.plain)
			s.wantFirst(name)
		}
	})
}

// The whole of inner's own folder may have an odd name, too.
func TestOddInnerHome(t *testing.T) {
	for _, name := range []string{"a b", "it's", "$HOME", "[x]*?", "bad\xffbyte", "a\nb", `back\slash`, "=x", "(a|b)", "@(x)", "é"} {
		each(t, func(t *testing.T, shell string) {
			w := newWorld(t)
			odd := filepath.Join(w.root, name)
			if err := os.Rename(w.inner, odd); err != nil {
				t.Fatal(err)
			}
			w.inner, w.shims, w.state = odd, odd+"/shims/bin", odd+"/shims/state"
			w.bin = odd + "/shims/inner"
			s := w.start(shell)
			s.wantFirst(name)
			s.cd(w.project)
			for range 4 {
				s.line(":")
			}
			s.wantCalls(2, name)
			s.wantFirst(name)
			s.run("%s", map[bool]string{true: "set -gx PATH /usr/bin $PATH /bin", false: "PATH=/usr/bin:$PATH:/bin"}[shell == "fish"])
			s.wantFirst(name)
			w.setToken("second")
			s.line(":")
			s.wantCalls(3, name)
		})
	}
}

// Logical and physical folder differ through a link: it is one project.
func TestThroughASymlink(t *testing.T) {
	each(t, func(t *testing.T, shell string) {
		s := newWorld(t).start(shell)
		link := filepath.Join(s.w.root, "link")
		if err := os.Symlink(s.w.project, link); err != nil {
			t.Fatal(err)
		}
		s.cd(link)
		s.cd(s.w.project)
		if s.notices() != 1 {
			t.Fatalf("%d notices, want 1", s.notices())
		}
		if calls := s.w.calls(); !strings.HasSuffix(calls[1], fmt.Sprintf("%q]", link)) {
			t.Fatalf("the shell's name of the folder was not passed: %s", calls[1])
		}
	})
}

// Other tools move PATH about; the next prompt puts the folder first again,
// once, and leaves the rest as it is.
func TestPathIsPutRight(t *testing.T) {
	each(t, func(t *testing.T, shell string) {
		s := newWorld(t).start(shell)
		w := s.w
		calls := len(w.calls())
		for _, c := range []struct{ set, want string }{
			{"/opt/x:" + w.shims + ":/usr/bin:/bin", "/opt/x:/usr/bin:/bin"},
			{"/usr/bin:/bin", "/usr/bin:/bin"},
			{"/usr/bin:" + w.shims + ":" + w.shims + ":/bin:" + w.shims, "/usr/bin:/bin"},
			{"/a b:/usr/bin:/bin:/x*", "/a b:/usr/bin:/bin:/x*"},
			{"/usr/bin:/bin:" + w.shims + "/", "/usr/bin:/bin:" + w.shims + "/"},
			{"/usr/bin:/bin:" + w.shims + "x", "/usr/bin:/bin:" + w.shims + "x"},
			{"/usr/bin:/bin:/usr/bin", "/usr/bin:/bin:/usr/bin"},
			{w.shims + ":/usr/bin:/bin", "/usr/bin:/bin"},
		} {
			if shell == "fish" {
				words := strings.Split(c.set, ":")
				for i := range words {
					words[i] = s.quote(words[i])
				}
				s.run("set -gx PATH %s", strings.Join(words, " "))
			} else {
				s.run("PATH=%s", s.quote(c.set))
			}
			if got, want := s.path(), w.shims+":"+c.want; got != want {
				t.Errorf("PATH=%s became %q, want %q", c.set, got, want)
			}
		}
		if shell != "fish" {
			for set, want := range map[string]string{
				":/usr/bin:/bin:":     "::/usr/bin:/bin:",
				"/usr/bin::/bin":      ":/usr/bin::/bin",
				"/usr/bin:/bin:":      ":/usr/bin:/bin:",
				"/usr/bin:/bin\n:/x ": ":/usr/bin:/bin\n:/x ",
				"":                    "",
			} {
				s.run("PATH=%s", s.quote(set))
				if got := s.path(); got != w.shims+want {
					t.Errorf("PATH=%q became %q, want %q", set, got, w.shims+want)
				}
			}
		}
		if len(w.calls()) != calls {
			t.Errorf("inner was asked about PATH: %q", w.calls()[calls:])
		}
		words := "(env | string match 'PATH=*')"
		if shell != "fish" {
			s.run("PATH=/usr/bin:/bin")
			words = `"$(env | grep ^PATH=)"`
		}
		if exported := s.get(words); !strings.HasPrefix(exported[0], "PATH="+w.shims+":") {
			t.Errorf("PATH in the environment is %q", exported)
		}
	})
}

// A command that has been run from its real place is found in the shim folder
// at the next prompt after a shim for it appeared, and at its real place
// after the shim went.
func TestRememberedPlacesAreForgotten(t *testing.T) {
	each(t, func(t *testing.T, shell string) {
		w := newWorld(t)
		w.write(w.root+"/bin/tool", "#!/bin/sh\necho real-tool\n")
		s := w.start(shell)
		if shell == "fish" {
			s.run("set -gx PATH $PATH %s", w.root+"/bin")
		} else {
			s.run("PATH=$PATH:%s", w.root+"/bin")
		}
		s.line("tool")
		s.await("real-tool\r\n", 1)
		w.write(w.shims+"/tool", "#!/bin/sh\necho shim-tool\n")
		w.setToken("second")
		s.line(":")
		s.line("tool")
		s.await("shim-tool\r\n", 1)
		if err := os.Remove(w.shims + "/tool"); err != nil {
			t.Fatal(err)
		}
		w.setToken("third")
		s.line(":")
		s.line("tool")
		s.await("real-tool\r\n", 2)
	})
}

// On one line, before any prompt: the shim folder is first, so the shim runs,
// in the folder it decides by.
func TestOneLine(t *testing.T) {
	each(t, func(t *testing.T, shell string) {
		w := newWorld(t)
		w.write(w.shims+"/claude", "#!/bin/sh\necho \"shim in $PWD\"\n")
		s := w.start(shell)
		lines := []string{"cd %s && claude", "pushd %s; claude; popd", "sh -c 'cd %s && claude'", "echo x | xargs -I_ sh -c 'cd %s; claude'"}
		if shell != "fish" {
			lines = append(lines, "(cd %s; claude)")
		}
		for i, line := range lines {
			s.line(fmt.Sprintf(line, w.project))
			s.await("shim in "+w.project+"\r\n", i+1)
			s.cd(w.plain)
		}
	})
}
