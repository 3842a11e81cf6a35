package launch

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func addressOf(b *byte) uintptr { return uintptr(unsafe.Pointer(b)) }

func writeFile(t testing.TB, name, content string, mode os.FileMode) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestExitCodes(t *testing.T) {
	plain := writeFile(t, "plain", "no program\n", 0o644)
	noFormat := writeFile(t, "noformat", "\x00\x01", 0o755)
	noInterp := writeFile(t, "nointerp", "#!/no/such/interpreter\n", 0o755)
	badBwrap := writeFile(t, "bwrap", "", 0o644)
	with := func(j job, change func(*job)) job { change(&j); return j }
	for _, c := range []struct {
		name string
		job  job
		want Result // Reason: a part of it
	}{
		{"zero", sh("exit 0"), Result{Started: true}},
		{"seven", sh("exit 7"), Result{Code: 7, Started: true}},
		{"255", sh("exit 255"), Result{Code: 255, Started: true}},
		{"own 127", sh("exit 127"), Result{Code: 127, Started: true}},
		{"own 125", sh("exit 125"), Result{Code: 125, Started: true}},
		{"term", sh("kill -TERM $$"), Result{Code: 143, Started: true, Signal: syscall.SIGTERM}},
		{"kill", sh("kill -KILL $$"), Result{Code: 137, Started: true, Signal: syscall.SIGKILL}},
		{"segv", sh("kill -SEGV $$"), Result{Code: 139, Started: true, Signal: syscall.SIGSEGV}},
		{"not found", job{Argv: []string{"/no/such/program"}}, Result{Code: 127, Reason: `"/no/such/program": not found in the box`}},
		{"below a file", job{Argv: []string{"/etc/passwd/x"}}, Result{Code: 127, Reason: "not found"}},
		{"not executable", job{Argv: []string{plain}}, Result{Code: 126, Reason: "not executable"}},
		{"a folder", job{Argv: []string{"/etc"}}, Result{Code: 126, Reason: "not executable"}},
		{"no format", job{Argv: []string{noFormat}}, Result{Code: 126, Reason: "executable format"}},
		{"no interpreter", job{Argv: []string{noInterp}}, Result{Code: 127, Reason: "interpreter"}},
		{"too long", job{Argv: []string{"/bin/true", strings.Repeat("x", 200<<10)}}, Result{Code: 126, Reason: "argument list too long"}},
		{"no folder", with(sh("exit 0"), func(j *job) { j.Dir = "/no/such/folder" }), Result{Code: 125, Reason: `working folder "/no/such/folder"`}},
		{"bad option", with(sh("exit 0"), func(j *job) { j.Args = []string{"--no-such-option"} }), Result{Code: 125, Reason: "Unknown option --no-such-option"}},
		{"bad mount", with(sh("exit 0"), func(j *job) { j.Args = []string{"--ro-bind", "/no/such", "/mnt"} }), Result{Code: 125, Reason: "Can't find source path /no/such"}},
		{"no bwrap", with(sh("exit 0"), func(j *job) { j.Bwrap = "/no/such/bwrap" }), Result{Code: 125, Reason: `cannot run "/no/such/bwrap": no such file`}},
		{"bwrap not executable", with(sh("exit 0"), func(j *job) { j.Bwrap = badBwrap }), Result{Code: 125, Reason: "permission denied"}},
		{"bwrap is something else", with(sh("exit 0"), func(j *job) { j.Bwrap = "/bin/false" }), Result{Code: 125, Reason: "ended with code 1"}},
		{"relative bwrap", with(sh("exit 0"), func(j *job) { j.Bwrap = "bwrap" }), Result{Code: 125, Reason: "not an absolute path"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, _, errs := c.job.run(t)
			if !strings.Contains(r.Reason, c.want.Reason) || (c.want.Reason == "") != (r.Reason == "") {
				t.Errorf("reason %q, want %q", r.Reason, c.want.Reason)
			}
			r.Reason = c.want.Reason
			if !reflect.DeepEqual(r, c.want) {
				t.Errorf("got %+v, want %+v", r, c.want)
			}
			if errs != "" {
				t.Errorf("stderr %q", errs)
			}
		})
	}
}

func TestExactProgram(t *testing.T) {
	env := []string{"A=1", "B=two words", "C=a\nb", "EMPTY=", "NOT UTF8=\xff", "PATH=/usr/bin:/bin"}
	j := job{Argv: []string{"/usr/bin/env", "-0"}, Env: env}
	_, out, _ := j.run(t)
	if got := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00"); !slices.Equal(got, env) {
		t.Errorf("environment %q, want %q", got, env)
	}
	j = sh(`printf '%s|' "$0" "$@"; pwd; cat /proc/1/environ | wc -c; umask`)
	j.Argv[0] = "other name"
	j.Program = "/bin/sh"
	j.Argv = append(j.Argv, "zero", "", "a b", "c\nd", "--")
	j.Dir = "/usr/lib"
	_, out, errs := j.run(t)
	if want := "zero||a b|c\nd|--|/usr/lib\n0\n"; !strings.HasPrefix(out, want) {
		t.Errorf("got %q, want %q (stderr %q)", out, want, errs)
	}
}

func TestLargeEnvironment(t *testing.T) {
	j := sh(`echo "${#V0} ${#V14}"`)
	j.Env = []string{"PATH=/usr/bin:/bin"}
	for i := range 15 {
		j.Env = append(j.Env, fmt.Sprintf("V%d=%s", i, strings.Repeat("y", 120<<10)))
	}
	if r, out, errs := j.run(t); out != "122880 122880\n" {
		t.Errorf("got %+v %q %q", r, out, errs)
	}
}

func TestDataFiles(t *testing.T) {
	j := sh("cat /tmp/a /tmp/b; ls /proc/self/fd | wc -l")
	j.Data = [][]byte{[]byte("first "), []byte("second ")}
	j.Args = []string{"--ro-bind-data", "10", "/tmp/a", "--file", "11", "/tmp/b"}
	_, out, errs := j.run(t)
	if out != "first second 4\n" {
		t.Errorf("got %q, %q", out, errs)
	}
}

func TestDescriptors(t *testing.T) {
	// The inherited ones go, 7 and a high one among them.
	j := sh("ls -l /proc/self/fd | grep -c host-secret; ls /proc/self/fd | tr '\\n' ' '")
	cmd := j.command(t)
	secret, err := os.Open(writeFile(t, "host-secret", "secret", 0o644))
	if err != nil {
		t.Fatal(err)
	}
	defer secret.Close()
	for range 20 {
		cmd.ExtraFiles = append(cmd.ExtraFiles, secret)
	}
	out, err := cmd.Output()
	if want := "0\n0 1 2 3 "; string(out) != want {
		t.Errorf("got %q (%v), want %q", out, err, want)
	}
}

func TestNothingOnCommandLines(t *testing.T) {
	const secret = "S3CRET-MARKER"
	j := sh("echo ready; exec sleep 1000")
	j.Mark = marked()
	j.Env = []string{"PATH=/usr/bin:/bin", "TOKEN=" + secret}
	j.Args = []string{"--setenv", "OTHER", secret, "--dir", "/tmp/" + secret}
	cmd := j.command(t)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); gone(t, j.Mark, time.Second) }()
	if _, err := io.ReadFull(out, make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, p := range alive(j.Mark) {
		pid, _, _ := strings.Cut(p, " ")
		seen++
		cmdline, _ := os.ReadFile("/proc/" + pid + "/cmdline")
		if bytes.Contains(cmdline, []byte(secret)) {
			t.Errorf("%s: %q", p, cmdline)
		}
		environ, _ := os.ReadFile("/proc/" + pid + "/environ")
		if strings.HasSuffix(p, "(bwrap)") && len(environ) > 0 {
			t.Errorf("%s: environment %q", p, environ)
		}
	}
	if seen < 4 { // the launcher, bwrap twice, the program
		t.Errorf("only %d processes seen", seen)
	}
}

func TestPipes(t *testing.T) {
	data := make([]byte, 50<<20)
	src := rand.NewChaCha8([32]byte{1})
	_, _ = src.Read(data)
	cmd := job{Argv: []string{"/bin/cat"}}.command(t)
	cmd.Stdin = bytes.NewReader(data)
	h := sha256.New()
	cmd.Stdout = h
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if want := sha256.Sum256(data); !bytes.Equal(h.Sum(nil), want[:]) {
		t.Error("the bytes changed on their way")
	}
}

// pipeline runs a bash script in which $L is the launcher of j.
func pipeline(t testing.TB, script string, jobs ...job) (string, error) {
	t.Helper()
	args := []string{"-c", script, self()}
	for _, j := range jobs {
		args = append(args, j.file(t))
	}
	cmd := exec.Command("/bin/bash", args...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestSIGPIPE(t *testing.T) {
	out, err := pipeline(t, `"$0" __launch "$1" | head -1; echo ${PIPESTATUS[@]}`, job{Argv: []string{"/usr/bin/yes"}})
	if out != "y\n141 0\n" {
		t.Errorf("got %q, %v", out, err)
	}
	// As a direct run would: the writer to a program that closes its stdin.
	out, err = pipeline(t, `yes | "$0" __launch "$1"; echo ${PIPESTATUS[@]}`, sh("exec 0<&-; while kill -0 $$ && ! test -e /nothing; do sleep 0.05; n=$((n+1)); test $n -gt 4 && exit 5; done"))
	if out != "141 5\n" {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestPipeEndSeen(t *testing.T) {
	stop := filepath.Join(t.TempDir(), "stop")
	j := sh("echo text; exec >&-; while ! test -e '" + stop + "'; do sleep 0.02; done; exit 4")
	cmd := j.command(t)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	got := make(chan string, 1)
	go func() { b, _ := io.ReadAll(out); got <- string(b) }()
	select {
	case s := <-got:
		if s != "text\n" {
			t.Errorf("got %q", s)
		}
	case <-time.After(10 * time.Second):
		t.Error("no end of file although the program closed its output")
	}
	if err := os.WriteFile(stop, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 4 {
		t.Errorf("exit code %d", code)
	}
}

func TestClosedDescriptors(t *testing.T) {
	j := sh("read x; echo out $?; echo err >&2; exit 7")
	for redirect, want := range map[string]string{
		"<&-":               "out 1\nerr\n7\n",
		">&-":               "err\n7\n",
		"2>&-":              "out 1\n7\n",
		"<&- >&-":           "err\n7\n",
		"<&- >&- 2>&-":      "7\n",
		"</dev/null 2>&1":   "out 1\nerr\n7\n",
		"</dev/null 7<&0":   "out 1\nerr\n7\n",
		"<&- 3>&1 4>&1 >&3": "out 1\nerr\n7\n",
	} {
		if redirect == "2>&-" {
			redirect += " </dev/null"
		}
		if redirect == ">&-" {
			redirect += " </dev/null"
		}
		out, err := pipeline(t, `"$0" __launch "$1" `+redirect+`; echo $?`, j)
		if out != want {
			t.Errorf("%s: got %q, want %q (%v)", redirect, out, want, err)
		}
	}
}

func TestSessionKeyring(t *testing.T) {
	name := fmt.Sprintf("inner-test-%d", os.Getpid())
	script := `"$0" __probe keyring ` + name + `; "$0" __launch "$1"; "$0" __launch "$1"`
	cmd := exec.Command(self(), wordProbe, "with-key", name, "/bin/bash", "-c", script, self(), probe("keyring", name).file(t))
	out, err := cmd.CombinedOutput()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || len(lines) != 6 {
		t.Fatalf("got %q, %v", out, err)
	}
	if lines[1] != "<nil>" {
		t.Errorf("outside the key is not found: %q", lines[1])
	}
	for _, l := range []string{lines[3], lines[5]} {
		if l != unix.ENOKEY.Error() {
			t.Errorf("inside: %q", l)
		}
	}
	if lines[0] == lines[2] || lines[2] == lines[4] {
		t.Errorf("keyrings not distinct: %q", lines)
	}
}
