// Command bench measures inner against bwrap, direnv and script(1) and prints a
// Markdown table. It is run by contrib/bench.sh; nothing it finds is a failure.
//
// Whole commands without a terminal are timed by hyperfine, round by round, all
// commands in each round, so that a busy minute hits all of them. Commands with
// a terminal are timed here, one of each in turn. Hooks are timed by the shell
// itself, in a loop. A figure is the median, a ratio the median of the rounds'
// ratios.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/enr/inner/isolator"
)

func main() {
	isolator.Main() // this program is the supervisor of the boxes that it makes by the library
	b, err := newBench()
	if err == nil {
		err = b.run()
	}
	if b != nil {
		b.close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "inner: bench:", err)
		os.Exit(1)
	}
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

func newBench() (*bench, error) {
	built := os.Getenv("INNER_TEST_BIN")
	if built == "" {
		return nil, errors.New("make bench sets INNER_TEST_BIN")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp(cache, "inner-bench.")
	if err != nil {
		return nil, err
	}
	// A login's XDG_RUNTIME_DIR is a tmpfs.
	runtime, err := os.MkdirTemp("/dev/shm", "inner-bench.")
	if err != nil {
		return nil, err
	}
	b := &bench{work: work, home: filepath.Join(work, "home"), runtime: runtime, rounds: 5}
	if n, err := strconv.Atoi(os.Getenv("INNER_BENCH_ROUNDS")); err == nil && n > 0 {
		b.rounds = n
	}
	b.app, b.empty = filepath.Join(b.home, "app"), filepath.Join(b.home, "empty")
	b.bin = filepath.Join(b.home, ".local", "bin")
	b.inner = filepath.Join(b.bin, "inner")
	b.env = []string{
		"HOME=" + b.home, "USER=tester", "LOGNAME=tester", "SHELL=/bin/bash", "TERM=xterm-256color", "LANG=C.UTF-8",
		"XDG_RUNTIME_DIR=" + runtime,
		"PATH=" + strings.Join([]string{b.shims(), b.bin, "/usr/local/bin", "/usr/bin", "/bin"}, ":"),
	}
	for _, dir := range []string{b.app + "/.inner/profiles", b.empty, b.bin} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return b, err
		}
	}
	return b, b.prepare(built)
}

func (b *bench) close() {
	_ = os.RemoveAll(b.work)
	_ = os.RemoveAll(b.runtime)
}

func (b *bench) shims() string { return filepath.Join(b.home, ".inner", "shims", "bin") }

// prepare puts programs and allowed profiles in place. The program that is run
// is true(1) under another name: nothing else is measured with it.
func (b *bench) prepare(built string) error {
	for from, to := range map[string]string{built: b.inner, "/usr/bin/true": b.bin + "/prog"} {
		data, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if err := os.WriteFile(to, data, 0o755); err != nil {
			return err
		}
	}
	const head, program = "schema_version = \"1\"\n[shim]\ncommands = [%s]\n", "[sandbox]\nhome = \"isolated\"\nhome_allow = [\"~/.local/bin\"]\n" +
		"[env]\ninherit = [\"PATH\", \"HOME\", \"TERM\"]\n[entrypoint]\ncmd = %q\n"
	host := fmt.Sprintf(head, "") + "[entrypoint]\ncmd = \"true\"\n"
	err := writeFiles(b.app, map[string]string{
		".inner/profiles/prog.toml":   fmt.Sprintf(head+program, `"prog"`, "prog"),
		".inner/profiles/nap.toml":    fmt.Sprintf(head+program, "", "sleep"),
		".inner/profiles/show.toml":   fmt.Sprintf(head+program, "", "cat"),
		".inner/profiles/host.toml":   host,
		".inner/profiles/listed.toml": host + "[sandbox]\nnetwork_mode = \"allowlist\"\nnetwork_allow = [\"example.com\", \"*.example.org\", \"@github\"]\n",
		".envrc":                      "export A=b\n",
	})
	if err != nil {
		return err
	}
	for _, args := range [][]string{{b.inner, "init"}, {b.inner, "allow", "--yes"}, {"direnv", "allow"}} {
		if _, err := b.output(b.app, args...); err != nil {
			return err
		}
	}
	return nil
}

// allowed writes profiles into a project, by their names, and allows them.
func (b *bench) allowed(dir string, profiles map[string]string) error {
	files := map[string]string{}
	for name, text := range profiles {
		files[".inner/profiles/"+name+".toml"] = text
	}
	if err := writeFiles(dir, files); err != nil {
		return err
	}
	_, err := b.output(dir, b.inner, "allow", "--yes")
	return err
}

// writeFiles writes files and the folders they are in.
func writeFiles(dir string, files map[string]string) error {
	for name, text := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) command(dir string, args ...string) *exec.Cmd {
	path := args[0]
	if !strings.Contains(path, "/") {
		for _, d := range []string{"/usr/local/bin", "/usr/bin", "/bin"} {
			if _, err := os.Stat(d + "/" + path); err == nil {
				path = d + "/" + path
				break
			}
		}
	}
	cmd := exec.Command(path, args[1:]...)
	cmd.Args[0] = args[0]
	cmd.Dir, cmd.Env = dir, append([]string{"PWD=" + dir}, b.env...)
	return cmd
}

func (b *bench) output(dir string, args ...string) (string, error) {
	cmd := b.command(dir, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", strings.Join(args, " "), err, out, &stderr)
	}
	return string(out), nil
}

func (b *bench) run() error {
	parts := []struct {
		name string
		do   func() error
	}{
		{"commands without a terminal", b.commands},
		{"commands with a terminal", b.terminals},
		{"what is hidden", b.hidden},
		{"network by name", b.network},
		{"repositories", b.repositories},
		{"hooks", b.hooks},
		{"prompts", b.prompts},
		{"shim regenerate", b.regenerate},
		{"memory", b.memory},
		{"bytes through the terminal", b.throughput},
		{"caches", b.caches},
		{"calls of tools", b.calls},
		{"calls in containers", b.containers},
	}
	only, names := os.Getenv("INNER_BENCH_ONLY"), ""
	for _, part := range parts {
		names += "\n  " + part.name
	}
	if only != "" && !strings.Contains(names+"\n", "\n  "+only+"\n") {
		return fmt.Errorf("INNER_BENCH_ONLY=%q is no part; the parts are:%s", only, names)
	}
	for _, part := range parts {
		if only != "" && only != part.name {
			continue
		}
		fmt.Fprintln(os.Stderr, "inner: measuring:", part.name)
		if err := part.do(); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	b.print(os.Stdout)
	return nil
}

func (b *bench) print(w io.Writer) {
	fmt.Fprintln(w, "| what | figure | against | ratio | aim |")
	fmt.Fprintln(w, "|---|---|---|---|---|")
	for _, r := range b.rows {
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s |\n", r.what, r.figure, r.against, r.ratio, r.aim)
	}
	var versions []string
	for _, v := range [][]string{{"bwrap", "--version"}, {"bash", "--version"}, {"zsh", "--version"}, {"fish", "--version"}, {"direnv", "version"}, {"script", "--version"}} {
		if out, err := b.output("/", v...); err == nil {
			versions = append(versions, v[0]+" "+versionOf(out))
		}
	}
	fmt.Fprintf(w, "\nMedians of %d rounds in one run of `make bench`, as a plain user: %s.\n", b.rounds, strings.Join(versions, ", "))
}
