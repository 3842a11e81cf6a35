package hooks

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/enr/inner/hooks/quote"
)

// An other shell is one whose hook does less than those of bash, zsh and fish: a program, the
// hook that it reads, its start-up file, and what sets the prompt READY> there.
type other struct {
	program, hook string
	argv          []string
	rc, setup     string
	load          string // the line that loads the hook from a file
	quote         func(string) string
	setPath       func(dirs []string, quote func(string) string) string
}

func words(dirs []string, quote func(string) string) string {
	out := make([]string, len(dirs))
	for i, d := range dirs {
		out[i] = quote(d)
	}
	return strings.Join(out, " ")
}

func others() []other {
	posix := func(dirs []string, quote func(string) string) string {
		return "PATH=" + quote(strings.Join(dirs, ":"))
	}
	nu, err := exec.LookPath("nu")
	if err != nil {
		nu = "nu"
	}
	list := []other{
		{
			"elvish", "elvish",
			[]string{"elvish"},
			"config/elvish/rc.elv", "set edit:prompt = { print 'READY> ' }\nset edit:rprompt = { }\n",
			"eval (cat %s | slurp)\n", quote.Elvish,
			func(dirs []string, quote func(string) string) string {
				return "set paths = [" + words(dirs, quote) + "]"
			},
		},
		{
			"nu", "nu",
			[]string{nu},
			"config/nushell/config.nu",
			"$env.config.show_banner = false\n$env.PROMPT_COMMAND = {|| '' }\n$env.PROMPT_COMMAND_RIGHT = {|| '' }\n$env.PROMPT_INDICATOR = 'READY> '\n$env.config.use_ansi_coloring = false\n",
			"source %s\n", quote.Nu,
			func(dirs []string, quote func(string) string) string {
				return "$env.PATH = [" + words(dirs, quote) + "]"
			},
		},
		{
			"tcsh", "tcsh",
			[]string{"tcsh"},
			".tcshrc", "if ($?prompt) set prompt = 'READY> '\n", "eval \"`cat %s`\"\n", quote.Tcsh,
			func(dirs []string, quote func(string) string) string {
				return "set path = ( " + words(dirs, quote) + " )"
			},
		},
	}
	for _, program := range []string{"ksh", "mksh", "dash"} {
		list = append(list, other{program, "sh", []string{program, "-i"}, ".kshrc", "PS1='READY> '\n", "eval \"$(cat %s)\"\n", quote.POSIX, posix})
	}
	return list
}

func isOther(program string) bool {
	return slices.ContainsFunc(others(), func(o other) bool { return o.program == program })
}

// eachOther runs a test in the other shells that have something at the prompt.
func eachOther(t *testing.T, test func(t *testing.T, o other)) {
	for _, o := range others() {
		if o.program != "dash" {
			t.Run(o.program, func(t *testing.T) { need(t, o.program); test(t, o) })
		}
	}
}

// otherSession types lines that end with a mark, and waits for the prompt after it: these
// shells draw the prompt again with each key.
type otherSession struct {
	*session
	o other
}

func (w *world) loadLine(o other) string { return fmt.Sprintf(o.load, quote.POSIX(w.hook(o.hook))) }

func (w *world) startOther(o other, dir, before, after string) otherSession {
	w.t.Helper()
	w.write(filepath.Join(w.home, o.rc), o.setup+before+w.loadLine(o)+after)
	return otherSession{w.launch(o.program, o.argv, dir, "ENV="+w.home+"/.kshrc"), o}
}

func (s otherSession) line(text string) {
	s.t.Helper()
	s.n++
	mark := fmt.Sprintf("<done%d>", s.n)
	s.send(fmt.Sprintf("%s; printf '<%%s>\\n' done%d\r", text, s.n))
	s.await(mark, 1)
	until(s.t, "a prompt after "+text, func() bool {
		_, rest, _ := strings.Cut(s.shown(), mark)
		return strings.Contains(rest, "READY> ")
	})
}

func (s otherSession) nothing() { s.t.Helper(); s.line("cd .") }

func (s otherSession) cd(dir string) { s.t.Helper(); s.line("cd " + s.o.quote(dir)) }

// path is PATH as a program sees it.
func (s otherSession) path() string {
	s.t.Helper()
	file := filepath.Join(s.w.root, "path")
	s.line("/bin/sh -c 'printf %s \"$PATH\" >" + file + "'")
	data, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(data)
}

func (s otherSession) wantFirst(why string) {
	s.t.Helper()
	path := strings.Split(s.path(), ":")
	if path[0] != s.w.shims || slices.Contains(path[1:], s.w.shims) {
		s.t.Fatalf("%s: PATH is %q", why, path)
	}
}

func (s otherSession) wantNotices(n int, why string) {
	s.t.Helper()
	if got := s.notices(); got != n {
		s.t.Fatalf("%s: %d notices, want %d", why, got, n)
	}
}

// Inner is asked once where something changed, and not at an unchanged prompt.
func TestOthersAskOnce(t *testing.T) {
	eachOther(t, func(t *testing.T, o other) {
		w := newWorld(t)
		s := w.startOther(o, w.plain, "", "")
		s.wantCalls(1, "first prompt")
		s.wantFirst("after start")
		for range 4 {
			s.nothing()
		}
		s.wantCalls(1, "unchanged prompts")
		s.cd(w.project)
		s.wantNotices(1, "entered")
		for range 4 {
			s.nothing()
		}
		s.wantCalls(2, "unchanged prompts in the project")
		s.cd(w.project + "/.inner")
		s.cd(w.project)
		s.wantNotices(1, "moved within the project")
		s.cd(w.plain)
		s.cd(w.project)
		s.wantNotices(2, "came back")

		profile := filepath.Join(w.project, ".inner", "profiles", "claude.toml")
		step := func(what string, do func() error, asks bool) {
			t.Helper()
			calls := len(w.calls())
			if err := do(); err != nil {
				t.Fatal(err)
			}
			s.nothing()
			if asked := len(w.calls()) > calls; asked != asks {
				t.Fatalf("%s: asked is %v, want %v", what, asked, asks)
			}
			until(t, what+": a quiet prompt", func() bool {
				calls = len(w.calls())
				s.nothing()
				return len(w.calls()) == calls
			})
		}
		write := func(path, text string) func() error {
			return func() error { return os.WriteFile(path, []byte(text), 0o644) }
		}
		step("unrelated file", write(w.project+"/x.toml", ""), false)
		step("profile saved", write(profile, "two"), true)
		step("profile added", write(w.project+"/.inner/profiles/new.toml", "three"), true)
		step("profile removed", func() error { return os.Remove(w.project + "/.inner/profiles/new.toml") }, true)
		step("config created", write(w.project+"/.inner/config.toml", ""), true)
		step("config saved", write(w.project+"/.inner/config.toml", "#"), true)
		step("all gone", func() error { return os.Rename(w.project+"/.inner", w.root+"/away") }, true)
		step("all back", func() error { return os.Rename(w.root+"/away", w.project+"/.inner") }, true)
		step("token", func() error { w.setToken("second"); return nil }, true)
		step("another token", func() error { w.setToken("third"); return nil }, true)
	})
}

// PATH is put right at each prompt, and what else is on it stays in order.
func TestOthersPutPathRight(t *testing.T) {
	eachOther(t, func(t *testing.T, o other) {
		w := newWorld(t)
		s := w.startOther(o, w.plain, "", "")
		for _, rest := range []string{"/usr/bin:/bin", "/a b:/usr/bin:/bin:/x*", "/usr/bin:/bin:" + w.shims + "x", "/usr/bin:/it's:/bin"} {
			dirs := strings.Split(rest, ":")
			for _, set := range [][]string{dirs, append([]string{w.shims}, dirs...), append(append([]string{}, dirs...), w.shims), append([]string{"/opt", w.shims, w.shims}, dirs...)} {
				s.line(o.setPath(set, o.quote))
				want := slices.DeleteFunc(slices.Clone(set), func(d string) bool { return d == w.shims })
				if got := s.path(); got != strings.Join(append([]string{w.shims}, want...), ":") {
					t.Errorf("%q became %q", set, got)
				}
			}
		}
		s.wantCalls(1, "PATH changed")
	})
}

// A shim that came, or went, counts at the next prompt: no place of a command is remembered.
func TestOthersForgetPlaces(t *testing.T) {
	eachOther(t, func(t *testing.T, o other) {
		w := newWorld(t)
		w.write(w.root+"/bin/tool", "#!/bin/sh\necho real-tool\n")
		s := w.startOther(o, w.plain, "", "")
		s.line(o.setPath([]string{"/usr/bin", "/bin", w.root + "/bin"}, o.quote))
		s.line("tool")
		s.await("real-tool\r\n", 1)
		w.write(w.shims+"/tool", "#!/bin/sh\necho shim-tool\n")
		w.setToken("second")
		s.nothing()
		s.line("tool")
		s.await("shim-tool\r\n", 1)
		if err := os.Remove(w.shims + "/tool"); err != nil {
			t.Fatal(err)
		}
		w.setToken("third")
		s.nothing()
		s.line("tool")
		s.await("real-tool\r\n", 2)
	})
}

func TestOthersOddNames(t *testing.T) {
	names := []string{"a b", "trail ", "it's", `say "x"`, "$HOME", "`id`", "$(id)", "a\nb", "*", "[x]", "{a,b}", "~", "!x", `back\slash`, "#x", "é", "&;|", "(", "%s"}
	eachOther(t, func(t *testing.T, o other) {
		w := newWorld(t)
		s := w.startOther(o, w.plain, "", "")
		for i, name := range names {
			dir := filepath.Join(w.root, "odd", name)
			w.makeProject(dir, fmt.Sprintf("odd%d", i))
			calls := len(w.calls())
			s.cd(dir)
			s.nothing()
			got := w.calls()
			if len(got) != calls+1 || !strings.HasSuffix(got[calls], fmt.Sprintf(" %q]", dir)) {
				t.Fatalf("%q: calls are %q", name, got[calls:])
			}
			w.write(filepath.Join(dir, ".inner", "profiles", "claude.toml"), fmt.Sprintf("changed%d", i))
			s.nothing()
			if want := fmt.Sprintf("NOTICE \"changed%d\"", i); !strings.Contains(s.shown(), want) {
				t.Fatalf("%q: an edited profile was not noticed", name)
			}
			s.cd(w.plain)
		}
		s.wantFirst("odd names")
	})
}

func TestOthersOddInnerHome(t *testing.T) {
	for _, name := range []string{"a b", "it's", "$HOME", "[x]*?", `back\slash`, "!x", "é", `say "x"`, "`id`"} {
		eachOther(t, func(t *testing.T, o other) {
			w := newWorld(t)
			odd := filepath.Join(w.root, name)
			if err := os.Rename(w.inner, odd); err != nil {
				t.Fatal(err)
			}
			w.inner, w.shims, w.state, w.bin = odd, odd+"/shims/bin", odd+"/shims/state", odd+"/shims/inner"
			s := w.startOther(o, w.plain, "", "")
			s.wantFirst(name)
			s.cd(w.project)
			s.nothing()
			s.wantCalls(2, name)
			s.line(o.setPath([]string{"/usr/bin", w.shims, "/bin"}, o.quote))
			s.wantFirst(name)
			w.setToken("second")
			s.nothing()
			s.wantCalls(3, name)
		})
	}
}

// Evaluated again, it says nothing again and is there once.
func TestOthersEvaluatedTwice(t *testing.T) {
	eachOther(t, func(t *testing.T, o other) {
		w := newWorld(t)
		s := w.startOther(o, w.project, "", w.loadLine(o))
		s.line(strings.TrimSpace(w.loadLine(o)))
		s.wantFirst("three times")
		s.wantCalls(2, "start and the third evaluation")
		s.wantNotices(1, "three times")
		s.line(map[string]string{
			"elvish": "echo registered (count $edit:before-readline)", "nu": "print $'registered ($env.config.hooks.pre_prompt | length)'",
			"tcsh": "echo registered `alias precmd | grep -o __inner_prompt | wc -l`", "sh": "echo registered 1",
		}[o.hook])
		s.await("registered 1\r\n", 1)
		if o.hook == "nu" {
			return // no command can be made there
		}
		calls := len(w.calls())
		s.line("inner __hook sh '' '' /")
		s.wantCalls(calls+1, "inner was typed")
	})
}

// What the user has at the prompt stays.
func TestOthersKeepThePrompt(t *testing.T) {
	mine := map[string]string{
		"elvish": "set edit:before-readline = [{ echo my-own }]\n", "nu": "$env.config.hooks.pre_prompt = [{|| print my-own }]\n",
		"tcsh": "alias precmd 'echo my-own'\n", "sh": "PS1='my-own\nREADY> '\n",
	}
	eachOther(t, func(t *testing.T, o other) {
		w := newWorld(t)
		s := w.startOther(o, w.plain, mine[o.hook], "")
		before := strings.Count(s.shown(), "my-own")
		s.cd(w.project)
		s.wantNotices(1, "beside a prompt of the user's")
		if strings.Count(s.shown(), "my-own") != before+1 {
			t.Error("what was at the prompt before is gone")
		}
	})
}

// The status of the last command is that at the next line; elvish has none.
func TestOthersKeepStatus(t *testing.T) {
	show := map[string]string{"nu": "print $'st=($env.LAST_EXIT_CODE).'", "tcsh": "echo st=$status.", "sh": "echo st=$?."}
	eachOther(t, func(t *testing.T, o other) {
		if show[o.hook] == "" {
			return
		}
		w := newWorld(t)
		s := w.startOther(o, w.plain, "", "")
		for i, change := range []string{"", "cd " + w.project + "; "} {
			shown := len(s.shown())
			s.send(change + "sh -c 'echo 1''2; exit 7'\r")
			until(t, "a prompt", func() bool {
				_, rest, _ := strings.Cut(s.shown()[shown:], "12\r\n")
				return strings.Contains(rest, "READY> ")
			})
			s.line(show[o.hook])
			s.await("st=7.\r\n", i+1)
		}
	})
}

// Without inner on the disk, or with one that fails, the prompt stays and says it once.
func TestOthersTrouble(t *testing.T) {
	trouble := map[string]func(w *world) error{
		"fails":       func(w *world) error { return os.WriteFile(w.inner+"/fail", nil, 0o644) },
		"is gone":     func(w *world) error { return os.Remove(w.bin) },
		"no program":  func(w *world) error { os.Remove(w.bin); return os.WriteFile(w.bin, []byte("\x7fELF"), 0o700) },
		"all is gone": func(w *world) error { return os.RemoveAll(w.inner) },
		"nonsense": func(w *world) error {
			os.Remove(w.bin)
			return os.WriteFile(w.bin, []byte("#!/bin/sh\necho 'if if ((('\necho x >>$INNER_HOME/calls\n"), 0o700)
		},
	}
	for what, make := range trouble {
		t.Run(what, func(t *testing.T) {
			eachOther(t, func(t *testing.T, o other) {
				w := newWorld(t)
				s := w.startOther(o, w.plain, "", "")
				if err := make(w); err != nil {
					t.Fatal(err)
				}
				s.cd(w.project)
				calls, shown := len(w.calls()), len(s.shown())
				for range 4 {
					s.nothing()
				}
				s.wantCalls(calls, "unchanged prompts")
				for _, word := range []string{"inner:", "No such", "denied", "cannot", "rror", "xception"} {
					if strings.Contains(s.shown()[shown:], word) {
						t.Errorf("the prompt repeats %q", word)
					}
				}
				s.wantFirst(what)
				s.cd(w.plain)
				s.cd(w.project)
				want := map[bool]int{true: 1}[strings.HasSuffix(what, "gone")]
				if got := strings.Count(s.shown(), "nothing is sandboxed"); got != want {
					t.Errorf("%d warnings, want %d", got, want)
				}
				if what == "fails" {
					os.Remove(w.inner + "/fail")
					s.cd(w.plain)
					s.cd(w.project)
					s.wantNotices(1, "it works again")
				}
			})
		})
	}
}

// The folder is deleted below the shell.
func TestOthersFolderGone(t *testing.T) {
	eachOther(t, func(t *testing.T, o other) {
		w := newWorld(t)
		s := w.startOther(o, w.plain, "", "")
		s.cd(w.project)
		if err := os.RemoveAll(w.project); err != nil {
			t.Fatal(err)
		}
		if o.program == "nu" {
			return // it complains itself, at each prompt
		}
		nothing := map[string]string{"elvish": "nop", "tcsh": ":", "sh": ":"}[o.hook]
		s.send(nothing + "\r")
		calls := -1
		until(t, "a quiet prompt", func() bool {
			before := calls
			s.send(nothing + "\r")
			calls = len(w.calls())
			return before == calls && strings.Count(s.shown(), "READY> ") > 4
		})
		s.send("cd " + w.plain + "\r")
		s.nothing()
		s.wantFirst("after a deleted folder")
	})
}

// A nested shell, and one started for a login, look for themselves.
func TestOthersNestedAndLogin(t *testing.T) {
	eachOther(t, func(t *testing.T, o other) {
		w := newWorld(t)
		s := w.startOther(o, w.plain, "", "")
		s.cd(w.project)
		for i, args := range [][]string{o.argv, append(slices.Clone(o.argv), "-l")} {
			if o.program == "elvish" && i == 1 {
				continue // it has no login shells
			}
			if o.program == "mksh" || o.program == "ksh" {
				w.write(w.home+"/.profile", "PATH=/usr/local/bin:/usr/bin:/bin\n")
			}
			shown := len(s.shown())
			s.send(strings.Join(args, " ") + "\r")
			until(t, "a notice in the new shell", func() bool { return strings.Contains(s.shown()[shown:], "NOTICE") })
			until(t, "its prompt", func() bool {
				_, rest, _ := strings.Cut(s.shown()[shown:], "NOTICE")
				return strings.Contains(rest, "READY> ")
			})
			s.wantFirst("a new shell")
			bye := fmt.Sprintf("<bye%d>", i)
			s.send(fmt.Sprintf("printf '<%%s>\\n' bye%d; exit\r", i))
			until(t, "the first shell's prompt", func() bool {
				_, rest, found := strings.Cut(s.shown(), bye)
				return found && strings.Contains(rest, "READY> ")
			})
			s.wantNotices(i+2, "back in the first shell")
			s.wantFirst("the first shell")
		}
	})
}

// No process is started at an unchanged prompt.
func TestOthersForkNothing(t *testing.T) {
	need(t, "strace")
	const prompts = 50
	eachOther(t, func(t *testing.T, o other) {
		for _, where := range []string{"plain", "project"} {
			w := newWorld(t)
			w.write(filepath.Join(w.home, o.rc), o.setup+w.loadLine(o))
			trace := filepath.Join(w.root, "trace")
			strace := []string{"strace", "-f", "-qq", "-o", trace, "-e", "trace=clone,clone3,fork,vfork,execve,execveat,%file", "-e", "signal=none"}
			s := otherSession{w.launch(o.program, append(strace, o.argv...), filepath.Join(w.root, where), "ENV="+w.home+"/.kshrc"), o}
			// One process, whose name for a file is in the trace.
			mark := func(name string) {
				t.Helper()
				s.send("/bin/sh -c 'test -e /inner-test-" + name + "; echo \"<$0>\"' " + name + "\r")
				until(t, "a prompt", func() bool {
					_, rest, found := strings.Cut(s.shown(), "<"+name+">")
					return found && strings.Contains(rest, "READY> ")
				})
			}
			mark("settle")
			mark("begin")
			calls := len(w.calls())
			for range prompts { // nu draws each twice, and asks where the cursor is: keys that come between are lost
				shown, times := len(s.shown()), 1
				if o.program == "nu" {
					times = 2
				}
				s.send("\r")
				until(t, "a prompt", func() bool { return strings.Count(s.shown()[shown:], "READY> ") >= times })
			}
			mark("end")
			s.wantCalls(calls, "unchanged prompts")
			w.setToken("second")
			s.nothing()
			mark("over")
			s.wantCalls(calls+1, "changed")
			data, err := os.ReadFile(trace)
			if err != nil {
				t.Fatal(err)
			}
			text := string(data)
			begin, end, over := strings.LastIndex(text, "/inner-test-begin"), strings.Index(text, "/inner-test-end"), strings.Index(text, "/inner-test-over")
			if begin < 0 || end < begin || over < end {
				t.Fatal("the trace does not have the marks")
			}
			quiet, changed := text[begin:end], text[end:over]
			// The process of the mark at the end, and its program, are in there.
			if got := processes(quiet); len(got) > 2 {
				t.Errorf("%d processes started during %d prompts:\n%s", len(got)-2, prompts, strings.Join(got, "\n"))
			}
			if n := strings.Count(quiet, w.state); n < prompts {
				t.Errorf("the hook looked at the state %d times during %d prompts", n, prompts)
			}
			if !strings.Contains(changed, "__hook") {
				t.Error("a changed prompt started no process: the count counts nothing")
			}
		}
	})
}

// Inside a box the hook does nothing, and neither where there is no prompt.
func TestOthersElsewhere(t *testing.T) {
	need(t, "bwrap")
	eachOther(t, func(t *testing.T, o other) {
		w := newWorld(t)
		w.write(filepath.Join(w.home, o.rc), o.setup+w.loadLine(o))
		box := []string{"bwrap", "--dev-bind", "/", "/", "--tmpfs", "/run", "--ro-bind", "/dev/null", "/run/.innerenv", "--"}
		s := otherSession{w.launch(o.program, append(box, o.argv...), w.project, "ENV="+w.home+"/.kshrc"), o}
		s.cd(w.plain)
		s.wantCalls(0, "inside a box")
		if got := s.path(); strings.Contains(got, w.shims) {
			t.Errorf("PATH inside a box is %q", got)
		}
		cmd := exec.Command(o.program, "-c", strings.TrimSpace(w.loadLine(o))+"; /bin/sh -c 'printf %s \"$PATH\"'")
		cmd.Env, cmd.Dir = w.env("ENV="+w.home+"/.kshrc"), w.plain
		if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "inner") {
			t.Errorf("without a prompt: %q %v", out, err)
		}
		s.wantCalls(0, "without a prompt")
	})
}

// In dash PATH is put right where the hook is evaluated, and that is all.
func TestDash(t *testing.T) {
	need(t, "dash")
	w := newWorld(t)
	o := others()[len(others())-1]
	s := w.startOther(o, w.project, "PATH=/opt:"+w.shims+":/usr/bin:"+w.shims+":/bin\n", w.loadLine(o))
	if got := s.path(); got != w.shims+":/opt:/usr/bin:/bin" {
		t.Errorf("PATH is %q", got)
	}
	s.nothing()
	s.wantCalls(0, "dash")
	s.line("inner __hook sh '' '' /")
	s.wantCalls(1, "inner was typed")
	if got := processesOf(t, s); got != 0 {
		t.Errorf("%d processes", got)
	}
}

// processesOf are the children of the shell.
func processesOf(t *testing.T, s otherSession) int {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", s.pid(), s.pid()))
	if err != nil {
		t.Skip(err)
	}
	return len(strings.Fields(string(data)))
}

// The state cannot be moved on: after some tries ksh, mksh and nu stop watching.
func TestOthersStateThatCannotKeepUp(t *testing.T) {
	eachOther(t, func(t *testing.T, o other) {
		if o.program == "tcsh" || o.program == "elvish" {
			return // they compare with what was seen
		}
		w := newWorld(t)
		s := w.startOther(o, w.plain, "", "")
		os.Remove(w.bin)
		w.write(w.root+"/answer", Render(o.hook, Update{Token: "first", Watch: []string{w.project + "/.inner"}}))
		w.write(w.bin, "#!/bin/sh\necho x >>$INNER_HOME/calls\ncat "+w.root+"/answer\n")
		w.write(w.project+"/.inner/new", "")
		then := time.Now().Add(-time.Hour)
		if err := os.Chtimes(w.state, then, then); err != nil {
			t.Fatal(err)
		}
		s.cd(w.project)
		for range 30 {
			s.nothing()
		}
		calls := len(w.calls())
		for range 5 {
			s.nothing()
		}
		s.wantCalls(calls, "after many tries")
	})
}
