package share

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/git/gate"
	"github.com/enr/inner/isolator/git/server"
	"github.com/enr/inner/profile/gitconfig"
)

func TestMain(m *testing.M) {
	brief = 0 // no test waits
	os.Exit(m.Run())
}

// plain brings whatever the store has, and looks at nothing: what is decided about is tested where it is.
type plain struct{ dir, store string }

func (p plain) Bring(...string) error {
	out, err := exec.Command("cp", "-rn", p.store+"/.", p.dir+"/objects").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w", out, err)
	}
	return nil
}

func (p plain) Enter(_ string, data, _ []byte) ([]byte, func(), error) {
	return data, nil, p.Bring()
}

func (plain) Served(_ string, data []byte) ([]byte, error) { return data, nil }

// box is a box with a shared repository, and a shell in it.
type box struct {
	t       *testing.T
	project string
	dir     string   // the git directory, .git in the project unless it is said
	tree    string   // see gate.Repository
	modules []string // submodules that are served as well, by the names of their git directories in dir
	home    string   // of what is kept of it
	process *os.Process
	in      io.Writer
	out     *bufio.Reader
	said    *said
	moved   said
}

func (b *box) tell(m server.Message) {
	if m.Line != "" {
		b.said.say("%s", m.Line)
	}
	if m.Moved != nil {
		b.moved.say("%s %.7s %.7s", m.Moved.Ref, m.Moved.Old, m.Moved.New)
	}
}

// command is a command outside, in the project.
func (b *box) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Dir, c.Env = b.project, append(os.Environ(), identity...)
	return c
}

// kill ends the box, and with it its server.
func (b *box) kill() {
	_ = b.process.Kill()
	_, _ = b.process.Wait()
}

// said is what the server tells the person.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(&s.text, format+"\n", args...)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	c := exec.Command("git", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), identity...)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return string(out)
}

var identity = []string{"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "HOME=/nowhere", "LC_ALL=C"}

func newBox(t *testing.T) *box {
	t.Helper()
	b := newRepository(t)
	b.enter()
	return b
}

func newRepository(t *testing.T) *box {
	t.Helper()
	if unix.Access("/dev/fuse", unix.R_OK|unix.W_OK) != nil {
		t.Skip("inner: not run here: a plain user cannot open /dev/fuse")
	}
	project := t.TempDir()
	git(t, project, "init", "-q", "-b", "main")
	if err := os.WriteFile(filepath.Join(project, "a"), []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	git(t, project, "add", "a")
	git(t, project, "commit", "-qm", "first")
	return &box{t: t, project: project, said: new(said)}
}

// enter makes a box of the project and serves its repository there.
func (b *box) enter() {
	if b.home == "" {
		b.home = b.t.TempDir()
	}
	if b.dir == "" {
		b.dir = filepath.Join(b.project, ".git")
	}
	args := []string{"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-pid", "--bind", b.project, b.project, "--bind", b.dir, b.dir}
	s, binds := b.open(b.dir, b.project, b.tree, b.home)
	servers := []*Server{s}
	args = append(args, binds...)
	for i, name := range b.modules {
		s, binds := b.open(filepath.Join(b.dir, name), filepath.Join(b.project, filepath.Base(name)), "", filepath.Join(b.home, fmt.Sprint(i)))
		servers, args = append(servers, s), append(args, binds...)
	}
	word, give, err := os.Pipe()
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { word.Close(); give.Close() })
	mounting, err := Prepare(int(word.Fd()), servers...)
	if err != nil {
		b.t.Fatal(err)
	}
	b.start(args, func(user, mounts int) {
		err := mounting.Enter(user, mounts)
		if err == nil {
			_, err = give.Write([]byte("M"))
		}
		if err == nil {
			err = mounting.Serve()
		}
		if err != nil {
			b.t.Fatal(err)
		}
	})
}

// open opens a repository, and returns what bwrap has to bind for its store.
func (b *box) open(dir, project, tree, home string) (s *Server, binds []string) {
	t := b.t
	store, host := filepath.Join(home, "store"), filepath.Join(home, "host")
	for _, d := range []string{filepath.Join(store, "info"), filepath.Join(store, "pack"), host, filepath.Join(home, "private")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(store, "info/alternates"), []byte(host+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	program, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	s, err = Open(server.Repository{
		Repository: gate.Repository{Git: program, Dir: dir, Top: project, Tree: tree, Private: filepath.Join(home, "private")},
		Box:        store,
		Ours:       []gitconfig.Entry{{Key: "gc.auto", Value: "0"}},
	}, plain{dir, store}, b.tell)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // the settings are removed, too
		kernel.mu.Lock()
		defer kernel.mu.Unlock()
		s.watch.settings = func() {}
	})
	return s, []string{"--bind", store, store, "--ro-bind", dir + "/objects", host}
}

// start starts the box, and its program once what is served is mounted.
func (b *box) start(args []string, mount func(user, mounts int)) {
	t := b.t
	c := exec.Command("bwrap", append(args, "--die-with-parent", "--chdir", b.project, "sh", "-c", "echo $(readlink /proc/self); read x; cd \"$PWD\"; exec sh 2>&1")...)
	c.Env = append(append(os.Environ(), identity...), "D="+b.dir)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	b.process = c.Process
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	b.in, b.out = in, bufio.NewReader(out)
	if _, err := b.out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	first, err := exec.Command("pgrep", "-P", fmt.Sprint(c.Process.Pid)).Output()
	if err != nil {
		t.Fatal(err)
	}
	mounts, err := unix.Open(fmt.Sprintf("/proc/%s/ns/mnt", strings.TrimSpace(string(first))), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	user, err := unix.IoctlRetInt(mounts, unix.NS_GET_USERNS)
	if err != nil {
		t.Fatal(err)
	}
	mount(user, mounts)
	_, _ = io.WriteString(b.in, "\n")
}

// run runs a line in the box and returns what it prints.
func (b *box) run(line string) string {
	b.t.Helper()
	fmt.Fprintf(b.in, "%s\necho \"== $?\"\n", line)
	var text strings.Builder
	for {
		got, err := b.out.ReadString('\n')
		if err != nil {
			b.t.Fatalf("%s: %v after %q", line, err, text.String())
		}
		if code, ok := strings.CutPrefix(got, "== "); ok {
			if code != "0\n" {
				fmt.Fprintf(&text, "code %s", code)
			}
			return text.String()
		}
		text.WriteString(got)
	}
}

// Both sides see what the other does at once.
func TestBothSides(t *testing.T) {
	b := newBox(t)
	b.steps([]step{
		{box: "git status --porcelain", want: ""},
		{box: "echo two >b; git add b && git commit -qm second; git log --format=%s", want: "second\nfirst\n"},
		{outside: "git log --format=%s", want: "second\nfirst\n"},
		{outside: "git status --porcelain", want: ""},
		{outside: "git commit -q --allow-empty -m third", want: ""},
		{box: "git log -1 --format=%s", want: "third\n"},
		{box: "git branch topic && git branch --list", want: "* main\n  topic\n"},
		{outside: "git branch --list", want: "* main\n  topic\n"},
		{outside: "git branch -q -d topic", want: ""},
		{box: "git branch --list", want: "* main\n"},
		{box: "git config user.name box; git config user.name", want: "box\n"},
		{outside: "git config --default none user.name", want: "none\n"},
		{box: "git config gc.auto 7", want: ""},
		{outside: "git config user.email another", want: ""},
		{box: "git config user.email; git config user.name; git config gc.auto", want: "another\nbox\n7\n"},
		{box: "git switch -qc feature; git commit -q --allow-empty -m on; git stash list; git rev-parse --abbrev-ref HEAD", want: "feature\n"},
		{outside: "git rev-parse --abbrev-ref HEAD", want: "feature\n"},
		{box: "echo x >>a; git stash -q; git stash list | wc -l", want: "1\n"},
		{outside: "git stash pop -q", want: ""},
		{box: "git status --porcelain", want: " M a\n"},
		{box: "sed -i s/second/other/ .git/COMMIT_EDITMSG && git pack-refs --all && git fsck --no-dangling 2>&1", want: ""},
		{outside: "git fsck --strict --no-dangling", want: ""},
	})
	if text := b.said.String(); text != "git: settings that the sandbox changed stay with it: user.name\ngit: settings that the sandbox changed stay with it: gc.auto\n" {
		t.Errorf("said %q", text)
	}
}

// step is a line of sh on one side, and what it prints.
type step struct{ box, outside, want string }

func (b *box) steps(steps []step) {
	b.t.Helper()
	for _, s := range steps {
		got := ""
		if s.box != "" {
			got = b.run("{ " + s.box + "\n} || :")
		} else {
			got = b.outside("{ " + s.outside + "\n} || :")
		}
		if got != s.want {
			b.t.Errorf("%s%s: %q, want %q\n%s", s.box, s.outside, got, s.want, b.said)
		}
	}
}

// Where the settings of a run cannot be made, those of the last one do not count in their place.
func TestSettingsOfLastRun(t *testing.T) {
	b := newBox(t)
	b.run("git config foo.bar last")
	b.kill()
	b.outside("echo [ >.git/config")
	b.enter()
	if got := b.run("git config foo.bar; git status 2>&1"); strings.Contains(got, "last\n") || !strings.Contains(got, "code ") {
		t.Errorf("%q", got)
	}
}
