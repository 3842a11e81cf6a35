package launch

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// watcher writes down what it sees; a resize as <ROWSxCOLS>.
type watcher struct {
	mu   sync.Mutex
	file string
}

func (w *watcher) Output(p []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f, err := os.OpenFile(w.file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	if _, err := f.Write(p); err != nil {
		panic(err)
	}
}

func (w *watcher) Resize(rows, cols uint16) { w.Output(fmt.Appendf(nil, "<%dx%d>", rows, cols)) }

func watched(t testing.TB, j *job) func() string {
	t.Helper()
	j.Watch = filepath.Join(t.TempDir(), "watched")
	return func() string {
		b, _ := os.ReadFile(j.Watch) // none is nothing
		return string(b)
	}
}

func TestWatchedTerminal(t *testing.T) {
	x := newTerminal(t)
	x.resize(41, 97)
	j := interactive("echo one; read -r a; echo \"<$a>\" >&2; until [ \"$(stty size)\" = '10 20' ]; do sleep 0.02; done; echo end")
	got := watched(t, &j)
	cmd := x.start(j.command(t))
	x.expect("one")
	x.send("typed\r")
	x.expect("<typed>")
	x.resize(10, 20)
	x.expect("end\r\n")
	if c := code(t, cmd); c != 0 {
		t.Errorf("exit code %d", c)
	}
	seen := strings.ReplaceAll(got(), "<41x97>", "") // once or twice: when the terminal is there, and when it is raw
	if want := "one\r\ntyped\r\n<typed>\r\n<10x20>end\r\n"; seen != want {
		t.Errorf("watched %q, want %q", seen, want)
	}
}

func TestPipesAreWatchedWhenAsked(t *testing.T) {
	for _, all := range []bool{false, true} {
		j := sh("cat; echo out; echo err >&2; exit 7")
		got := watched(t, &j)
		j.WatchAll = all
		cmd := j.command(t)
		cmd.Stdin = strings.NewReader("in\n")
		out, err := cmd.CombinedOutput()
		if string(out) != "in\nout\nerr\n" || cmd.ProcessState.ExitCode() != 7 {
			t.Errorf("all %v: %q, %v", all, out, err)
		}
		want := ""
		if all {
			want = string(out)
		}
		if got() != want {
			t.Errorf("all %v: watched %q", all, got())
		}
	}
	// A lot, to a file, with the two apart.
	j := sh("head -c 3000000 /dev/zero; echo err >&2")
	got := watched(t, &j)
	j.WatchAll = true
	file := filepath.Join(t.TempDir(), "out")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd := j.command(t)
	var errs strings.Builder
	cmd.Stdout, cmd.Stderr = f, &errs
	if err := cmd.Run(); err != nil {
		t.Error(err)
	}
	if fi, _ := f.Stat(); fi.Size() != 3000000 || errs.String() != "err\n" || len(got()) != 3000004 {
		t.Errorf("%d bytes, stderr %q, watched %d", fi.Size(), errs.String(), len(got()))
	}
}

// Both ends of a watched pipe see each other's end, as without inner.
func TestWatchedPipeEnds(t *testing.T) {
	j := sh("yes")
	_ = watched(t, &j)
	j.WatchAll, j.Result = true, filepath.Join(t.TempDir(), "result")
	cmd := j.command(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if _, err := io.ReadFull(r, make([]byte, 10)); err != nil {
		t.Error(err)
	}
	r.Close()
	if c := code(t, cmd); c != 128+int(syscall.SIGPIPE) {
		t.Errorf("exit code %d", c)
	}

	// A program that closes its output and goes on.
	j = sh("echo last; exec >&- 2>&-; while :; do sleep 0.05; done")
	_ = watched(t, &j)
	j.WatchAll, j.Mark = true, marked()
	cmd = j.command(t)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(out)
		read <- string(b)
	}()
	select {
	case text := <-read:
		if text != "last\n" {
			t.Errorf("read %q", text)
		}
	case <-time.After(patience):
		t.Error("no end of file")
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if c := code(t, cmd); c != 143 {
		t.Errorf("exit code %d", c)
	}
	gone(t, j.Mark, time.Second)
}

// What a reader does not take does not keep a killed run alive.
func TestWatchedPipeNobodyReads(t *testing.T) {
	j := sh("yes")
	_ = watched(t, &j)
	j.WatchAll, j.Mark = true, marked()
	cmd := exec.Command(self(), wordLaunch, j.file(t))
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	eventually(t, "the pipe is full", patience, func() bool { fi, err := os.Stat(j.Watch); return err == nil && fi.Size() >= 32<<10 })
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	gone(t, j.Mark, 2*time.Second)
}
