// Command bench measures inner against bwrap, direnv, script(1) and podman and prints a
// Markdown table. It is run by contrib/bench.sh; nothing it finds is a failure.
//
// Each row has two sides (rows.go, git.go), which are run in turn, so that a busy minute hits both.
// A figure is the median of the rounds' medians, a ratio the median of the rounds' ratios.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/enr/inner/isolator"
)

func main() {
	isolator.Main() // this program is the supervisor of the boxes that it makes by the library
	os.Exit(measure())
}

// measure is the exit code. What stops the measurement ends its goroutine, and nothing stays behind.
func measure() (code int) {
	b, done := &bench{rounds: 5}, make(chan bool, 1)
	go func() {
		defer func() {
			for _, p := range b.partners {
				p.close()
			}
			_ = os.RemoveAll(b.work)
			_ = os.RemoveAll(b.runtime)
			close(done)
		}()
		b.prepare(os.Getenv("INNER_TEST_BIN"))
		b.run(slices.Concat(b.rows(), b.repositories(), b.undos(), b.growth(), b.peers()), os.Getenv("INNER_BENCH_ONLY"))
		done <- true
	}()
	if !<-done {
		return 1
	}
	<-done
	return 0
}

// fail says what is wrong and stops the measurement.
func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "inner: bench: "+format+"\n", args...)
	runtime.Goexit()
}

func must(err error) {
	if err != nil {
		fail("%v", err)
	}
}

func value[T any](v T, err error) T {
	must(err)
	return v
}

// bench is the place of the measurements: a home, projects, and the binary.
type bench struct {
	work, home, app, empty string
	runtime                string // the folder of runs, in memory as with a login
	bin, inner             string // the folder of programs, and the binary in it
	env                    []string
	rounds                 int
	partners               []*partner
}

// row is one line of the table: what is timed, beside what.
type row struct {
	part, what string
	ours       func()
	against    string // what theirs is; "" for nothing
	theirs     func()
	aim        string

	runs   int                    // of each side in a round
	each   float64                // how often a side does it, where that is not once
	before func()                 // before each run, and not timed
	figure func(s float64) string // of seconds; nil is milliseconds
	open   func()                 // what the sides need, once
}

// run times the rows whose part is only, or all, and prints the table.
func (b *bench) run(rows []row, only string) {
	var parts []string
	for _, r := range rows {
		if !slices.Contains(parts, r.part) {
			parts = append(parts, r.part)
		}
	}
	if only != "" && !slices.Contains(parts, only) {
		fail("INNER_BENCH_ONLY=%q is no part; the parts are:\n  %s", only, strings.Join(parts, "\n  "))
	}
	fmt.Println("| what | figure | against | ratio | aim |\n|---|---|---|---|---|")
	for _, r := range rows {
		if only == "" || only == r.part {
			fmt.Fprintln(os.Stderr, "inner: measuring:", r.part+":", r.what)
			fmt.Println(b.line(r))
		}
	}
	var versions []string
	for _, v := range [][]string{{"bwrap", "--version"}, {"bash", "--version"}, {"zsh", "--version"}, {"fish", "--version"}, {"direnv", "version"}, {"script", "--version"}} {
		if out, err := b.try("/", v...); err == nil {
			words := strings.FieldsFunc(out, func(r rune) bool { return strings.ContainsRune(" \n(", r) })
			number := slices.IndexFunc(words, func(w string) bool { return w[0] >= '0' && w[0] <= '9' })
			versions = append(versions, v[0]+" "+words[max(0, number)])
		}
	}
	fmt.Printf("\nMedians of %d rounds in one run of `make bench`, as a plain user: %s.\n",
		b.rounds, strings.Join(versions, ", "))
}

// line times a row, and is its line of the table.
func (b *bench) line(r row) string {
	if r.open != nil {
		r.open()
	}
	each, show := max(r.each, 1), r.figure
	if show == nil {
		show = func(s float64) string { return fmt.Sprintf("%.2f ms", s*1e3) }
	}
	sides := []func(){r.ours}
	if r.theirs != nil {
		sides = append(sides, r.theirs)
	}
	rounds := make([][]float64, len(sides)) // the median of each round
	for range b.rounds {
		took := make([][]float64, len(sides))
		for turn := range r.runs + 2 { // the first two are not counted
			for i, side := range sides {
				if r.before != nil {
					r.before()
				}
				start := time.Now()
				if side(); turn >= 2 || r.runs == 1 {
					took[i] = append(took[i], time.Since(start).Seconds()/each)
				}
			}
		}
		for i := range took {
			rounds[i] = append(rounds[i], median(took[i]))
		}
	}
	figure, against, ratio := show(median(rounds[0])), "", ""
	if r.theirs != nil {
		var more, times []float64
		for i, ours := range rounds[0] {
			more, times = append(more, 1e3*(ours-rounds[1][i])), append(times, ours/rounds[1][i])
		}
		against, ratio = r.against+", "+show(median(rounds[1])), fmt.Sprintf("%+.2f ms, %.2f×",
			median(more), median(times))
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s |", r.what, figure, against, ratio, r.aim)
}

func median(v []float64) float64 { return slices.Sorted(slices.Values(v))[len(v)/2] }

// prepare puts programs and allowed profiles in place. The program that is run
// is true(1) under another name: nothing else is measured with it.
func (b *bench) prepare(built string) {
	if n, err := strconv.Atoi(os.Getenv("INNER_BENCH_ROUNDS")); err == nil && n > 0 {
		b.rounds = n
	}
	b.work = value(os.MkdirTemp(value(os.UserHomeDir()), "inner-bench."))
	b.runtime = value(os.MkdirTemp("/dev/shm", "inner-bench.")) // that of a login is a tmpfs
	b.home = filepath.Join(b.work, "home")
	b.app, b.empty = filepath.Join(b.home, "app"), filepath.Join(b.home, "empty")
	b.bin = filepath.Join(b.home, ".local", "bin")
	b.inner = filepath.Join(b.bin, "inner")
	b.env = []string{
		"HOME=" + b.home, "USER=tester", "LOGNAME=tester", "SHELL=/bin/bash", "TERM=xterm-256color", "LANG=C.UTF-8",
		"XDG_RUNTIME_DIR=" + b.runtime,
		"PATH=" + strings.Join([]string{b.shims(), b.bin, "/usr/local/bin", "/usr/bin", "/bin"}, ":"),
	}
	must(os.MkdirAll(b.empty, 0o700))
	must(os.MkdirAll(b.bin, 0o700))
	for from, to := range map[string]string{built: b.inner, "/usr/bin/true": b.bin + "/prog"} {
		must(os.WriteFile(to, value(os.ReadFile(from)), 0o755))
	}
	b.output(b.home, b.inner, "init")
	const listed = "network_mode = \"allowlist\"\nnetwork_allow = [\"example.com\", \"*.example.org\", \"@github\"]\n"
	const isolated = "home = \"isolated\"\nhome_allow = [\"~/.local/bin\"]\n"
	call := func(session string) string {
		return isolated + "session = \"" + session + "\"\n[output]\nrecord = \"audit\"\n"
	}
	b.allowed(b.app, map[string]string{
		"prog": profile("prog", isolated), "show": profile("cat", isolated), "host": profile("true",
			""), "listed": profile("true", listed),
		"call": profile("true", call("files")), "shared": profile("true", call("box")),
	})
	writeFiles(b.app, map[string]string{".envrc": "export A=b\n"})
	b.output(b.app, "direnv", "allow")
}

// profile runs a program; that of the shim is claimed by its name.
func profile(program, sandbox string) string {
	claims := "[]"
	if program == "prog" {
		claims = `["prog"]`
	}
	return "schema_version = \"1\"\n[shim]\ncommands = " + claims + "\n[entrypoint]\ncmd = \"" + program + "\"\n[sandbox]\n" + sandbox
}

func (b *bench) shims() string { return filepath.Join(b.home, ".inner", "shims", "bin") }

// allowed writes profiles into a project, by their names, and allows them.
func (b *bench) allowed(dir string, profiles map[string]string) {
	files := map[string]string{}
	for name, text := range profiles {
		files[".inner/profiles/"+name+".toml"] = text
	}
	writeFiles(dir, files)
	b.output(dir, b.inner, "allow", "--yes")
}

// writeFiles writes files and the folders they are in.
func writeFiles(dir string, files map[string]string) {
	for name, text := range files {
		at := filepath.Join(dir, name)
		must(os.MkdirAll(filepath.Dir(at), 0o700))
		must(os.WriteFile(at, []byte(text), 0o600))
	}
}
