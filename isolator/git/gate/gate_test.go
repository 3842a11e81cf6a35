package gate

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/enr/inner/isolator/git/index"
	"github.com/enr/inner/isolator/git/program"
)

// place is a repository of the host, with what a box has of it.
func place(t *testing.T) (r Repository, run func(string) string) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	host, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	top := filepath.Join(home, "app")
	run = func(text string) string {
		t.Helper()
		cmd := exec.Command("bash", "-euc", text) // allowed: the person's own git
		cmd.Dir, cmd.Env = top, append(os.Environ(), "HOME="+home, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@x", "GIT_COMMITTER_NAME=C", "GIT_COMMITTER_EMAIL=c@x")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", text, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	r = Repository{Git: host, Dir: top + "/.git", Top: top, Store: home + "/store", Private: home + "/private", Covered: []string{".envrc"}}
	for _, dir := range []string{top, r.Store, r.Private} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	run("git init -q -b main .; echo one >.envrc; git add .; git commit -qm one; echo two >.envrc; git commit -qam two; git switch -q --detach HEAD~")
	return r, run
}

// A file that the box may not write becomes what a commit of the person's has there, when it was what git had;
// else it stays, and a line says why.
func TestSettle(t *testing.T) {
	for _, c := range []struct{ name, before, is, want, says string }{
		{"a commit of the person's", "", "main:.envrc", "two", ""},
		{"in no commit", "", "$(echo evil | git hash-object -w --stdin)", "one", "no commit of yours has that"},
		{"at another path", "echo evil >e; git add e; git commit -qm e; git switch -q --detach HEAD~", "HEAD@{1}:e", "one", "no commit of yours has that"},
		{"edited", "echo mine >.envrc", "main:.envrc", "mine", "it is not what git had there"},
		{"filtered", "echo '.envrc filter=x' >.git/info/attributes", "main:.envrc", "one", "the attribute filter is set for it"},
		{"with line ends", "git config core.autocrlf true", "main:.envrc", "one", "core.autocrlf is set"},
		{"filtered by a FIFO", "mkfifo .gitattributes", "main:.envrc", "one", "signal: killed"},
		{"a link", "echo one >../far; rm .envrc; ln -s ../far .envrc", "main:.envrc", "one", "too many levels of symbolic links"},
		{"in a folder that is a link", "mkdir ../d; mv .envrc ../d; ln -s ../d d", "main:.envrc", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, run := place(t)
			if c.before != "" {
				run(c.before)
			}
			if c.says == "signal: killed" {
				defer func(soon time.Duration) { program.Soon = soon }(program.Soon)
				program.Soon = time.Second
			}
			said := ""
			g, err := Open(r, func(format string, args ...any) { said += fmt.Sprintf(format, args...) + "\n" })
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			name := ".envrc"
			if c.want == "" {
				name = "d/.envrc"
			}
			g.settle([]index.Change{{Was: index.EntryOf(name, "100644", run("git rev-parse main~:.envrc")), Is: index.EntryOf(name, "100644", run("git rev-parse "+c.is))}})
			if c.want == "" {
				if got := run("cat ../d/.envrc"); got != "one" || said == "" {
					t.Errorf("%q, said %q", got, said)
				}
				return
			}
			if got := run("cat .envrc"); got != c.want || (said == "") != (c.says == "") || !strings.Contains(said, c.says) {
				t.Errorf("%q, want %q, said %q", got, c.want, said)
			}
		})
	}
}

// A box may have made a link of its store.
func TestStoreIsNoLink(t *testing.T) {
	r, run := place(t)
	run("rmdir ../store; ln -s app/.git/objects ../store")
	if g, err := Open(r, t.Logf); err == nil {
		g.Close()
		t.Error("it is opened")
	}
}
