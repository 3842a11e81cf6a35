// Command bench measures inner against bwrap, direnv, script(1) and podman and prints a
// Markdown table. It is run by contrib/bench.sh; nothing it finds is a failure.
//
// Whole commands are timed here, one of each in turn, so that a busy minute hits all of
// them. Hooks are timed by the shell itself, in a loop. A figure is the median of the
// rounds' medians, a ratio the median of the rounds' ratios.
package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/enr/inner/isolator"
)

func main() {
	isolator.Main() // this program is the supervisor of the boxes that it makes by the library
	os.Exit(measure())
}

// measure is the exit code. What stops a part ends its goroutine, and nothing stays behind.
func measure() (code int) {
	b, done := &bench{rounds: 5}, make(chan bool, 1)
	go func() {
		defer func() {
			_ = os.RemoveAll(b.work)
			_ = os.RemoveAll(b.runtime)
			close(done)
		}()
		b.prepare(os.Getenv("INNER_TEST_BIN"))
		b.run()
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
	rows                   []row
}

// row is one line of the table.
type row struct{ what, figure, against, ratio, aim string }

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
	writeFiles(b.app, map[string]string{".envrc": "export A=b\n"})
	b.output(b.home, b.inner, "init")
	const listed = "network_mode = \"allowlist\"\nnetwork_allow = [\"example.com\", \"*.example.org\", \"@github\"]\n"
	b.allowed(b.app, map[string]string{
		"prog": profile("prog", isolated), "nap": profile("sleep", isolated), "show": profile("cat", isolated), "host": profile("true", ""), "listed": profile("true", listed),
	})
	b.output(b.app, "direnv", "allow")
}

// isolated is the sandbox of the programs that are only started.
const isolated = "home = \"isolated\"\nhome_allow = [\"~/.local/bin\"]\n"

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

// command is a command in the environment of the measurements, found in the system's folders.
func (b *bench) command(dir string, args ...string) *exec.Cmd {
	path := args[0]
	for _, d := range []string{"/usr/local/bin", "/usr/bin", "/bin"} {
		if _, err := os.Stat(d + "/" + path); err == nil && !strings.Contains(args[0], "/") {
			path = d + "/" + args[0]
			break
		}
	}
	cmd := exec.Command(path, args[1:]...)
	cmd.Args[0] = args[0]
	cmd.Dir, cmd.Env = dir, append([]string{"PWD=" + dir}, b.env...)
	return cmd
}

// try runs a command and returns what it wrote.
func (b *bench) try(dir string, args ...string) (string, error) {
	cmd := b.command(dir, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %v\n%s%s", strings.Join(args, " "), err, out, &stderr)
	}
	return string(out), nil
}

func (b *bench) output(dir string, args ...string) string { return value(b.try(dir, args...)) }

func (b *bench) run() {
	parts := []struct {
		name string
		do   func()
	}{
		{"starts", b.starts},
		{"what is hidden", b.hidden},
		{"repositories", b.repositories},
		{"prompts", b.prompts},
		{"shim regenerate", b.regenerate},
		{"memory", b.memory},
		{"bytes through the terminal", b.throughput},
		{"calls of tools", b.calls},
		{"calls in containers", b.containers},
	}
	only, names := os.Getenv("INNER_BENCH_ONLY"), ""
	for _, part := range parts {
		names += "\n  " + part.name
	}
	if only != "" && !strings.Contains(names+"\n", "\n  "+only+"\n") {
		fail("INNER_BENCH_ONLY=%q is no part; the parts are:%s", only, names)
	}
	for _, part := range parts {
		if only == "" || only == part.name {
			fmt.Fprintln(os.Stderr, "inner: measuring:", part.name)
			part.do()
		}
	}
	b.print(os.Stdout)
}

func (b *bench) add(rows ...row) { b.rows = append(b.rows, rows...) }

func (b *bench) print(w io.Writer) {
	fmt.Fprintln(w, "| what | figure | against | ratio | aim |")
	fmt.Fprintln(w, "|---|---|---|---|---|")
	for _, r := range b.rows {
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s |\n", r.what, r.figure, r.against, r.ratio, r.aim)
	}
	var versions []string
	for _, v := range [][]string{{"bwrap", "--version"}, {"bash", "--version"}, {"zsh", "--version"}, {"fish", "--version"}, {"direnv", "version"}, {"script", "--version"}} {
		if out, err := b.try("/", v...); err == nil {
			versions = append(versions, v[0]+" "+versionOf(out))
		}
	}
	fmt.Fprintf(w, "\nMedians of %d rounds in one run of `make bench`, as a plain user: %s.\n", b.rounds, strings.Join(versions, ", "))
}

// versionOf is the first word that starts with a digit.
func versionOf(text string) string {
	for _, word := range strings.Fields(text) {
		if word[0] >= '0' && word[0] <= '9' {
			return strings.SplitN(word, "(", 2)[0]
		}
	}
	return "?"
}
