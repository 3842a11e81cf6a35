package main

// End to end: every file of testdata/script is one story, told with the true
// binary, real bwrap, real shells and real terminals. The commands the stories
// have beyond testscript's own:
//
//	need PROGRAM...          skip this story where one is not installed, or a /dev/FILE cannot be opened; first of all
//	exits CODE COMMAND...    run, and want exactly this exit code
//	pty STEPS COMMAND...     run in a terminal, following the steps (contrib/terminal)
//	poll COMMAND...          run again and again until it succeeds, as long as terminal.Patience
//	mode FILE PERM           want these permission bits, in octal
//	serve DIR                an https server ($URL) for the files of a folder
//	exec nouserns COMMAND... run where user namespaces are switched off
//	syscalls                 in a box: make system calls and say what they answer
//	sockets WORDS...         in a box or not: a client and a server (sockets_test.go)
//
// Each story has a home of its own ($HOME, no ~/.inner yet), a private
// $XDG_RUNTIME_DIR, and a project at $WORK/home/app.

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/enr/inner/contrib/terminal"
	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "nouserns":
		fmt.Fprintln(os.Stderr, "nouserns:", nouserns(os.Args[1:]))
		os.Exit(99)
	case "syscalls":
		os.Exit(syscalls())
	case "sockets":
		os.Exit(sockets(os.Args[1:]))
	}
	terminal.DefaultSignals()
	code, err := testMain(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "cmd/inner:", err)
		code = 1
	}
	os.Exit(code)
}

func testMain(m *testing.M) (int, error) {
	if os.Geteuid() == 0 {
		return 0, errors.New("these tests prove nothing as root: bwrap keeps root's capabilities; make test runs them as a plain user")
	}
	dir, err := scriptRoot()
	if err != nil {
		return 0, err
	}
	defer removeAll(dir)
	if err := putBinaries(filepath.Join(dir, "bin")); err != nil {
		return 0, err
	}
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	if err := os.Symlink(self, filepath.Join(dir, "bin", "nouserns")); err != nil {
		return 0, err
	}
	// A copy: what it would link to is not seen in a box.
	data, err := os.ReadFile(self)
	if err != nil {
		return 0, err
	}
	if err := os.WriteFile(filepath.Join(dir, "bin", "syscalls"), data, 0o755); err != nil {
		return 0, err
	}
	if err := os.Link(filepath.Join(dir, "bin", "syscalls"), filepath.Join(dir, "bin", "sockets")); err != nil {
		return 0, err
	}
	if err := os.Setenv("INNER_TEST_DIR", dir); err != nil {
		return 0, err
	}
	if nu := os.Getenv("INNER_TEST_NU"); nu != "" {
		if err := os.Setenv("PATH", os.Getenv("PATH")+":"+filepath.Dir(nu)); err != nil {
			return 0, err
		}
	}
	return m.Run(), nil
}

// scriptRoot makes the folder for all stories. Not below /tmp: a box has a /tmp
// of its own, and a home in there would look like no home anybody has.
func scriptRoot() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	if cache, err = filepath.EvalSymlinks(mkdir(cache)); err != nil {
		return "", err
	}
	for _, tmp := range []string{"/tmp", "/var/tmp", "/run"} {
		if strings.HasPrefix(cache, tmp+"/") {
			return "", fmt.Errorf("the home %q is below %s, which a box does not see; set HOME", cache, tmp)
		}
	}
	dir, err := os.MkdirTemp(cache, "t") // short: see attack.MaxBase
	if err == nil {
		_ = exec.Command("chattr", "+T", dir).Run() // why: contrib/as-plain-user.sh
	}
	return dir, err
}

func mkdir(path string) string {
	_ = os.MkdirAll(path, 0o700) // a failure shows where the path is used
	return path
}

// putBinaries puts inner and the programs beside it into dir: those that make test built, or some
// built now.
func putBinaries(dir string) error {
	mkdir(dir)
	for _, name := range []string{"inner-agent", "inner-attack", "inner-fetch", "inner-fleet", "inner-learn", "inner-proxy", "inner-verify"} {
		if err := os.Symlink("inner-beside", filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	if built := os.Getenv("INNER_TEST_BIN"); built != "" {
		for _, name := range []string{"inner", "inner-beside"} {
			data, err := os.ReadFile(filepath.Join(filepath.Dir(built), name))
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, name), data, 0o755)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	build := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-ldflags", "-X main.version=v0.0.0-test", "-o", dir+"/", ".", "../inner-beside")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s(make test builds it first)", err, out)
	}
	return nil
}

// removeAll removes what tests left, also folders they made read-only.
func removeAll(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}

// missing says that a test cannot run here: a failure where nothing may be
// missing (make test), a skip with the reason elsewhere.
func missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("INNER_TEST_MUST") != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// needServed skips a test of what only a repository that is served to a box has.
func needServed(t testing.TB) {
	t.Helper()
	if unix.Access("/dev/fuse", unix.R_OK|unix.W_OK) != nil {
		t.Skip("a plain user cannot open /dev/fuse here")
	}
}

func need(t testing.TB, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			missing(t, "%s is not installed; make test installs it", p)
		}
	}
}

// hostEnv is the environment of a story, besides what testscript sets.
func hostEnv(work string) []string {
	home := filepath.Join(work, "home")
	bin := filepath.Join(os.Getenv("INNER_TEST_DIR"), "bin")
	contrib, _ := filepath.Abs("../../contrib")
	return []string{
		"HOME=" + home, "USER=tester", "LOGNAME=tester", "SHELL=/bin/bash", "TERM=xterm-256color", "LANG=C.UTF-8",
		"XDG_RUNTIME_DIR=" + filepath.Join(work, "run"), "PATH=" + bin + ":" + os.Getenv("PATH"), "APP=" + filepath.Join(home, "app"),
		"CONTRIB=" + contrib, "DEMO_INNER=" + filepath.Join(bin, "inner"), "GO_DIR=" + cmp.Or(os.Getenv("INNER_TEST_GO"), "/nonexistent"),
	}
}

func TestScript(t *testing.T) {
	need(t, "bwrap", "bash")
	testscript.Run(t, scripts("script"))
}

// What a story runs, and not every machine has, it names in its first line: so one
// missing program skips what needs it and nothing else.
func TestStoriesNameWhatTheyNeed(t *testing.T) {
	const programs = "zsh|fish|elvish|nu|tcsh|ksh|mksh|dash|git|strace|ps|pgrep|pkill|tmux|ss|curl|python3|perl|newuidmap|setpriv|unshare"
	runs := regexp.MustCompile(`^(?:! )?(?:exec|poll|exits \d+|pty \S+) (?:sh -c '(?:! )?)?(` + programs + `)\b`)
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no stories", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(text), "\n")
		needs := strings.Fields(strings.TrimPrefix(first, "need "))
		for line := range strings.Lines(string(text)) {
			if m := runs.FindStringSubmatch(line); m != nil && !slices.Contains(needs, m[1]) {
				t.Errorf("%s: its first line is not \"need … %s …\", and it runs: %s", file, m[1], line)
			}
		}
	}
}

// Stories run side by side and look for their sleeping program by its number in the list of all processes.
func TestStoriesSleepApart(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no stories", err)
	}
	whose := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, number := range regexp.MustCompile(`sleep 987654\d\d`).FindAllString(string(text), -1) {
			if other := whose[number]; other != "" && other != file {
				t.Errorf("%s and %s both have %q", file, other, number)
			}
			whose[number] = file
		}
	}
}

// scripts are the stories of a folder of testdata.
func scripts(dir string) testscript.Params {
	return testscript.Params{
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "fuse": // repositories are served to boxes
				return unix.Access("/dev/fuse", unix.R_OK|unix.W_OK) == nil, nil
			case "names": // this computer knows names for servers of stories, see contrib/as-plain-user.sh
				_, err := net.LookupHost("plain.names.test")
				return err == nil, nil
			}
			return false, fmt.Errorf("%s is no condition", cond)
		},
		Dir:                 filepath.Join("testdata", dir),
		WorkdirRoot:         os.Getenv("INNER_TEST_DIR"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			for _, dir := range []string{"home/app", "run"} {
				if err := os.MkdirAll(filepath.Join(e.WorkDir, dir), 0o700); err != nil {
					return err
				}
			}
			e.Values[storyKey{}] = e.T()
			e.Defer(func() { showWritten(e) })
			e.Vars = append(e.Vars, hostEnv(e.WorkDir)...)
			e.Cd = filepath.Join(e.WorkDir, "home", "app")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"need":  cmdNeed,
			"exits": cmdExits,
			"pty":   cmdPty,
			"poll":  cmdPoll,
			"mode":  cmdMode,
			"serve": cmdServe,
		},
	}
}

// showWritten shows what commands of a story that failed have written to files in place of the story's log.
func showWritten(e *testscript.Env) {
	if t, is := e.T().(interface{ Failed() bool }); !is || !t.Failed() {
		return
	}
	for _, name := range []string{"out*", "err*", "messages", "said*", "seen*", "answer*", "first", "own"} {
		paths, _ := filepath.Glob(filepath.Join(e.WorkDir, "home", "app", name))
		for _, path := range paths {
			if fi, err := os.Lstat(path); err == nil && fi.Mode().IsRegular() && fi.Size() < 64<<10 {
				text, _ := os.ReadFile(path)
				e.T().Log(path + ":\n" + string(text))
			}
		}
	}
}

// refuseNeg refuses "!" before a command that has no meaning for it.
func refuseNeg(ts *testscript.TestScript, neg bool, usage string, ok bool) {
	if neg || !ok {
		ts.Fatalf("usage: %s", usage)
	}
}

// storyKey is where a story keeps its testscript.T.
type storyKey struct{}

func cmdNeed(ts *testscript.TestScript, neg bool, args []string) {
	refuseNeg(ts, neg, "need PROGRAM...", len(args) >= 1)
	for _, p := range args {
		if strings.HasPrefix(p, "/dev/") { // the machine's, not to be installed
			if unix.Access(p, unix.R_OK|unix.W_OK) != nil {
				ts.Value(storyKey{}).(testscript.T).Skip("a plain user cannot open " + p + " here")
			}
			continue
		}
		_, err := exec.LookPath(p)
		switch {
		case err == nil:
		case os.Getenv("INNER_TEST_MUST") != "":
			ts.Fatalf("%s is not installed; make test installs it", p)
		default:
			ts.Value(storyKey{}).(testscript.T).Skip(p + " is not installed; make test installs it")
		}
	}
}

func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	refuseNeg(ts, neg, "exits CODE COMMAND [ARG...]", len(args) >= 2)
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = terminal.ExitCode(exit.ProcessState)
	case err != nil:
		ts.Fatalf("%v", err)
	}
	ts.Logf("[stdout]\n%s[stderr]\n%s", ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func cmdPoll(ts *testscript.TestScript, neg bool, args []string) {
	refuseNeg(ts, neg, "poll COMMAND [ARG...]", len(args) >= 1)
	end := time.Now().Add(terminal.Patience)
	for {
		err := ts.Exec(args[0], args[1:]...)
		if err == nil {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("still %v after %v\n%s%s", err, terminal.Patience, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
		}
		time.Sleep(20 * time.Millisecond) // between two looks, not instead of one
	}
}

func cmdMode(ts *testscript.TestScript, neg bool, args []string) {
	refuseNeg(ts, neg, "mode FILE PERM", len(args) == 2)
	want, err := strconv.ParseUint(args[1], 8, 32)
	ts.Check(err)
	fi, err := os.Lstat(ts.MkAbs(args[0]))
	ts.Check(err)
	if got := fi.Mode().Perm(); got != fs.FileMode(want) {
		ts.Fatalf("%s has mode %#o, want %#o", args[0], got, want)
	}
}
