package hooks

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/enr/inner/hooks/script"
)

// check runs a checker on text and reports what it says.
func check(t *testing.T, text string, program ...string) {
	t.Helper()
	need(t, program[0])
	file := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program[0], append(program[1:], file)...).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%s: %v\n%s", strings.Join(program, " "), err, out)
	}
}

// The files are right by their shell's own parser and by shellcheck, and so is
// what is made of them.
func TestFilesParse(t *testing.T) {
	odd := script.Vars{Inner: "/a b/it's/\xff", Command: "/c d/'e", ShimDir: "/$HOME/[x]*/`id`", StateFile: "/a\nb/\\"}
	for _, name := range Shells() {
		on, err := scriptOf(name, odd)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{script.Text(name), on} {
			switch name {
			case "bash":
				check(t, text, "bash", "-n")
			case "zsh":
				check(t, text, "zsh", "-n")
			case "fish":
				check(t, text, "fish", "--no-execute")
			case "elvish":
				check(t, text, "elvish", "-compileonly")
			case "nu":
				check(t, "def read [] {\n"+text+"\n}\n", "nu", "--no-config-file")
			case "tcsh":
				check(t, strings.ReplaceAll(text, "\n", " "), "tcsh", "-f", "-n")
			case "sh":
				for _, program := range []string{"dash", "ksh", "mksh"} {
					check(t, text, program, "-n")
				}
			}
		}
		if name == "sh" {
			check(t, script.Text(name), "shellcheck")
		}
		if name == "bash" {
			check(t, script.Text(name), "shellcheck")
			check(t, strings.ReplaceAll(on, "\n", " "), "bash", "-n")
		}
		if name == "zsh" {
			check(t, strings.ReplaceAll(on, "\n", " "), "zsh", "-n")
		}
		if strings.Contains(on, "#!") || strings.Contains(on, "\n#") || regexp.MustCompile(`@[a-z]+@`).MatchString(on) {
			t.Errorf("%s: comments or unfilled values are left:\n%s", name, on)
		}
	}
}

// Every function and variable of the hook starts with __inner_.
func TestNames(t *testing.T) {
	for _, name := range []string{"bash", "zsh"} {
		text, err := scriptOf(name, script.Vars{Inner: "/i", Command: "/c", ShimDir: "/s", StateFile: "/t"})
		if err != nil {
			t.Fatal(err)
		}
		names := regexp.MustCompile(`(?m)^(?:local |local -a |builtin typeset -g\w* )?([A-Za-z_]\w*)(?:\+?=|\(\) \{)`).FindAllStringSubmatch(text, -1)
		if len(names) < 15 {
			t.Fatalf("%s: only %d names found", name, len(names))
		}
		for _, n := range names {
			if !strings.HasPrefix(n[1], "__inner_") && n[1] != "PATH" && n[1] != ShellVar && !strings.HasSuffix(n[1], "_functions") {
				t.Errorf("%s sets %s", name, n[1])
			}
		}
		// Calls of builtins go past the user's functions and aliases.
		if m := regexp.MustCompile(`(?m)^\s*(printf|read|eval|hash|rehash|shopt|export|unset|setopt|typeset|print|zle) `).FindAllString(text, -1); len(m) > 0 {
			t.Errorf("%s calls without builtin: %q", name, m)
		}
	}
}

func TestScriptRefuses(t *testing.T) {
	good := script.Vars{Inner: "/i", Command: "/c", ShimDir: "/s", StateFile: "/t"}
	for _, c := range []struct {
		shell  string
		change func(v *script.Vars)
		want   string
	}{
		{"xonsh", func(*script.Vars) {}, `there is no hook for the shell "xonsh": bash, zsh, fish, elvish, nu, tcsh and sh have one`},
		{"", func(*script.Vars) {}, `there is no hook for the shell "": bash, zsh, fish, elvish, nu, tcsh and sh have one`},
		{"bash", func(v *script.Vars) { v.Inner = "inner" }, `the inner binary "inner": the path is not absolute`},
		{"zsh", func(v *script.Vars) { v.StateFile = "" }, `the state file "": the path is not absolute`},
		{"fish", func(v *script.Vars) { v.Inner = "/a\x00b" }, `the inner binary "/a\x00b": the path has a NUL byte in it`},
		{"bash", func(v *script.Vars) { v.ShimDir = "/a:b" }, `the shim folder "/a:b": it has a colon in its path, so it cannot be on PATH`},
	} {
		v := good
		c.change(&v)
		if _, err := scriptOf(c.shell, v); err == nil || err.Error() != c.want {
			t.Errorf("Script(%q, %+v): %v, want %s", c.shell, v, err, c.want)
		}
	}
}

func TestRender(t *testing.T) {
	u := Update{
		Token: "t1", Mark: "/s.t1", Key: "k", Flush: true,
		Watch:  []string{"/p/.inner", "/p/.inner/profiles", "/p/.inner/profiles/it's.toml", "/elsewhere", "relative", "/nul\x00"},
		Absent: []string{"/p/.inner/config.toml"},
		Names:  []string{"claude", "it's", "a b", "-x", "cursor-agent"},
	}
	want := map[string]string{
		"bash": `__inner_token=t1;
__inner_mark=/s.t1;
__inner_seen=k;
__inner_flush=1;
__inner_watch=(/p/.inner /p/.inner/profiles $'/p/.inner/profiles/it\047s.toml' /elsewhere);
__inner_there=(/p/.inner /elsewhere);
__inner_absent=(/p/.inner/config.toml);
__inner_names=(claude cursor-agent);
`,
		"fish": `set -g __inner_token t1
set -g __inner_link /s.t1
set -g __inner_seen k
set -g __inner_flush 1
set -g __inner_watch /p/.inner /p/.inner/profiles /p/.inner/profiles/it\X27s.toml /elsewhere
set -g __inner_there /p/.inner /elsewhere
set -g __inner_absent /p/.inner/config.toml
set -g __inner_names claude cursor-agent
`,
	}
	want["zsh"] = want["bash"]
	for shell, want := range want {
		if got := Render(shell, u); got != want {
			t.Errorf("%s:\n%s\nwant:\n%s", shell, got, want)
		}
	}
	if got := Render("xonsh", u); got != "" {
		t.Errorf("xonsh: %q", got)
	}
	if got := Render("bash", Update{}); strings.Contains(got, "token") {
		t.Errorf("an empty token replaces what the shell read: %s", got)
	}
}

// What is rendered does what it says and nothing else, whatever the values.
func FuzzRender(f *testing.F) {
	f.Add("t", "/a b", "/c\nd", "$(id)")
	f.Add("'", "/`id`", "/\xff", ";")
	f.Fuzz(func(t *testing.T, token, watch, absent, key string) {
		u := Update{Token: strings.ReplaceAll(token, "\x00", ""), Watch: []string{watch}, Absent: []string{absent}, Key: strings.ReplaceAll(key, "\x00", "")}
		show := `printf '%s\0' "${__inner_token-}" "$__inner_seen" "${#__inner_watch[@]}" "${__inner_watch[@]}" "${#__inner_absent[@]}" "${__inner_absent[@]}"`
		out, err := exec.Command("bash", "--norc", "-c", Render("bash", u)+show).Output()
		if err != nil {
			t.Fatal(err)
		}
		want := u.Token + "\x00" + u.Key + "\x00"
		for _, list := range [][]string{sayable("bash", u.Watch), sayable("bash", u.Absent)} {
			want += strings.Join(append([]string{fmt.Sprint(len(list))}, list...), "\x00") + "\x00"
		}
		if got := string(out); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestParseRequest(t *testing.T) {
	got, err := ParseRequest([]string{"zsh", "", "tok", "/a b"})
	if want := (Request{Shell: "zsh", Token: "tok", PWD: "/a b"}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	got, err = ParseRequest([]string{"fish", "k", "tok", "/a b", "function", "claude", "x\ny", "abbreviation", "codex", ""})
	want := Request{Shell: "fish", Key: "k", Token: "tok", PWD: "/a b", Shadows: []Shadow{{"function", "claude", "x\ny"}, {"abbreviation", "codex", ""}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, args := range [][]string{nil, {"bash"}, {"bash", "", "", "", ""}, {"xonsh", "", "", ""}} {
		if _, err := ParseRequest(args); err == nil {
			t.Errorf("ParseRequest(%q) is fine", args)
		}
	}
}

func TestNewKey(t *testing.T) {
	keys := map[string]bool{}
	for _, parts := range [][]string{{}, {""}, {"", ""}, {"a"}, {"a", "b"}, {"ab"}, {`a" "b`}} {
		keys[NewKey(parts...)] = true
	}
	if len(keys) != 7 || keys[""] {
		t.Errorf("keys are %v", keys)
	}
	if !bytes.Equal([]byte(NewKey("a")), []byte(NewKey("a"))) {
		t.Error("a key is not stable")
	}
}
