package isolator_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/enr/inner/isolator"
	"github.com/enr/inner/isolator/session"
)

func TestMain(m *testing.M) {
	isolator.Main()
	if os.Args[0] == callsThenDies {
		os.Exit(callThenDie())
	}
	os.Exit(m.Run())
}

const guest = `schema_version = "1"
name = "tools"
[sandbox]
network = false
home = "isolated"
[entrypoint]
cmd = "bash"
interactive = false
[output]
record = "audit"
timeout_seconds = 60
`

// home is a new user of inner, whose project is the current folder.
func home(t testing.TB) (app string) {
	t.Helper()
	work, err := os.MkdirTemp("/var/tmp", "library.") // a session has a /tmp of its own
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(work) })
	app = filepath.Join(work, "home", "app")
	for _, dir := range []string{app, filepath.Join(work, "run"), filepath.Join(work, "home", ".inner", "profiles")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(work, "home", ".inner", "profiles", "tools.toml"), []byte(guest), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(app, ".env"), []byte("KEY=1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", filepath.Join(work, "home"))
	t.Setenv("INNER_HOME", "")
	t.Setenv("XDG_RUNTIME_DIR", filepath.Join(work, "run"))
	t.Chdir(app)
	return app
}

func load(t testing.TB, o isolator.Options) *isolator.Profile {
	t.Helper()
	p, err := isolator.Load(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// left reports what runs left in the folder of run folders, and children of this process.
func left(t testing.TB) (list []string) {
	t.Helper()
	list, _ = filepath.Glob(filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "inner", "2*"))
	tasks, _ := filepath.Glob("/proc/self/task/*/children")
	for _, f := range tasks {
		if data, err := os.ReadFile(f); err == nil && len(bytes.TrimSpace(data)) > 0 {
			list = append(list, "child "+string(data))
		}
	}
	return list
}

func TestCommand(t *testing.T) {
	home(t)
	for name, p := range map[string]*isolator.Profile{
		"name": load(t, isolator.Options{Name: "tools"}),
		"file": load(t, isolator.Options{File: os.Getenv("HOME") + "/.inner/profiles/tools.toml"}),
		"text": load(t, isolator.Options{TOML: []byte(guest)}),
	} {
		var out, errs bytes.Buffer
		c := p.Shell(t.Context(), `cat; pwd; echo $A; cat .env; echo e >&2; test -t 0 || test -t 1 || exit 125`)
		c.Stdin, c.Stdout, c.Stderr, c.Env = strings.NewReader("in\n"), &out, &errs, map[string]string{"A": "a b"}
		r, err := c.Run()
		cwd, _ := os.Getwd()
		if want := "in\n" + cwd + "\na b\n# hidden by inner; outside type: inner why .env\n"; err != nil || r.Code != 125 || out.String() != want || errs.String() != "e\n" || r.Run == "" || r.Took <= 0 {
			t.Errorf("%s: %+v %v %q %q", name, r, err, out.String(), errs.String())
		}
	}
	p := load(t, isolator.Options{Name: "tools"})
	if r, err := p.Command(t.Context(), "sh", "-c", "kill -TERM $$").Run(); err != nil || r.Signal != "SIGTERM" || r.Code != 143 {
		t.Errorf("a signal: %+v %v", r, err)
	}
	c := p.Command(t.Context(), "sleep", "30")
	c.Timeout = 200 * time.Millisecond
	if r, err := c.Run(); err != nil || !r.TimedOut || r.Code != 124 {
		t.Errorf("a time limit: %+v %v", r, err)
	}
	if _, err := c.Run(); err == nil {
		t.Error("a Cmd ran twice")
	}
	if l := left(t); l != nil {
		t.Errorf("left: %q", l)
	}
}

// What does not start is a *Refusal; without one the program has run.
func TestRefusals(t *testing.T) {
	app := home(t)
	p := load(t, isolator.Options{Name: "tools"})
	for name, c := range map[string]struct {
		run  func() error
		kind string
		code int
	}{
		"no program": {func() error { _, err := p.Command(t.Context(), "nosuchprogram").Run(); return err }, "not_found", 127},
		"no folder": {func() error {
			c := p.Command(t.Context(), "true")
			c.Dir = "/nosuchfolder"
			_, err := c.Run()
			return err
		}, "workdir", 126},
		"another program as inner": {func() error {
			_, err := load(t, isolator.Options{Name: "tools", Inner: "/bin/true"}).Command(t.Context(), "touch", "ran").Run()
			if _, ran := os.Stat(filepath.Join(app, "ran")); ran == nil {
				t.Error("it ran without a supervisor")
			}
			return err
		}, "no_sandbox", 125},
		"no words":   {func() error { _, err := p.Command(t.Context()).Run(); return err }, "usage", 2},
		"NUL":        {func() error { _, err := p.Command(t.Context(), "echo", "a\x00b").Run(); return err }, "usage", 2},
		"no profile": {func() error { _, err := isolator.Load(t.Context(), isolator.Options{Name: "nosuch"}); return err }, "profile", 125},
		"two": {func() error {
			_, err := isolator.Load(t.Context(), isolator.Options{Name: "a", File: "/b"})
			return err
		}, "usage", 2},
		"not valid": {func() error {
			_, err := isolator.Load(t.Context(), isolator.Options{TOML: []byte("x = 1")})
			return err
		}, "profile", 125},
		"no roles": {func() error { _, err := isolator.Load(t.Context(), isolator.Options{Role: "guest"}); return err }, "profile", 125},
		"not allowed": {func() error {
			dir := filepath.Join(app, ".inner", "profiles")
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, "here.toml"), []byte(strings.Replace(guest, "tools", "here", 1)), 0o644); err != nil {
				return err
			}
			_, err := isolator.Load(t.Context(), isolator.Options{Name: "here"})
			return err
		}, "not_trusted", 126},
	} {
		err := c.run()
		var r *isolator.Refusal
		if !errors.As(err, &r) || r.Kind != c.kind || r.Code != c.code || r.Msg == "" {
			t.Errorf("%s: %#v, want %s %d", name, err, c.kind, c.code)
		}
	}
}

// The end of a context is the end of everything in the box.
func TestCancel(t *testing.T) {
	app := home(t)
	p := load(t, isolator.Options{Name: "tools"})
	ctx, cancel := context.WithCancel(t.Context())
	c := p.Shell(ctx, `trap "" TERM; (while :; do date >>ticks; sleep 0.05; done) & wait`)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(app, "ticks")); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("it never started")
		}
	}
	cancel()
	if r, err := c.Wait(); err != nil || r.Code != 137 {
		t.Errorf("%+v %v", r, err)
	}
	before, _ := os.Stat(filepath.Join(app, "ticks"))
	time.Sleep(300 * time.Millisecond) // six times as long as it pauses
	if after, _ := os.Stat(filepath.Join(app, "ticks")); before.Size() != after.Size() {
		t.Error("something of the box is alive")
	}
}

// Many goroutines share a profile; nothing is left, and no thread keeps what the launcher
// changed of it.
func TestConcurrent(t *testing.T) {
	home(t)
	p := load(t, isolator.Options{Name: "tools"})
	goroutines, calls := 20, 4
	if os.Getenv("INNER_TEST_CALLS") != "" { // a minute and a half on two processors
		goroutines, calls = 50, 20
	}
	var group sync.WaitGroup
	for g := range goroutines {
		group.Go(func() {
			for i := range calls {
				var out bytes.Buffer
				c := p.Command(t.Context(), "echo", fmt.Sprint(g, " ", i))
				c.Stdout = &out
				if r, err := c.Run(); err != nil || r.Code != 0 || out.String() != fmt.Sprintf("%d %d\n", g, i) {
					t.Errorf("%d %d: %+v %v %q", g, i, r, err, out.String())
					return
				}
			}
		})
	}
	group.Wait()
	if l := left(t); l != nil {
		t.Errorf("left: %q", l)
	}
	var st syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &st); err != nil {
		t.Error(err)
	}
	if fds, _ := os.ReadDir("/proc/self/fd"); len(fds) > 40 {
		t.Errorf("%d descriptors are open", len(fds))
	}
}

// A call is as one of os/exec: it takes no signal and no descriptor of the program, and leaves none behind.
func TestTakesNothing(t *testing.T) {
	home(t)
	p := load(t, isolator.Options{Name: "tools"})
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	inherited, err := syscall.Dup(int(w.Fd())) // without close-on-exec, for a child of the program
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(inherited)
	open := func() int {
		fds, _ := os.ReadDir("/proc/self/fd")
		return len(fds)
	}
	before, goroutines := 0, 0
	for i := range 12 {
		if res, err := p.Command(context.Background(), "sh", "-c", "ls -d /proc/self/fd/[3-9]* 2>/dev/null").Run(); err != nil || res.Code != 2 {
			t.Fatalf("%+v %v", res, err)
		}
		if i == 1 {
			before, goroutines = open(), runtime.NumGoroutine()
		}
	}
	for end := time.Now().Add(2 * time.Minute); open() > before || runtime.NumGoroutine() > goroutines; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d descriptors and %d goroutines, %d and %d before", open(), runtime.NumGoroutine(), before, goroutines)
		}
	}
	if flags, _, _ := syscall.Syscall(syscall.SYS_FCNTL, uintptr(inherited), syscall.F_GETFD, 0); flags&syscall.FD_CLOEXEC != 0 {
		t.Error("a descriptor of the program is close-on-exec now")
	}
	// A program that has made calls ends by a signal as any other.
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Args[0], cmd.Stderr = callsThenDies, os.Stderr
	_ = cmd.Run()
	if st := cmd.ProcessState.Sys().(syscall.WaitStatus); st.Signal() != syscall.SIGTERM {
		t.Errorf("%v", cmd.ProcessState)
	}
}

// callsThenDies is the name under which the test binary makes two calls, and sends itself SIGTERM.
const callsThenDies = "calls-then-dies"

func callThenDie() int {
	p, err := isolator.Load(context.Background(), isolator.Options{Name: "tools"})
	for range 2 {
		if err == nil {
			_, err = p.Command(context.Background(), "true").Run()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
	time.Sleep(time.Minute)
	return 2
}

// A second probe, and every Load, starts no process.
func TestStartsNothing(t *testing.T) {
	home(t)
	h, err := isolator.Probe(t.Context())
	if err != nil || h.Bwrap == "" || h.Version == "" {
		t.Fatalf("%+v %v", h, err)
	}
	children := func() int64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
			t.Fatal(err)
		}
		return u.Minflt // of children that have ended: each has some
	}
	before := children()
	if _, err := isolator.Probe(t.Context()); err != nil {
		t.Error(err)
	}
	for range 2 {
		load(t, isolator.Options{Name: "tools"})
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := isolator.Probe(ended); !errors.As(err, new(*isolator.Refusal)) {
		t.Errorf("a cancelled probe: %v", err)
	}
	if after := children(); after != before {
		t.Errorf("a process was started: %d faults of children, %d before", after, before)
	}
	load(t, isolator.Options{Name: "tools"}).Command(t.Context(), "true").Run() //nolint:errcheck // the twin: this one does
	if children() == before {
		t.Error("the measure sees no process")
	}
}

func TestClassify(t *testing.T) {
	app := home(t)
	p := load(t, isolator.Options{Name: "tools"})
	for path, want := range map[string]isolator.Place{
		app:            {Box: app, Access: "rw"},
		".env":         {Box: app + "/.env", Access: "hidden", Key: "env-files"},
		"/etc/passwd":  {Box: "/etc/passwd", Access: "ro"},
		"/nosuch/file": {Access: "absent"},
		os.Getenv("HOME") + "/.inner/profiles/tools.toml": {Access: "outside", Key: "sandbox.home"},
	} {
		got, err := p.Classify(path)
		if err != nil || got.Box != want.Box || got.Access != want.Access || want.Key != "" && got.Key != want.Key {
			t.Errorf("%s: %+v %v, want %+v", path, got, err, want)
		}
	}
}

// What Args returns runs as the box does.
func TestArgs(t *testing.T) {
	inner := os.Getenv("INNER_TEST_BIN")
	if inner == "" {
		if os.Getenv("INNER_TEST_MUST") != "" {
			t.Fatal("INNER_TEST_BIN names no binary")
		}
		t.Skip("INNER_TEST_BIN names no binary: make test")
	}
	app := home(t)
	p := load(t, isolator.Options{Name: "tools", Inner: inner})
	words, err := p.Args("", "cat", "/proc/self/cgroup", app+"/.env")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil || !strings.HasSuffix(string(out), ":/\n# hidden by inner; outside type: inner why .env\n") {
		t.Errorf("%q: %v %q", words, err, out)
	}
	if _, err := load(t, isolator.Options{TOML: []byte(guest)}).Args("", "true"); err == nil {
		t.Error("a text became words of a command")
	}
	// The same binary is the supervisor of a program that cannot be its own.
	if r, err := p.Command(t.Context(), "true").Run(); err != nil || r.Code != 0 {
		t.Errorf("with Inner: %+v %v", r, err)
	}
}

// [commands] gives a command another profile, for the library, too.
func TestCommands(t *testing.T) {
	home(t)
	dir := os.Getenv("HOME") + "/.inner/"
	for name, text := range map[string]string{"profiles/look.toml": strings.Replace(guest, "network = false", "network = false\nworkdir_mode = \"ro\"", 1), "config.toml": "[commands]\n\"touch kept\" = \"look\"\n"} {
		if err := os.WriteFile(dir+name, []byte(strings.Replace(text, "\"tools\"", "\"look\"", 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := load(t, isolator.Options{Name: "tools"})
	if r, err := p.Command(t.Context(), "touch", "kept").Run(); err != nil || r.Code != 1 {
		t.Errorf("in the profile of the table: %+v %v", r, err)
	}
	if r, err := p.Shell(t.Context(), "touch kept; true").Run(); err != nil || r.Code != 0 {
		t.Errorf("in its own: %+v %v", r, err)
	}
}

func TestSession(t *testing.T) {
	home(t)
	p := load(t, isolator.Options{Name: "tools", Session: "s1"})
	if err := os.Mkdir("src", 0o755); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for _, line := range []string{"echo kept >/tmp/note; cd src", "cat /tmp/note; basename $PWD"} {
		c := p.Shell(t.Context(), line)
		c.Stdout = &out
		if r, err := c.Run(); err != nil || r.Code != 0 {
			t.Fatalf("%+v %v", r, err)
		}
	}
	if out.String() != "kept\nsrc\n" {
		t.Errorf("%q", out.String())
	}
}

// A session whose profile says so has one box: what a call has started lives on, and is gone
// with the session. The end of a context ends one call.
func TestSessionBox(t *testing.T) {
	home(t)
	if err := os.WriteFile("box.toml", []byte(strings.Replace(guest, "[sandbox]\n", "[sandbox]\nsession = \"box\"\n", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	end := func() {
		if _, err := session.End(filepath.Join(os.Getenv("HOME"), ".inner", "sessions"), func(session.Info) bool { return true }); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(end)
	p := load(t, isolator.Options{File: "box.toml", Session: "s1"})
	run := func(line string) string {
		t.Helper()
		var out bytes.Buffer
		c := p.Shell(t.Context(), line)
		c.Stdout = &out
		if r, err := c.Run(); err != nil || r.Code != 0 || len(r.Warnings) > 0 {
			t.Fatalf("%q: %+v %v", line, r, err)
		}
		return strings.TrimSpace(out.String())
	}
	seconds := fmt.Sprint(100_000 + os.Getpid()) // of this test alone
	server := run("sleep " + seconds + "1 & echo $!")
	ctx, cancel := context.WithCancel(t.Context())
	slow := p.Shell(ctx, "setsid sleep "+seconds+"2 & touch began; sleep "+seconds+"3")
	if err := slow.Start(); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat("began"); err == nil {
			break
		}
	}
	cancel()
	if r, err := slow.Wait(); err == nil && r.Code == 0 {
		t.Errorf("a cancelled call: %+v %v", r, err)
	}
	if got := run("kill -0 " + server + " && pgrep -fc '[s]leep " + seconds + "'"); got != "1" {
		t.Errorf("%s of the processes of both calls are there", got)
	}
	var calls sync.WaitGroup
	for range 20 {
		calls.Go(func() { run("kill -0 " + server) })
	}
	calls.Wait()
	end()
	if out, err := exec.Command("pgrep", "-f", "[s]leep "+seconds).CombinedOutput(); err == nil {
		t.Errorf("after the end of the session: %s", out)
	}
	for deadline := time.Now().Add(2 * time.Minute); len(left(t)) > 0; { // until its server was waited for
		if time.Now().After(deadline) {
			t.Fatalf("left: %q", left(t))
		}
	}
}

func ExampleProfile_Command() {
	profile, err := isolator.Load(context.Background(), isolator.Options{TOML: []byte(`schema_version = "1"
[sandbox]
network = false
[output]
record = "audit"
`)})
	if err != nil {
		fmt.Println(err)
		return
	}
	var output strings.Builder
	cmd := profile.Command(context.Background(), "sh", "-c", "echo in a box of its own; exit 3")
	cmd.Stdout = &output
	result, err := cmd.Run()
	var refusal *isolator.Refusal
	if errors.As(err, &refusal) {
		fmt.Println(refusal.Msg, refusal.Hint)
		return
	}
	fmt.Printf("%q %d\n", output.String(), result.Code)
	// Output: "in a box of its own\n" 3
}
