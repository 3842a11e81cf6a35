package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/isolator"
)

// rows are all measurements but those of git.
func (b *bench) rows() []row {
	shim, raw := filepath.Join(b.shims(), "prog"), b.bwrap("prog", false)
	plain := func(dir string, words ...string) func() { return func() { b.output(dir, words...) } }
	terminal := func(words ...string) func() { return func() { b.onTerminal(b.app, words) } }
	run := func(profile string) []string { return []string{b.inner, "run", "--no-interactive", "-p", profile} }
	rows := []row{
		{
			part: "starts", what: "`inner run`, no terminal", ours: plain(b.app, run("prog")...),
			against: "bwrap with the same arguments", theirs: plain(b.app, raw...), aim: "≤ +6 ms", runs: 60,
		},
		{
			part: "starts", what: "shim to running program, no terminal", ours: plain(b.app, shim),
			against: "that bwrap", theirs: plain(b.app, raw...), aim: "≤ +6 ms", runs: 60,
		},
		{
			part: "starts", what: "`inner run`, the box has a terminal of its own",
			ours: terminal(b.inner, "run", "-p",
				"prog"), against: "bwrap sharing your terminal", theirs: terminal(raw...), aim: "≤ +7 ms", runs: 60,
		},
		{
			part: "starts", what: "shim to running program, the box has a terminal of its own",
			ours: terminal(shim), against: "that bwrap", theirs: terminal(raw...), aim: "≤ +7 ms", runs: 60,
		},
		{
			part: "starts", what: "shim where nothing claims the command", ours: plain(b.empty, shim),
			against: "the program itself", theirs: plain(b.empty, b.bin+"/prog"), aim: "≤ +1.2 ms", runs: 200,
		},
		{
			part: "starts", what: "`inner run`, a list of hosts", ours: plain(b.app, run("listed")...),
			against: "without network", theirs: plain(b.app, run("host")...), aim: "≤ +5 ms", runs: 60,
		},
		{
			part: "starts", what: "`inner hook bash`", ours: plain(b.app, b.inner, "hook", "bash"),
			against: "`direnv hook bash`", theirs: plain(b.app, "direnv", "hook", "bash"), aim: "≤ 2 ms", runs: 100,
		},
		{part: "what is hidden", what: "bwrap, the whole table hidden", ours: plain(b.app,
			b.bwrap("host", false)...), against: "bwrap without", theirs: plain(b.app, b.bwrap("host", true)...), aim: "≤ +2 ms", runs: 60},
		{
			part: "what is hidden", what: "`inner run`, 300 secret files in the home",
			ours: plain(b.app, b.withSecrets(300, 0)...), against: "with none", theirs: plain(b.app,
				b.withSecrets(0, 0)...), aim: "≤ +15 ms", runs: 40,
		},
		{part: "what is hidden", what: "100 of them in the project", ours: plain(b.app,
			b.withSecrets(200, 100)...), against: "with none", theirs: plain(b.app, b.withSecrets(0, 0)...), aim: "≤ +5 ms", runs: 40},
		{part: "calls of tools", what: "`inner exec`", ours: plain(b.app, b.inner, "exec", "-p",
			"call", "--", "true"), against: "bwrap with the same arguments", theirs: plain(b.app, raw...), runs: 40},
		{part: "calls of tools", what: "`inner exec --session`", ours: plain(b.app, b.inner, "exec",
			"-p", "call", "--session", "s1", "--", "true"), against: "that bwrap", theirs: plain(b.app, raw...), runs: 40},
	}
	rows = append(rows, b.prompts("prompts", nil, true, b.empty, b.app)...)
	rows = append(rows, b.answered("a call of `inner exec --serve`", raw, "-p", "call"), b.answered("the same in a session's box", raw, "-p", "shared", "--session", "s2"),
		b.library(raw), b.regenerate(), b.memory(), b.throughput())
	return append(rows, b.containers()...)
}

// answered times calls of one server, one after another.
func (b *bench) answered(what string, raw []string, flags ...string) row {
	var server *partner
	return row{
		part: "calls of tools", what: what, against: "that bwrap", aim: "≤ +4 ms", runs: 40, theirs: func() { b.output(b.app, raw...) },
		open: func() { server = b.partner(b.app, append([]string{b.inner, "exec", "--serve"}, flags...)...) },
		ours: func() { server.ask(`{"argv":["true"]}`, `"started":true`) },
	}
}

// library times calls of package isolator, with this program as the supervisor of each box.
func (b *bench) library(raw []string) row {
	var p *isolator.Profile
	return row{
		part: "calls of tools", what: "a call of the library", against: "that bwrap", runs: 40, theirs: func() { b.output(b.app, raw...) },
		open: func() {
			for _, kv := range b.env { // the library is about the user and the environment of its program
				k, v, _ := strings.Cut(kv, "=")
				must(os.Setenv(k, v))
			}
			p = value(isolator.Load(context.Background(), isolator.Options{Name: "call", Dir: b.app}))
		},
		ours: func() { value(p.Command(context.Background(), "true").Run()) },
	}
}

// containers times a call in a container of rootless podman, beside podman itself with the
// same image. contrib/bench.sh says where that is, when there is podman.
func (b *bench) containers() []row {
	tar := os.Getenv("INNER_BENCH_IMAGE")
	if tar == "" {
		return nil
	}
	name := value(user.Current()).Username // podman looks up its user by that name
	podman := func(args ...string) []string { return append([]string{"env", "USER=" + name, "podman"}, args...) }
	id := "localhost/bench"
	return []row{{
		part: "calls in containers", what: "`inner exec`, `backend = \"podman\"`", against: "`podman run` of the same image", runs: 5,
		open: func() {
			// crun refuses computers that mount both kinds of control groups.
			writeFiles(b.home, map[string]string{".config/containers/containers.conf": "[engine]\nruntime = \"runc\"\n"})
			b.output(b.app, podman("import", "-q", tar, id)...)
			id = strings.TrimSpace(b.output(b.app, podman("images", "--no-trunc", "-q", id)...))
			b.allowed(b.app, map[string]string{"boxed": profile("true",
				"home = \"isolated\"\nbase = \"minimal\"\nbackend = \"podman\"\nimage = \""+id+"\"\n[output]\nrecord = \"audit\"\n")})
			b.partners = append(b.partners, &partner{close: func() { // the rest is removed with the home
				_, _ = b.try(b.app, podman("unshare", "rm", "-rf", filepath.Join(b.home,
					".local/share/containers"))...)
				_, _ = b.try(b.app, podman("system", "migrate")...)
			}})
		},
		ours:   func() { b.output(b.app, "env", "USER="+name, b.inner, "exec", "-p", "boxed", "--", "true") },
		theirs: func() { b.output(b.app, podman("run", "--rm", "--network", "none", id, "true")...) },
	}}
}

// regenerate times the shim folder with 50 more projects, each claiming a name.
func (b *bench) regenerate() row {
	shim := func() { b.output(b.empty, b.inner, "shim", "regenerate") }
	return row{
		part: "shim regenerate", what: "`inner shim regenerate`, 50 projects, nothing to do", against: "from an empty folder", aim: "≤ 10 ms", runs: 40,
		open: func() {
			for i := range 50 {
				text := fmt.Sprintf("schema_version = \"1\"\n[entrypoint]\ncmd = \"tool-%d\"\n", i)
				b.allowed(filepath.Join(b.home, "p", fmt.Sprint(i)), map[string]string{"tool": text})
			}
		},
		ours: shim, theirs: func() { must(os.RemoveAll(b.shims())); shim() },
	}
}

// memory is that of the largest process of a run, as that process has it (VmHWM of proc_pid_status(5)): what the kernel
// tells whoever waits for it (getrusage(2)) has also what that one had when it started the process.
func (b *bench) memory() row {
	var peak float64 // KiB
	return row{
		part: "memory", what: "peak memory of the largest process of inner while a box runs", aim: "≤ 8 MiB", runs: 1,
		ours: func() {
			p := b.partner(b.app, b.inner, "run", "-p", "show")
			p.ask("up", "up")
			_, status, _ := strings.Cut(string(value(os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid)))), "VmHWM:")
			value(fmt.Sscan(status, &peak))
			p.close()
		},
		figure: func(float64) string { return fmt.Sprintf("%.1f MiB", peak/1024) },
	}
}

// throughput sends a big file to the terminal.
func (b *bench) throughput() row {
	const size = 64 << 20
	file := filepath.Join(b.app, "big")
	whole := func(args ...string) func() {
		return func() {
			if n := b.onTerminal(b.app, args); n < size*99/100 {
				fail("%s showed %d bytes of %d", args[0], n, size)
			}
		}
	}
	return row{
		part: "bytes through the terminal", what: "bytes through the box's terminal", against: "script(1)", runs: 1,
		open: func() {
			line := strings.Repeat("0123456789abcdef", 6) + "\n"
			writeFiles(b.app, map[string]string{"big": strings.Repeat(line, size/len(line))})
		},
		ours: whole(b.inner, "run", "-p", "show", "--", file), theirs: whole("script", "-qec",
			"cat "+file, "/dev/null"),
		figure: func(s float64) string { return fmt.Sprintf("%.0f MB/s", size/s/1e6) },
	}
}

// prompts times unchanged prompts in folders, beside direnv's: what a hook runs at each prompt, a thousand times in a
// shell that has it.
func (b *bench) prompts(part string, made func(), direnv bool, dirs ...string) (rows []row) {
	const read = `while read -r line; do eval "$line"; done`
	for _, sh := range []struct{ name, read, hook, direnv, loop string }{
		{
			"bash --norc", read, `eval "$(TOOL hook bash)"`, "_direnv_hook",
			`for ((i = 0; i < N; i++)); do FN; done`,
		},
		{
			"zsh -f", read, `eval "$(TOOL hook zsh)"`, "_direnv_hook",
			`for ((i = 0; i < N; i++)); do FN; done`,
		},
		{
			"fish --no-config", "while read -l line; eval $line; end", "TOOL hook fish | source",
			"__direnv_export_eval", "for i in (seq N); FN; end",
		},
	} {
		words := strings.Fields(sh.name)
		for _, dir := range dirs {
			// A prompt of direnv's starts a program, and is the same for fewer of them.
			side := func(tool, function, times string) (open, ask func()) {
				var p *partner
				fill := strings.NewReplacer("TOOL", tool, "FN", function, "N", times)
				open = func() {
					if made != nil {
						made()
					}
					p = b.partner(dir, append(words[:len(words):len(words)], "-i", "-c", sh.read)...)
					p.ask(fill.Replace(sh.hook)+"; "+fill.Replace(sh.loop)+"; echo ready", "ready")
				}
				return open, func() { p.ask(fill.Replace(sh.loop)+"; echo done", "done") }
			}
			openOurs, ours := side(b.inner, "__inner_prompt", "1000")
			sides := []row{{what: "unchanged prompt", ours: ours, open: openOurs, each: 1000}}
			if direnv {
				openTheirs, theirs := side("direnv", sh.direnv, "10")
				sides[0].aim = "≤ 1/100 of direnv's"
				sides = append(sides, row{what: "the same with direnv's hook", ours: theirs, open: openTheirs, each: 10})
			}
			for _, r := range sides {
				r.part, r.runs, r.what = part, 5, fmt.Sprintf("%s, %s, in %s", r.what,
					words[0], filepath.Base(dir))
				r.figure = func(s float64) string { return fmt.Sprintf("%.1f µs", s*1e6) }
				rows = append(rows, r)
			}
		}
	}
	return rows
}

// withSecrets is a run in a home and a project that have so many secret files.
func (b *bench) withSecrets(inHome, inProject int) []string {
	home := filepath.Join(b.work, fmt.Sprint("secrets", inHome))
	app := filepath.Join(home, "app")
	must(os.MkdirAll(app, 0o700))
	for i := range inHome + inProject {
		dir := home
		if i >= inHome {
			dir = app
		}
		writeFiles(dir, map[string]string{fmt.Sprintf("%d.pem", i): "secret\n"})
	}
	words := []string{
		"/usr/bin/env", "-C", app, "HOME=" + home, b.inner, "run", "-p", "shell",
		"--no-interactive", "--entrypoint", "/bin/true",
	}
	b.output(app, words...) // its folder is made at first use
	return words
}

// bwrap is bwrap with the arguments that inner would give it, without inner, and with bare without what
// hides. What inner makes for a run is a file or a folder here, and what it passes by descriptor is left out.
func (b *bench) bwrap(profile string, bare bool) []string {
	b.output(b.app, b.inner, "run", "-p", profile) // the folder of its caches is made by a run
	var plan struct {                              // of `inner run --dry-run --json`, as far as a command line needs it
		Args []struct {
			Args   []string
			Reason string
		}
		Argv                []string
		Bwrap, Program, Cwd string
		Env                 map[string]string
	}
	must(json.Unmarshal([]byte(b.output(b.app, b.inner, "run", "-p", profile, "--dry-run", "--json")), &plan))
	file, folder := filepath.Join(b.work, "data"), filepath.Join(b.work, "folder")
	writeFiles(b.work, map[string]string{"data": "data\n", "folder/x": ""})
	words := []string{plan.Bwrap}
	for _, arg := range plan.Args {
		data := slices.Index(arg.Args, "--ro-bind-data")
		hides := slices.ContainsFunc([]string{"hidden", "inner's folder", "shim folder"},
			func(s string) bool { return strings.Contains(arg.Reason, s) })
		switch {
		case bare && hides, strings.Contains(arg.Reason,
			"a cache of its own"), slices.Contains(arg.Args, "--seccomp"), slices.Contains(arg.Args, "--file"):
		case data >= 0:
			words = append(words, "--ro-bind", file, arg.Args[data+2])
		default:
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
	}
	words = append(words, "--clearenv")
	for k, v := range plan.Env {
		words = append(words, "--setenv", k, v)
	}
	words = append(words, "--chdir", plan.Cwd, "--", plan.Program)
	return append(words, plan.Argv[1:]...)
}
