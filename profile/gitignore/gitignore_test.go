package gitignore

import (
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tree is what the patterns are tried on; a slash at the end makes a folder.
func tree() []string {
	list := []string{
		"a", "b", "ab", "abc", "a.pem", "a.pem.bak", ".env", ".env.local", "[x]", "{a,b}", "a{b}", "-", "!x", "#x", "é", "a b", "d\\e", "a-c", "]", "^",
		"node_modules/p/dist/build/.venv/key.pem", "vendor/a/b/c/d/e/f/secret", "conf/secret", "x/conf/secret", "x/y/conf/secret",
	}
	for _, d := range []string{"d", "d/e", "d/e/f", "a1", "d/a", "x/d"} {
		for _, f := range []string{"a.pem", "b", "ab", "secret", "2"} {
			list = append(list, d+"/"+f)
		}
	}
	return append(list, "empty/", "d/empty/")
}

// referee is a repository with that tree in which git is asked.
type referee struct {
	t    *testing.T
	dir  string
	all  []string // files and folders, folders with a slash
	asks string
}

func newReferee(t *testing.T) *referee {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		if os.Getenv("INNER_TEST_MUST") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	r := &referee{t: t, dir: t.TempDir()}
	folders := map[string]bool{}
	for _, p := range tree() {
		dir := filepath.Dir(p)
		if strings.HasSuffix(p, "/") {
			dir = filepath.Clean(p)
		}
		if err := os.MkdirAll(filepath.Join(r.dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
		for ; dir != "."; dir = filepath.Dir(dir) {
			folders[dir+"/"] = true
		}
		if !strings.HasSuffix(p, "/") {
			if err := os.WriteFile(filepath.Join(r.dir, p), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			r.all = append(r.all, p)
		}
	}
	for f := range folders {
		r.all = append(r.all, f)
	}
	slices.Sort(r.all)
	for _, p := range r.all {
		r.asks += strings.TrimSuffix(p, "/") + "\x00"
	}
	r.git("init", "-q")
	return r
}

func (r *referee) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = r.dir, strings.NewReader(r.asks)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.Output()
	if e, ok := err.(*exec.ExitError); ok && (args[0] != "check-ignore" || e.ExitCode() > 1) {
		r.t.Fatalf("git %v: %v: %s", args, err, e.Stderr)
	}
	return string(out)
}

// says returns what git ignores with these patterns.
func (r *referee) says(patterns []string) []string {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, ".git/info/exclude"), []byte(strings.Join(patterns, "\n")+"\n"), 0o600); err != nil {
		r.t.Fatal(err)
	}
	out := strings.Split(r.git("check-ignore", "--no-index", "-z", "--stdin"), "\x00")
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

// compare asks git and us.
func (r *referee) compare(patterns []string) {
	r.t.Helper()
	var l List
	for _, text := range patterns {
		abs, err := Absolute(r.dir, text)
		if err != nil {
			r.t.Fatalf("%q: %v", text, err)
		}
		p, err := Parse(abs)
		if err != nil {
			r.t.Fatalf("%q became %q: %v", text, abs, err)
		}
		if p.String() != abs {
			r.t.Fatalf("%q became %q, which is written %q", text, abs, p.String())
		}
		l = append(l, p)
	}
	var got []string
	for _, p := range r.all {
		if l.match(filepath.Join(r.dir, p), strings.HasSuffix(p, "/")) {
			got = append(got, strings.TrimSuffix(p, "/"))
		}
	}
	if want := r.says(patterns); !slices.Equal(got, want) {
		r.t.Fatalf("patterns %q\n got %q\nwant %q", patterns, got, want)
	}
}

// TestLikeGit: git is the referee, for patterns that people write.
func TestLikeGit(t *testing.T) {
	r := newReferee(t)
	for _, patterns := range []string{
		"*.pem", "a", "d/", "secret", "conf/secret", "**/conf/secret", "x/**/secret", "x/**", "**/d/**", "**", "*", "***", "d/*/", "d/*/a.pem", "**/", "d/**/",
		"[!a]*", "[^a]*", "[a-c]", `[\]x]`, `\[x\]`, `[\[]x]`, "[0-9]", "[a-zA-Z]?", "[!a-d]*", "[é]", "[!é]", "?é*", "[!-a]*", "[^-Z]*", `\{a,b}`, "a{b}", `*\{a,b}*`, `\!x`, `\#x`, "a?b", "?", "??", "a[-]c", "[a-]", "[--z]",
		"a**c", "d/**b", ".env*", ".env* !.env.local", "d !d/b", "d/* !d/b", "* !d !d/a.pem", "*.pem !d/e/a.pem d/e/a.pem", `d\\e`, "./d/b", "d//b", "/d/b",
		"node_modules/**/key.pem", "key.pem", "vendor/**/secret", "empty/", "d/empty", "a*b*c*", "*a*a*a*b", "e* !**/empty",
	} {
		list := strings.Fields(patterns)
		for i, p := range list {
			// A slash in front is the root of the file system here, of the repository there;
			// what git never matches is written as what was meant.
			list[i] = strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(p, "./"), "/"), "//", "/")
		}
		r.compare(list)
	}
}

// TestLikeGitRandom does the same with patterns that nobody writes.
func TestLikeGitRandom(t *testing.T) {
	r := newReferee(t)
	words := []string{"a", "b", "d", "e", "x", "*", "*", "**", "**/", "/**", "/", "/", "?", "[a-d]", "[!a]", `[\]a]`, "[a-]", "[--e]", "é", "[!é]", `\a`, `\*`, ".pem", "secret", "conf", `\{a,b}`, "-", "[a-z]", "[^a-zA-Z.]", "}", "{"}
	compared := 0
	for seed := range 600 {
		rnd := rand.New(rand.NewSource(int64(seed)))
		var patterns []string
		for range 1 + rnd.Intn(4) {
			text := ""
			for range 1 + rnd.Intn(5) {
				text += words[rnd.Intn(len(words))]
			}
			text = strings.TrimPrefix(text, "/")
			if text == "" || strings.Contains(text, "//") || strings.HasPrefix(text, "/") {
				continue // see TestLikeGit
			}
			if slices.ContainsFunc(strings.Split(text, "/"), func(s string) bool { return strings.Contains(s, "**") && strings.Trim(s, "*") != "" }) {
				continue // git 2.39 compares pointers of two buffers there; the manual says what is meant
			}
			if rnd.Intn(4) == 0 {
				text = "!" + text
			}
			if _, err := Absolute(r.dir, text); err == nil {
				patterns = append(patterns, text)
			}
		}
		if len(patterns) > 0 {
			compared++
			r.compare(patterns)
		}
	}
	if compared < 300 {
		t.Fatalf("only %d of 600 were compared", compared)
	}
}

// TestRefused: what git would pass over without a word is an error.
func TestRefused(t *testing.T) {
	for _, text := range []string{"", "!", "/", ".", "./", "#secret", "secret ", "[a", "a[", "[", "[a/b]", `a\`, `a\/b`, "[[:nope:]]", "[[:digit:]]", "[]x]", "[!]x]", "[z-a]", `[!\]-\[]`, "[]", "a/*/../b", "a\x00", "!#x"} {
		if abs, err := Absolute("/w", text); err == nil {
			t.Errorf("%q is taken as %q", text, abs)
		}
	}
	for text, want := range map[string]string{
		"secret": "/w [x]/**/secret", "a/b": "/w [x]/a/b", "./a": "/w [x]/a", "/a//b/": "/a/b/", "../a": "/a", "!a/": "!/w [x]/**/a/", "#": "", `x\ `: "/w [x]/**/x ",
	} {
		abs, _ := Absolute("/w [x]", text)
		if want = strings.ReplaceAll(want, "[x]", `\[x]`); abs != want {
			t.Errorf("%q is %q, not %q", text, abs, want)
		}
	}
}

func ExampleList() {
	var l List
	for _, text := range []string{"*.pem", "!public.pem"} {
		abs, _ := Absolute("/app", text)
		p, _ := Parse(abs)
		l = append(l, p)
	}
	fmt.Println(l.match("/app/node_modules/x/key.pem", false), l.match("/app/public.pem", false))
	// Output: true false
}

// match reports whether a path is matched, or lies below a folder that is. dir
// says whether the path itself is a folder.
func (l List) match(p string, dir bool) bool {
	s := l.Start()
	names := strings.Split(strings.Trim(p, "/"), "/")
	for i, name := range names {
		next, _, matched := l.Step(s, name, dir || i < len(names)-1)
		if matched {
			return true
		}
		s = next
	}
	return false
}
