package quote

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// shell is a program that reads a script of words and prints them back, each
// followed by a NUL byte. The real shell is the referee.
type shell struct {
	name  string
	args  []string
	quote func(string) string
	env   []string
}

func shells() []shell {
	return []shell{
		{"bash", []string{"bash", "--norc", "--noprofile"}, Bash, nil},
		{"bash posix", []string{"bash", "--norc", "--noprofile", "--posix"}, Bash, nil},
		{"bash C", []string{"bash", "--norc", "--noprofile"}, Bash, []string{"LC_ALL=C"}},
		{"zsh", []string{"zsh", "-f"}, Zsh, nil},
		{"zsh C", []string{"zsh", "-f"}, Zsh, []string{"LC_ALL=C"}},
		{"zsh odd options", []string{"zsh", "-f", "-o", "ksharrays", "-o", "shwordsplit", "-o", "globsubst", "-o", "rcquotes", "-o", "extendedglob"}, Zsh, nil},
		{"fish", []string{"fish", "--no-config"}, Fish, nil},
		{"fish C", []string{"fish", "--no-config"}, Fish, []string{"LC_ALL=C"}},
		{"dash", []string{"dash"}, POSIX, nil},
		{"bash as sh", []string{"bash", "--norc", "--noprofile", "--posix"}, POSIX, nil},
		{"ksh", []string{"ksh"}, POSIX, nil},
		{"mksh", []string{"mksh"}, POSIX, nil},
		{"elvish", []string{"elvish", "/dev/stdin"}, Elvish, nil},
	}
}

// back has the shell print words and returns what it printed.
func (sh shell) back(t *testing.T, words []string) []string {
	t.Helper()
	var script strings.Builder
	for _, w := range words {
		if sh.name == "elvish" {
			fmt.Fprintf(&script, "print %s\"\\x00\"\n", sh.quote(w))
		} else {
			fmt.Fprintf(&script, "printf '%%s\\0' %s\n", sh.quote(w))
		}
	}
	cmd := exec.Command(sh.args[0], sh.args[1:]...)
	cmd.Stdin = strings.NewReader(script.String())
	cmd.Env = append(cmd.Environ(), append([]string{"LC_ALL=C.UTF-8"}, sh.env...)...)
	cmd.Dir = t.TempDir()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", sh.name, err, errs.String())
	}
	if errs.Len() > 0 {
		t.Fatalf("%s complained: %s", sh.name, errs.String())
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\x00"), "\x00")
}

func (sh shell) check(t *testing.T, words []string) {
	t.Helper()
	got := sh.back(t, words)
	if len(got) != len(words) {
		t.Fatalf("%s: %d words became %d", sh.name, len(words), len(got))
	}
	for i, w := range words {
		if got[i] != w {
			t.Errorf("%s: %q, written as %s, came back as %q", sh.name, w, sh.quote(w), got[i])
		}
	}
}

func awkward() []string {
	words := []string{
		"", "a", "a b", " ", "  two  spaces  ", "\t", "\n", "a\nb\n", "\r\n", "it's", `"`, `\`, `\\`, `\'`, `'\''`, "`id`", "$HOME", "$(id)", "${x}", "$((1))",
		"*", "?", "[a]", "{a,b}", "~", "~root", "=ls", "==", "a=b", "#x", "x#y", "!", "!!", "a!b", "^x^y", "-n", "--", "-", "%", "%s", "\\n", "\\0", "\\x41", "\\101",
		";", "&", "|", "<", ">", "(", ")", "&&", "a:b", "a;b", "end", "if", "é", "日本語", "\u00a0", "\u200b", "\u2028", "\ufeff", "\U0001f600", "\ue000", "\uf601", "\uf8ff", "\ufdd0", "\ufffd", "\ufffe", "\U0010ffff", "e\u0301",
		"\xff", "\xc3", "\xc3(", "a\x80b", "\xed\xa0\x80", "\x1b[31m", "\x7f", "\x01", "\xa5\x27", "\x81\x5c", "\x8e'", "x\xffé\xfe",
		"1\xff1", "\xff1a", "\x0112", "a\x01\x02b'c", "@", "+", ",", "..", "/", "//", "/a b/c$d", "%1", "%%", "$'x'", `$"x"`, "'", "''", "'''", `"'"`,
	}
	for b := 1; b < 256; b++ {
		words = append(words, string([]byte{byte(b)}), string([]byte{'x', byte(b), '7'}))
	}
	return words
}

func TestWordsComeBack(t *testing.T) {
	for _, sh := range shells() {
		t.Run(sh.name, func(t *testing.T) { sh.check(t, awkward()) })
	}
}

// tcsh and Nushell read scripts of valid text alone: what comes back of other bytes is not looked at.
func TestTextComesBack(t *testing.T) {
	var words []string
	for _, w := range awkward() {
		if utf8.ValidString(w) && !strings.Contains(w, "\x00") {
			words = append(words, w)
		}
	}
	file := filepath.Join(t.TempDir(), "words")
	for _, sh := range []struct {
		quote         func(string) string
		print, reader string
	}{
		{Tcsh, "/usr/bin/printf '%%s\\0' %s\n", "tcsh -f"},
		{Nu, "print -n %s \"\\u{0}\"\n", "nu -n"},
	} {
		var script strings.Builder
		for _, w := range words {
			fmt.Fprintf(&script, sh.print, sh.quote(w))
		}
		if err := os.WriteFile(file, []byte(script.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		args := append(strings.Fields(sh.reader), file)
		if nu := os.Getenv("INNER_TEST_NU"); args[0] == "nu" && nu != "" {
			args[0] = nu
		}
		if _, err := exec.LookPath(args[0]); args[0] == "nu" && err != nil {
			continue // contrib/test.sh says so
		}
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env = append(cmd.Environ(), "LC_ALL=C.UTF-8")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", sh.reader, err, out)
		}
		got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		if !slices.Equal(got, words) {
			t.Errorf("%s: %q\nwant %q", sh.reader, got, words)
		}
	}
}

func TestRandomBytesComeBack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	alphabet := "'\"\\$`!\n\t *?[]{}()<>|&;#~=%^-:,aX07\x01\x80\xc3\xa9\xff"
	words := make([]string, 1500)
	for i := range words {
		w := make([]byte, 1+r.IntN(24))
		for j := range w {
			if r.IntN(3) == 0 {
				w[j] = byte(1 + r.IntN(255))
			} else {
				w[j] = alphabet[r.IntN(len(alphabet))]
			}
		}
		words[i] = string(w)
	}
	for _, sh := range shells() {
		t.Run(sh.name, func(t *testing.T) { sh.check(t, words) })
	}
}

// A bash word must come through an unquoted command substitution, which
// splits it at white space and expands wildcards.
func TestBashWordsSurviveSplitting(t *testing.T) {
	for _, w := range awkward() {
		q := Bash(w)
		if strings.ContainsFunc(q, unicode.IsSpace) || strings.ContainsAny(q, "*?[]") {
			t.Errorf("Bash(%q) = %s holds white space or a wildcard", w, q)
		}
	}
}

func TestNULIsLeftOut(t *testing.T) {
	for name, got := range map[string]string{"bash": Bash("a\x00b"), "zsh": Zsh("a\x00b"), "fish": Fish("a\x00b"), "posix": POSIX("a\x00b")} {
		if strings.Contains(got, "\x00") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestReadable(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Bash("/home/ann/.inner/shims/bin"), "/home/ann/.inner/shims/bin"},
		{Bash("it's"), `$'it\047s'`},
		{Bash(""), `$''`},
		{Bash("=x"), `$'=x'`},
		{Zsh("a b"), `$'a\040b'`},
		{Fish("/home/ann"), "/home/ann"},
		{Fish("it's"), `it\X27s`},
		{Fish("a\nb"), `a\X0ab`},
		{Fish("é"), "é"},
		{Fish(""), `''`},
		{POSIX("it's"), `'it'"'"'s'`},
	} {
		if c.got != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
}

func FuzzQuote(f *testing.F) {
	for _, w := range []string{"", "it's", "a\nb", "\xff\xfe", "=ls", "-n", `\`, "\uf601", "$(id)"} {
		f.Add(w)
	}
	f.Fuzz(func(t *testing.T, w string) {
		w = strings.ReplaceAll(w, "\x00", "") // no shell word holds one
		for _, sh := range shells() {
			sh.check(t, []string{w})
		}
	})
}
