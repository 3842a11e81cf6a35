package launch

import (
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	contribterminal "github.com/enr/inner/contrib/terminal"
	"github.com/enr/inner/isolator/launch/box"
	"github.com/enr/inner/isolator/launch/wire"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/userns"
)

// The test binary plays every part: the tests, the launcher (wordLaunch), the
// supervisor in the box, and programs in the box that need system calls no
// shell has (wordProbe). As root it first becomes a plain user, since bwrap
// run by root hides mistakes.
const (
	wordLaunch = "__launch"
	wordProbe  = "__probe"
	plainUser  = 64321 // nobody's number
)

func TestMain(m *testing.M) {
	switch {
	case box.Is(os.Args):
		os.Exit(box.Run())
	case len(os.Args) == 3 && os.Args[1] == wordLaunch:
		runtime.LockOSThread()
		os.Exit(launcherMain(os.Args[2]))
	case len(os.Args) > 2 && os.Args[1] == wordProbe:
		os.Exit(probeMain(os.Args[2:]))
	}
	if _, err := exec.LookPath("bwrap"); err != nil {
		fmt.Fprintln(os.Stderr, "these tests need bwrap:", err)
		os.Exit(1)
	}
	if os.Geteuid() == 0 && !fuzzing() {
		os.Exit(asPlainUser())
	}
	contribterminal.DefaultSignals()
	os.Exit(m.Run())
}

// fuzzing reports whether this is go test -fuzz: it starts no box, and keeps
// files where only the user who started it may write.
func fuzzing() bool {
	return slices.ContainsFunc(os.Args, func(a string) bool {
		return strings.HasPrefix(strings.TrimLeft(a, "-"), "test.fuzz") && !strings.HasSuffix(a, "=")
	})
}

// asPlainUser runs the tests again as a user without privileges, from a copy
// of the test binary that this user can read.
func asPlainUser() int {
	dir, err := os.MkdirTemp("/var/tmp", "inner-launch-test-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = copyFile(filepath.Join(dir, "launch.test"), "/proc/self/exe")
	}
	if err == nil {
		err = os.Chown(dir, plainUser, plainUser)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	args := slices.DeleteFunc(slices.Clone(os.Args[1:]), func(a string) bool {
		for _, f := range []string{"testlogfile", "coverprofile", "gocoverdir", "outputdir"} {
			if strings.HasPrefix(strings.TrimLeft(a, "-"), "test."+f) {
				return true // files of the go command, not this user's
			}
		}
		return false
	})
	cmd := exec.Command(filepath.Join(dir, "launch.test"), args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", "HOME="+dir, "TMPDIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: plainUser, Gid: plainUser}}
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "as a plain user:", err)
		return 1
	}
	return 0
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Close()
}

// job is what the launcher part is asked to run, in a file.
type job struct {
	Args        []string // bwrap's, after the usual ones
	Bwrap       string
	Argv        []string
	Program     string
	Env         []string
	Dir         string
	Data        [][]byte
	Interactive bool
	Clipboard   bool
	CursorFix   string
	Timeout     time.Duration
	Result      string // a file to write Result to
	NonBlock    bool   // the descriptors are non-blocking, and must be left so
	Mark        uint64 // see marked
	Map         *userns.Map
	Watch       string // a file to write what is watched to
	WatchAll    bool
	Listen      []uint16 // ports of the box
	Publish     []uint16
	NoNetwork   string // what taking them says, an error
	Landlock    *plan.Landlock
	Pins        []plan.Pin
	Outside     []plan.Op
	Late        []plan.Live
	Attack      string        // what a shell does once bwrap was started
	After       string        // and when all is mounted
	Meanwhile   string        // what is said while the box is made, an error; with Watch it watches
	Early       time.Duration // for how long bwrap waits for its words at least; 0 for a bwrap that finds them
}

func launcherMain(file string) int {
	var j job
	f, err := os.Open(file)
	if err == nil {
		err = gob.NewDecoder(f).Decode(&j)
		f.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	if j.Mark != 0 {
		_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: j.Mark, Max: j.Mark})
	}
	if j.NonBlock {
		for fd := range 3 {
			_ = unix.SetNonblock(fd, true)
		}
	}
	o := Options{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Interactive: j.Interactive, Clipboard: j.Clipboard, CursorFix: j.CursorFix, Timeout: j.Timeout, WatchAll: j.WatchAll,
	}
	if j.Watch != "" {
		o.Watch = &watcher{file: j.Watch}
	}
	if j.Meanwhile != "" {
		watch := o.Watch
		o.Watch = nil
		o.Meanwhile = func() (Watcher, error) {
			if j.Meanwhile == "ok" {
				return watch, nil
			}
			return nil, errors.New(j.Meanwhile)
		}
	}
	if j.Attack != "" {
		o.Meanwhile = func() (Watcher, error) { return nil, exec.Command("/bin/sh", "-ec", j.Attack).Run() }
	}
	if j.After != "" {
		o.Inside = func(Inside) error { return exec.Command("/bin/sh", "-ec", j.After).Run() }
	}
	if len(j.Listen)+len(j.Publish) > 0 {
		o.Network = accepting(j)
	}
	p := j.plan()
	if j.Early > 0 {
		o.Early = StartEarly(p.Bwrap, o)
		defer o.Early.Close()
		time.Sleep(j.Early)
	}
	r := Run(p, o)
	if j.Result != "" {
		b, _ := json.Marshal(r)
		if err := os.WriteFile(j.Result, b, 0o600); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 99
		}
	}
	if flags, err := unix.FcntlInt(1, unix.F_GETFL, 0); j.NonBlock && (err != nil || flags&unix.O_NONBLOCK == 0) {
		return 97
	}
	return r.Code
}

func (j job) plan() plan.Plan {
	p := plan.Plan{Bwrap: j.Bwrap, Program: j.Program, Argv: j.Argv, Env: j.Env, Dir: j.Dir, Data: j.Data, Map: j.Map, Landlock: j.Landlock, Pins: j.Pins, Late: j.Late}
	if j.Late != nil {
		p.Empty = "/dev/null"
	}
	if p.Bwrap == "" {
		p.Bwrap = "/usr/bin/bwrap"
	}
	if p.Program == "" {
		p.Program = j.Argv[0]
	}
	if p.Env == nil {
		p.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "TERM=xterm-256color"}
	}
	if p.Dir == "" {
		p.Dir = "/"
	}
	for _, port := range j.Listen {
		p.Listen = append(p.Listen, plan.Listen{Port: port})
	}
	for _, port := range j.Publish {
		p.Publish = append(p.Publish, plan.Publish{Port: port})
	}
	// Where the test binary and its files are must be there in the box.
	home := filepath.Dir(self())
	words := slices.Concat([]string{
		"--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
		"--die-with-parent", "--cap-drop", "ALL", "--tmpfs", "/tmp", "--setenv", "GORACE", "atexit_sleep_ms=0", "--bind", home, home, "--bind", os.TempDir(), os.TempDir(),
	}, j.Args)
	flags := plan.Op{Kind: plan.OpSwitch}
	for _, w := range words {
		flags.Flags = append(flags.Flags, plan.Flag(w))
	}
	p.Ops = append([]plan.Op{flags}, j.Outside...)
	return p
}

// command makes the launcher a command; the caller sets its descriptors.
func (j job) command(t testing.TB) *exec.Cmd {
	t.Helper()
	return exec.Command(self(), wordLaunch, j.file(t))
}

// file writes j to a file and returns its name.
func (j job) file(t testing.TB) string {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "job")
	if err == nil {
		err = gob.NewEncoder(f).Encode(j)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

func self() string {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return exe
}

// sh is a job that runs a shell script, in a box of a bwrap that was started early.
func sh(script string) job { return job{Argv: []string{"/bin/sh", "-c", script}, Early: 1} }

// probe is a job that runs this binary in the box.
func probe(words ...string) job {
	return job{Argv: append([]string{self(), wordProbe}, words...)}
}

// run runs j without terminals and returns how it went.
func (j job) run(t testing.TB) (r Result, stdout, stderr string) {
	t.Helper()
	j.Result = filepath.Join(t.TempDir(), "result")
	cmd := j.command(t)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	r = readResult(t, j.Result)
	if code := cmd.ProcessState.ExitCode(); code != r.Code {
		t.Errorf("exit code %d (%v), Result.Code %d", code, err, r.Code)
	}
	return r, out.String(), errs.String()
}

func readResult(t testing.TB, file string) (r Result) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("no result: %v", err)
	}
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// eventually waits until ok says yes; it fails the test after a deadline.
func eventually(t testing.TB, what string, limit time.Duration, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", limit, what)
		}
		syscall.Select(0, nil, nil, nil, &syscall.Timeval{Usec: 2000})
	}
}

// marks numbers the runs whose processes are looked for.
var marks = uint64(os.Getpid()) * 10000

// marked returns a number for job.Mark. Every process of the run carries it as
// its core limit, which is inherited and can be read of any process.
func marked() uint64 {
	return atomic.AddUint64(&marks, 1)
}

// alive lists the processes that carry the mark, as "pid (name)".
func alive(mark uint64) []string {
	var found []string
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		limits, err := os.ReadFile(filepath.Join("/proc", e.Name(), "limits"))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(limits)) {
			f := strings.Fields(line)
			if len(f) > 5 && f[0] == "Max" && f[1] == "core" && f[4] == strconv.FormatUint(mark, 10) && !zombie(pid) {
				comm, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "comm"))
				found = append(found, fmt.Sprintf("%d (%s)", pid, strings.TrimSpace(string(comm))))
			}
		}
	}
	return found
}

func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(rest, "Z") || strings.HasPrefix(rest, "X")
}

// gone waits until no process carries the mark.
func gone(t testing.TB, mark uint64) {
	t.Helper()
	var left []string
	eventually(t, "every process of the run gone", patience, func() bool { left = alive(mark); return len(left) == 0 })
}

// probeMain is what runs in the box where a shell is not enough.
func probeMain(words []string) int {
	switch words[0] {
	case "net":
		return probeNet(words[1:])
	case "isatty":
		for fd := range 3 {
			fmt.Fprint(os.Stderr, isTerminal(fd), " ")
		}
		fmt.Fprintln(os.Stderr)
	case "terminals":
		return probeTerminals(words[1], len(words) > 2)
	case "poll":
		// Waits for a line in a way that no reading tells of.
		fmt.Fprintln(os.Stderr, "polling")
		wire.Poll(0, unix.POLLIN, -1)
		var buf [64]byte
		n, _ := unix.Read(0, buf[:])
		fmt.Printf("polled %s", buf[:max(n, 0)])
	case "keyring":
		id, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false)
		fmt.Println(id, err)
		if _, err := unix.AddKey("user", words[1]+"-inside", []byte("x"), unix.KEY_SPEC_SESSION_KEYRING); err == nil {
			fmt.Println("a key was added")
		}
		_, err = unix.KeyctlSearch(unix.KEY_SPEC_SESSION_KEYRING, "user", words[1], 0)
		fmt.Println(err)
	case "with-key":
		// A key in a session keyring of its own, then a command.
		runtime.LockOSThread()
		if _, err := unix.KeyctlInt(unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0); err != nil {
			panic(err)
		}
		if _, err := unix.AddKey("user", words[1], []byte("secret"), unix.KEY_SPEC_SESSION_KEYRING); err != nil {
			panic(err)
		}
		panic(unix.Exec(words[2], words[2:], os.Environ()))
	case "tiocsti":
		// On every terminal that can be reached, one command per try.
		for fd := range 3 {
			for _, c := range []byte("echo INJECTED\r") {
				_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCSTI, addressOf(&c))
				if errno != 0 {
					fmt.Fprintf(os.Stderr, "fd %d: %v\r\n", fd, errno)
					break
				}
			}
		}
		_, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
		fmt.Fprintf(os.Stderr, "tty: %v\r\n", err)
	case "pipe-death":
		// Writes until SIGPIPE ends it, or says that there was none.
		line := []byte("y\n")
		for {
			if _, err := unix.Write(1, line); err != nil {
				return 3
			}
		}
	case "signals":
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%s/status", words[1]))
		os.Stdout.Write(b)
	case "sizes":
		// The size at every SIGWINCH, until there is a line to read.
		winch := make(chan os.Signal, 16)
		signal.Notify(winch, syscall.SIGWINCH)
		go func() {
			for range winch {
				w := winsize(0)
				fmt.Printf("%d %d\n", w.Row, w.Col)
			}
		}()
		fmt.Println("ready")
		_, _ = os.Stdin.Read(make([]byte, 1))
		return 3
	case "line":
		// One line, and a word at every SIGCONT.
		cont := make(chan os.Signal, 16)
		signal.Notify(cont, syscall.SIGCONT)
		go func() {
			for range cont {
				fmt.Println("continued")
			}
		}()
		fmt.Println("ready")
		var line string
		_, _ = fmt.Scanln(&line)
		w := winsize(0)
		fmt.Printf("got %s\n%d %d\n", line, w.Row, w.Col)
		return 6
	case "beyond":
		// A FIFO, an abstract socket and process 1, none of them ours.
		_, err := os.OpenFile(words[1], os.O_WRONLY|syscall.O_NONBLOCK, 0)
		fmt.Println("fifo:", err == nil)
		_, err = net.Dial("unix", words[2])
		fmt.Println("abstract:", err == nil)
		fmt.Println("signal:", unix.Kill(1, 0) == nil)
	case "spew":
		n, _ := strconv.Atoi(words[1])
		spew(os.Stdout, n)
	default:
		return 98
	}
	return 0
}

// spew writes n numbered lines.
func spew(w io.Writer, n int) {
	var b []byte
	for i := range n {
		b = fmt.Appendf(b, "%08d the quick brown fox jumps over the lazy dog\n", i)
		if len(b) > 60000 {
			_, _ = w.Write(b)
			b = b[:0]
		}
	}
	_, _ = w.Write(b)
}

// probeTerminals writes to a file which descriptors of this process are terminals
// other than the box's.
func probeTerminals(file string, outside bool) int {
	var own unix.Stat_t
	if !outside { // there every terminal is the person's
		_ = unix.Stat("/dev/pts", &own)
	}
	var found []string
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		fd, _ := strconv.Atoi(e.Name())
		var st unix.Stat_t
		if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR {
			continue
		}
		if isTerminal(fd) && st.Dev != own.Dev {
			found = append(found, fmt.Sprintf("descriptor %d", fd))
		}
	}
	for _, name := range []string{"/dev/tty", "/dev/console"} {
		if f, err := os.OpenFile(name, os.O_RDWR|syscall.O_NOCTTY, 0); err == nil {
			if dev := terminalDevice(int(f.Fd())); name == "/dev/console" || dev>>8 != 136 {
				found = append(found, name)
			}
			f.Close()
		}
	}
	if len(found) == 0 {
		found = []string{"none"}
	}
	if err := os.WriteFile(file, []byte(strings.Join(found, "\n")+"\n"), 0o600); err != nil {
		return 1
	}
	return 0
}
