package hooks

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Cheaper than direnv's hook in the same shell, by how much at least.
const wantRatio = 100

// An unchanged prompt is at least a hundred times cheaper than direnv's hook
// in the same run. Both sides of a ratio see the same machine, but not at the
// same moment: a run that misses is repeated.
func TestUnchangedPromptsAreCheap(t *testing.T) {
	// Without this the scripts are only tried: figures taken beside other tests
	// say nothing.
	compare := os.Getenv("INNER_TEST_BENCH") != ""
	need(t, "direnv")
	each(t, func(t *testing.T, shell string) {
		need(t, shell)
		w := newWorld(t)
		w.write(w.project+"/.envrc", "export FROM_ENVRC=yes\n")
		w.age(w.project)
		allow := exec.Command("direnv", "allow", w.project)
		allow.Env = w.env()
		if out, err := allow.CombinedOutput(); err != nil {
			t.Fatalf("direnv allow: %v\n%s", err, out)
		}
		tries, shorter := 1, "50"
		if compare {
			tries, shorter = 5, "1"
		}
		var worst float64
		for range tries {
			cost := w.bench(shell, shorter)
			worst = min(cost["direnv plain"]/cost["inner plain"], cost["direnv project"]/cost["inner project"])
			t.Logf("%s: plain %.1f us, project %.1f us, direnv %.0f and %.0f us: %.0f and %.0f times; an empty function %.1f us", shell,
				cost["inner plain"], cost["inner project"], cost["direnv plain"], cost["direnv project"],
				cost["direnv plain"]/cost["inner plain"], cost["direnv project"]/cost["inner project"], cost["nothing plain"])
			if worst >= wantRatio {
				break
			}
		}
		if compare && worst < wantRatio {
			t.Errorf("%s: only %.0f times cheaper than direnv", shell, worst)
		}
	})
}

// bench runs the shell's timing script and returns microseconds by
// "hook folder".
func (w *world) bench(shell, shorter string) map[string]float64 {
	w.t.Helper()
	script, err := filepath.Abs(filepath.Join("testdata", "bench", "bench."+shell))
	if err != nil {
		w.t.Fatal(err)
	}
	args := map[string][]string{"bash": {"--norc", "--noprofile", "-i"}, "zsh": {"-f", "-i"}, "fish": {"--no-config", "-i"}}[shell]
	cmd := exec.Command(shell, append(args, script, w.hook(shell), w.plain, w.project, shorter)...)
	cmd.Env = w.env()
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("%s: %v\n%s\n%s", script, err, out, errs.String())
	}
	cost := map[string]float64{}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) != 4 || f[0] != shell {
			w.t.Fatalf("%s printed %q", script, line)
		}
		if cost[f[1]+" "+f[2]], err = strconv.ParseFloat(f[3], 64); err != nil {
			w.t.Fatal(err)
		}
	}
	if len(cost) != 5 {
		w.t.Fatalf("%s printed %q", script, out)
	}
	return cost
}
