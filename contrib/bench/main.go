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
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

func main() {
	b, err := newBench()
	if err == nil {
		defer b.close()
		err = b.run()
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
	for name, cmd := range map[string]string{"prog": "prog", "nap": "sleep", "show": "cat"} {
		text := "schema_version = \"1\"\n[shim]\ncommands = [" + map[bool]string{true: `"prog"`}[name == "prog"] + "]\n" +
			"[sandbox]\nhome = \"isolated\"\nhome_allow = [\"~/.local/bin\"]\n" +
			"[env]\ninherit = [\"PATH\", \"HOME\", \"TERM\"]\n[entrypoint]\ncmd = \"" + cmd + "\"\n"
		if err := os.WriteFile(filepath.Join(b.app, ".inner/profiles", name+".toml"), []byte(text), 0o600); err != nil {
			return err
		}
	}
	host := "schema_version = \"1\"\n[shim]\ncommands = []\n[entrypoint]\ncmd = \"true\"\n"
	for name, text := range map[string]string{
		"host":   host,
		"listed": host + "[sandbox]\nnetwork_mode = \"allowlist\"\nnetwork_allow = [\"example.com\", \"*.example.org\", \"@github\"]\n",
	} {
		if err := os.WriteFile(filepath.Join(b.app, ".inner/profiles", name+".toml"), []byte(text), 0o600); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(b.app, ".envrc"), []byte("export A=b\n"), 0o600); err != nil {
		return err
	}
	for _, args := range [][]string{{b.inner, "init"}, {b.inner, "allow", "--yes"}, {"direnv", "allow"}} {
		if _, err := b.output(b.app, args...); err != nil {
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
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, &stderr)
	}
	return string(out), nil
}

func (b *bench) run() error {
	for _, part := range []struct {
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
	} {
		if only := os.Getenv("INNER_BENCH_ONLY"); only != "" && only != part.name {
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

// versionOf is the first word that starts with a digit.
func versionOf(text string) string {
	for _, word := range strings.Fields(text) {
		if word[0] >= '0' && word[0] <= '9' {
			return strings.SplitN(word, "(", 2)[0]
		}
	}
	return "?"
}

// series are the medians of one command, one for each round, in seconds.
type series []float64

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	if len(s) == 0 {
		return 0
	}
	return s[len(s)/2]
}

// over is the median of the rounds' ratios.
func (s series) over(other series) float64 {
	var r []float64
	for i := range min(len(s), len(other)) {
		if other[i] > 0 {
			r = append(r, s[i]/other[i])
		}
	}
	return median(r)
}

// less is the median of the rounds' differences.
func (s series) less(other series) float64 {
	var d []float64
	for i := range min(len(s), len(other)) {
		d = append(d, s[i]-other[i])
	}
	return median(d)
}

func ms(seconds float64) string { return fmt.Sprintf("%.2f ms", seconds*1e3) }

// more is what one series takes beyond another, and how many times as long it is.
func more(s, other series) string {
	return fmt.Sprintf("+%s, %s", ms(s.less(other)), times(s.over(other)))
}

func us(seconds float64) string { return fmt.Sprintf("%.1f µs", seconds*1e6) }

func times(ratio float64) string {
	if ratio >= 20 {
		return fmt.Sprintf("%.0f×", ratio)
	}
	return fmt.Sprintf("%.2f×", ratio)
}

// hyperfine times commands, each a list of words, all of them in each round.
func (b *bench) hyperfine(dir string, runs int, prepare string, commands ...[]string) ([]series, error) {
	out := make([]series, len(commands))
	file := filepath.Join(b.work, "hyperfine.json")
	for range b.rounds {
		args := []string{"hyperfine", "-N", "--style", "none", "--warmup", "5", "--runs", strconv.Itoa(runs), "--export-json", file}
		if prepare != "" {
			args = append(args, "--prepare", prepare)
		}
		for _, words := range commands {
			args = append(args, quote(words))
		}
		if _, err := b.output(dir, args...); err != nil {
			return nil, err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var result struct {
			Results []struct{ Median float64 }
		}
		if err := json.Unmarshal(data, &result); err != nil {
			return nil, err
		}
		for i, r := range result.Results {
			out[i] = append(out[i], r.Median)
		}
	}
	return out, nil
}

// quote writes words as hyperfine -N reads them.
func quote(words []string) string {
	var q []string
	for _, w := range words {
		q = append(q, "'"+strings.ReplaceAll(w, "'", `'\''`)+"'")
	}
	return strings.Join(q, " ")
}

// rawBwrap is bwrap with the arguments that inner would give it, without inner.
// What inner passes by descriptor is a file here.
func (b *bench) rawBwrap(profile string) ([]string, error) {
	return b.bwrap(profile, func(string) bool { return true })
}

// bwrap is the same with only those arguments whose reason is wanted.
func (b *bench) bwrap(profile string, wanted func(reason string) bool) ([]string, error) {
	out, err := b.output(b.app, b.inner, "run", "-p", profile, "--dry-run", "--json")
	if err != nil {
		return nil, err
	}
	var plan struct {
		Args []struct {
			Args   []string
			Reason string
		}
		Argv         []string
		Bwrap        string
		Program, Cwd string
		Env          map[string]string
		Staged       struct {
			Placeholders []struct {
				Path, Content string
				Folder        bool
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &plan); err != nil {
		return nil, err
	}
	for _, p := range plan.Staged.Placeholders { // which a run makes before bwrap starts
		if _, there := os.Lstat(p.Path); there == nil {
			continue
		}
		if p.Folder {
			err = os.MkdirAll(p.Path, 0o755)
		} else if err = os.MkdirAll(filepath.Dir(p.Path), 0o755); err == nil {
			err = os.WriteFile(p.Path, []byte(p.Content), 0o644)
		}
		if err != nil {
			return nil, err
		}
	}
	file, folder := filepath.Join(b.work, "data"), filepath.Join(b.work, "folder")
	if err := os.WriteFile(file, []byte("data\n"), 0o444); err != nil && !errors.Is(err, os.ErrPermission) {
		return nil, err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	words := []string{plan.Bwrap}
	for _, arg := range plan.Args {
		if !wanted(arg.Reason) {
			continue
		}
		if i := slices.Index(arg.Args, "--ro-bind-data"); i >= 0 {
			words = append(words, "--ro-bind", file, arg.Args[i+2])
			continue
		}
		if slices.Contains(arg.Args, "--seccomp") {
			continue // the filter comes by descriptor, which a command line has not
		}
		for _, w := range arg.Args {
			switch {
			case w == "<empty file>":
				w = file
			case strings.HasPrefix(w, "<staged>"):
				w = folder
			}
			words = append(words, w)
		}
	}
	words = append(words, "--clearenv")
	for k, v := range plan.Env {
		words = append(words, "--setenv", k, v)
	}
	words = append(words, "--chdir", plan.Cwd, "--", plan.Program)
	return append(words, plan.Argv[1:]...), nil
}

func (b *bench) commands() error {
	raw, err := b.rawBwrap("prog")
	if err != nil {
		return err
	}
	shim := filepath.Join(b.shims(), "prog")
	in, err := b.hyperfine(b.app, 60, "", raw, []string{b.inner, "run", "-p", "prog"}, []string{shim})
	if err != nil {
		return err
	}
	out, err := b.hyperfine(b.empty, 200, "", []string{b.bin + "/prog"}, []string{shim})
	if err != nil {
		return err
	}
	b.rows = append(b.rows,
		row{"bwrap with the same arguments, no terminal", ms(median(in[0])), "", "", ""},
		row{"`inner run`, no terminal", ms(median(in[1])), "that bwrap", more(in[1], in[0]), "≤ +6 ms"},
		row{"shim to running program, no terminal", ms(median(in[2])), "that bwrap", more(in[2], in[0]), "≤ +6 ms"},
		row{"shim where nothing claims the command", ms(median(out[1])), "the program itself, " + ms(median(out[0])), "+" + ms(out[1].less(out[0])), "≤ +1.2 ms"},
	)
	return nil
}

// network times what a list of hosts adds to a start.
func (b *bench) network() error {
	start := func(profile string) []string { return []string{b.inner, "run", "-p", profile, "--no-interactive"} }
	t, err := b.hyperfine(b.app, 60, "", start("listed"), start("host"))
	if err != nil {
		return err
	}
	b.rows = append(b.rows, row{"`inner run`, a list of hosts", ms(median(t[0])), "without network, " + ms(median(t[1])), "+" + ms(t[0].less(t[1])), "≤ +5 ms"})
	return nil
}

// hidden times what the table of sensitive resources costs: bwrap with its
// masks and without, and a start with three hundred secret files and with none.
func (b *bench) hidden() error {
	with, err := b.rawBwrap("host")
	if err != nil {
		return err
	}
	without, err := b.bwrap("host", func(reason string) bool {
		return !strings.HasPrefix(reason, "hidden") && !strings.Contains(reason, "inner's folder") && !strings.Contains(reason, "shim folder")
	})
	if err != nil {
		return err
	}
	masks, err := b.hyperfine(b.app, 60, "", with, without)
	if err != nil {
		return err
	}
	var starts [][]string
	for _, secrets := range [][2]int{{0, 0}, {300, 0}, {200, 100}} { // in the home, in the project
		home := filepath.Join(b.work, fmt.Sprint("secrets", secrets[0]))
		app := filepath.Join(home, "app")
		if err := os.MkdirAll(app, 0o700); err != nil {
			return err
		}
		for i := range secrets[0] + secrets[1] {
			name := fmt.Sprintf("%s/%d.pem", map[bool]string{true: home, false: app}[i < secrets[0]], i)
			if err := os.WriteFile(name, []byte("secret\n"), 0o600); err != nil {
				return err
			}
		}
		words := []string{"/usr/bin/env", "-C", app, "HOME=" + home, b.inner, "run", "-p", "shell", "--no-interactive", "--entrypoint", "/bin/true"}
		if _, err := b.output(app, words...); err != nil { // its folder is made at first use
			return err
		}
		starts = append(starts, words)
	}
	start, err := b.hyperfine(b.app, 40, "", starts...)
	if err != nil {
		return err
	}
	b.rows = append(b.rows,
		row{"bwrap, the whole table hidden", ms(median(masks[0])), "bwrap without, " + ms(median(masks[1])), "+" + ms(masks[0].less(masks[1])), "≤ +2 ms"},
		row{"`inner run`, 300 secret files in the home", ms(median(start[1])), "with none, " + ms(median(start[0])), "+" + ms(start[1].less(start[0])), "≤ +15 ms"},
		row{"100 of them in the project", ms(median(start[2])), "with none, " + ms(median(start[0])), "+" + ms(start[2].less(start[0])), ""})
	return nil
}

func (b *bench) hooks() error {
	s, err := b.hyperfine(b.app, 100, "", []string{b.inner, "hook", "bash"}, []string{"/usr/bin/direnv", "hook", "bash"})
	if err != nil {
		return err
	}
	b.rows = append(b.rows, row{"`inner hook bash`", ms(median(s[0])), "`direnv hook bash`, " + ms(median(s[1])), times(s[0].over(s[1])), "≤ 2 ms"})
	return nil
}

// prompts times an unchanged prompt: the hook's own function in a loop, by the
// shell's clock, with and without a project.
func (b *bench) prompts() error {
	loop := map[string]string{
		"bash": `HOOK; cd DIR; for i in {1..40}; do FN; done; for r in {1..ROUNDS}; do
			s=${EPOCHREALTIME/[.,]/}; for ((i = 0; i < N; i++)); do FN; done; e=${EPOCHREALTIME/[.,]/}; echo "time $((e - s))"; done`,
		"zsh": `zmodload zsh/datetime; HOOK; cd DIR; for i in {1..40}; do FN; done; for r in {1..ROUNDS}; do
			s=$EPOCHREALTIME; for ((i = 0; i < N; i++)); do FN; done; e=$EPOCHREALTIME; printf 'time %d\n' $(((e - s) * 1000000)); done`,
		"fish": `HOOK; cd DIR; for i in (seq 40); FN; end; set turns (seq N); for r in (seq ROUNDS)
			set s (date +%s%N); for i in $turns; FN; end; set e (date +%s%N); echo time (math "($e - $s) / 1000"); end`,
	}
	start := map[string][]string{
		"bash": {"bash", "--noprofile", "--norc", "-i", "-c"}, "zsh": {"zsh", "-f", "-i", "-c"}, "fish": {"fish", "--no-config", "-i", "-c"},
	}
	hook := func(tool, shell string) string {
		if shell == "fish" {
			return tool + " hook fish | source"
		}
		return `eval "$(` + tool + ` hook ` + shell + `)"`
	}
	fn := func(tool, shell string) string {
		switch {
		case tool == "inner":
			return "__inner_prompt"
		case shell == "fish":
			return "__direnv_export_eval"
		}
		return "_direnv_hook"
	}
	measure := func(tool, shell, dir string) (series, error) {
		n := 200
		if tool == "inner" {
			n = 2000 // so that reading the clock, a fork in fish, does not count
		}
		script := strings.NewReplacer("HOOK", hook(tool, shell), "FN", fn(tool, shell), "DIR", dir,
			"ROUNDS", strconv.Itoa(b.rounds), "N;", strconv.Itoa(n)+";", "seq N", "seq "+strconv.Itoa(n)).Replace(loop[shell])
		out, err := b.output(b.home, append(slices.Clone(start[shell]), script)...)
		if err != nil {
			return nil, err
		}
		var s series
		for _, line := range strings.Split(out, "\n") {
			if v, ok := strings.CutPrefix(line, "time "); ok {
				f, err := strconv.ParseFloat(v, 64)
				if err != nil {
					return nil, err
				}
				s = append(s, f/1e6/float64(n))
			}
		}
		if len(s) != b.rounds {
			return nil, fmt.Errorf("%s, %s: %d figures:\n%s", tool, shell, len(s), out)
		}
		return s, nil
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		for _, where := range []struct{ name, dir string }{{"no project", b.empty}, {"project", b.app}} {
			ours, err := measure("inner", shell, where.dir)
			if err != nil {
				return err
			}
			theirs, err := measure("direnv", shell, where.dir)
			if err != nil {
				return err
			}
			b.rows = append(b.rows, row{
				"unchanged prompt, " + shell + ", " + where.name, us(median(ours)),
				"direnv's hook, " + us(median(theirs)), "1/" + strings.TrimSuffix(times(theirs.over(ours)), "×"), "≤ 1/100",
			})
		}
	}
	return nil
}

// regenerate times the shim folder with 50 more projects, each claiming a name.
func (b *bench) regenerate() error {
	for i := range 50 {
		dir := filepath.Join(b.home, "p", fmt.Sprint(i))
		if err := os.MkdirAll(dir+"/.inner/profiles", 0o700); err != nil {
			return err
		}
		text := fmt.Sprintf("schema_version = \"1\"\n[entrypoint]\ncmd = \"tool-%d\"\n", i)
		if err := os.WriteFile(dir+"/.inner/profiles/tool.toml", []byte(text), 0o600); err != nil {
			return err
		}
		if _, err := b.output(dir, b.inner, "allow", "--yes"); err != nil {
			return err
		}
	}
	same, err := b.hyperfine(b.empty, 40, "", []string{b.inner, "shim", "regenerate"})
	if err != nil {
		return err
	}
	fresh, err := b.hyperfine(b.empty, 40, quote([]string{"rm", "-rf", b.shims()}), []string{b.inner, "shim", "regenerate"})
	if err != nil {
		return err
	}
	names, err := os.ReadDir(b.shims())
	if err != nil {
		return err
	}
	b.rows = append(b.rows,
		row{fmt.Sprintf("`inner shim regenerate`, 50 projects, %d names, nothing to do", len(names)), ms(median(same[0])), "", "", "≤ 10 ms"},
		row{"the same from an empty folder", ms(median(fresh[0])), "", "", "≤ 10 ms"})
	return nil
}
