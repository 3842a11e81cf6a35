package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// starts are whole commands, without a terminal and with one.
func (b *bench) starts() {
	raw, shim := b.rawBwrap("prog"), filepath.Join(b.shims(), "prog")
	run := func(profile string) []string { return []string{b.inner, "run", "-p", profile} }
	for _, t := range []struct {
		name, aim string
		in        way
	}{{"no terminal", "≤ +6 ms", b.plain}, {"the box has a terminal of its own", "≤ +7 ms", b.terminal}} {
		s := b.turns(60, t.in, b.app, raw, run("prog"), []string{shim})
		b.add(row{what: "bwrap with the same arguments, " + strings.Replace(t.name, "the box has a terminal of its own", "sharing your terminal", 1), figure: s[0].ms()},
			s[1].beside("`inner run`, "+t.name, s[0], "that bwrap", t.aim),
			s[2].beside("shim to running program, "+t.name, s[0], "that bwrap", t.aim))
	}
	s := b.turns(200, b.plain, b.empty, []string{b.bin + "/prog"}, []string{shim})
	b.add(s[1].beside("shim where nothing claims the command", s[0], "the program itself", "≤ +1.2 ms"))
	s = b.turns(60, b.plain, b.app, append(run("listed"), "--no-interactive"), append(run("host"), "--no-interactive"))
	b.add(s[0].beside("`inner run`, a list of hosts", s[1], "without network", "≤ +5 ms"))
	s = b.turns(100, b.plain, b.app, []string{b.inner, "hook", "bash"}, []string{"direnv", "hook", "bash"})
	b.add(s[0].beside("`inner hook bash`", s[1], "`direnv hook bash`", "≤ 2 ms"))
}

// hidden times what the table of sensitive resources costs: bwrap with its
// masks and without, and a start with three hundred secret files and with none.
func (b *bench) hidden() {
	b.output(b.app, b.inner, "run", "-p", "host")                                               // the folder of its caches is made by a run
	with := func(reason string) bool { return !strings.Contains(reason, "a cache of its own") } // which lies in what is hidden
	without := func(reason string) bool {
		return with(reason) && !strings.HasPrefix(reason, "hidden") && !strings.Contains(reason, "inner's folder") && !strings.Contains(reason, "shim folder")
	}
	s := b.turns(60, b.plain, b.app, b.bwrap("host", with), b.bwrap("host", without))
	b.add(s[0].beside("bwrap, the whole table hidden", s[1], "bwrap without", "≤ +2 ms"))
	s = b.turns(40, b.plain, b.app, b.withSecrets(0, 0), b.withSecrets(300, 0), b.withSecrets(200, 100))
	b.add(s[1].beside("`inner run`, 300 secret files in the home", s[0], "with none", "≤ +15 ms"),
		s[2].beside("100 of them in the project", s[0], "with none", "≤ +5 ms"))
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
	words := []string{"/usr/bin/env", "-C", app, "HOME=" + home, b.inner, "run", "-p", "shell", "--no-interactive", "--entrypoint", "/bin/true"}
	b.output(app, words...) // its folder is made at first use
	return words
}

// rawBwrap is bwrap with the arguments that inner would give it, without inner.
// What inner passes by descriptor is a file here.
func (b *bench) rawBwrap(profile string) []string {
	return b.bwrap(profile, func(string) bool { return true })
}

// bwrap is the same with only those arguments whose reason is wanted.
func (b *bench) bwrap(profile string, wanted func(reason string) bool) []string {
	var plan struct { // of `inner run --dry-run --json`, as far as a command line needs it
		Args []struct {
			Args   []string
			Reason string
		}
		Argv                []string
		Bwrap, Program, Cwd string
		Env                 map[string]string
		Staged              struct {
			Placeholders []struct {
				Path, Content string
				Folder        bool
			}
		}
	}
	must(json.Unmarshal([]byte(b.output(b.app, b.inner, "run", "-p", profile, "--dry-run", "--json")), &plan))
	for _, p := range plan.Staged.Placeholders { // which a run makes before bwrap starts
		if _, err := os.Lstat(p.Path); err == nil {
			continue
		}
		if p.Folder {
			must(os.MkdirAll(p.Path, 0o755))
		} else {
			writeFiles("/", map[string]string{p.Path: p.Content})
		}
	}
	file, folder := filepath.Join(b.work, "data"), filepath.Join(b.work, "folder") // for all that inner stages
	if err := os.WriteFile(file, []byte("data\n"), 0o444); !errors.Is(err, os.ErrPermission) {
		must(err)
	}
	must(os.MkdirAll(folder, 0o700))
	words := []string{plan.Bwrap}
	for _, arg := range plan.Args {
		data := slices.Index(arg.Args, "--ro-bind-data")
		switch {
		case !wanted(arg.Reason):
		case data >= 0:
			words = append(words, "--ro-bind", file, arg.Args[data+2])
		case slices.Contains(arg.Args, "--seccomp") || slices.Contains(arg.Args, "--file"):
			// these come by descriptor, which a command line has not
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
