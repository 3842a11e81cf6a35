package launch

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/creack/pty"
)

// BenchmarkStart compares a run of /bin/true with bwrap alone and the same
// arguments, turn by turn so that both meet the same machine. The launcher is
// the test binary, which starts more slowly than inner.
func BenchmarkStart(b *testing.B) {
	true_ := job{Argv: []string{"/bin/true"}}
	raw := append(true_.plan().Words(), "--", "/bin/true")
	file := true_.file(b)
	true_.Interactive = true
	full := true_.file(b)
	for _, c := range []struct {
		name     string
		file     string
		terminal bool
	}{{"pipes", file, false}, {"terminal", full, true}} {
		b.Run(c.name, func(b *testing.B) {
			var direct, ours []time.Duration
			for b.Loop() {
				direct = append(direct, timed(b, c.terminal, exec.Command("/usr/bin/bwrap", raw...)))
				ours = append(ours, timed(b, c.terminal, exec.Command(self(), wordLaunch, c.file)))
			}
			slices.Sort(direct)
			slices.Sort(ours)
			d, o := direct[len(direct)/2], ours[len(ours)/2]
			b.ReportMetric(float64(d.Microseconds())/1000, "bwrap-ms")
			b.ReportMetric(float64(o.Microseconds())/1000, "inner-ms")
			b.ReportMetric(float64(o)/float64(d), "ratio")
		})
	}
}

// BenchmarkThroughput passes a file through the box's terminal, and through
// script(1).
func BenchmarkThroughput(b *testing.B) {
	file := filepath.Join(b.TempDir(), "text")
	f, err := os.Create(file)
	if err != nil {
		b.Fatal(err)
	}
	spew(f, 400000)
	_ = f.Close()
	size, _ := os.Stat(file)
	cat := job{Argv: []string{"/bin/cat", file}, Interactive: true}
	ours := []string{self(), wordLaunch, cat.file(b)}
	for name, argv := range map[string][]string{
		"box":    ours,
		"script": {"/usr/bin/script", "-qc", "cat " + file, "/dev/null"},
		"direct": {"/bin/cat", file},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(size.Size())
			for b.Loop() {
				timed(b, true, exec.Command(argv[0], argv[1:]...))
			}
		})
	}
}

// timed runs cmd, in a terminal of its own or without any, and returns how
// long it took until its end and the end of its output.
func timed(b *testing.B, terminal bool, cmd *exec.Cmd) time.Duration {
	b.Helper()
	start := time.Now()
	if !terminal {
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
		return time.Since(start)
	}
	m, err := pty.Start(cmd)
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	_, _ = io.CopyBuffer(struct{ io.Writer }{io.Discard}, m, make([]byte, 64<<10))
	if err := cmd.Wait(); err != nil {
		b.Fatal(fmt.Errorf("%v: %w", cmd.Args, err))
	}
	return time.Since(start)
}
