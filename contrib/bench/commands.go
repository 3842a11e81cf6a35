package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Whole commands, timed by hyperfine.

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

// placeholder is what a run makes on the host, for bwrap to mount something on.
type placeholder struct {
	Path, Content string
	Folder        bool
}

func (p placeholder) make() error {
	if _, err := os.Lstat(p.Path); err == nil {
		return nil
	}
	if p.Folder {
		return os.MkdirAll(p.Path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(p.Path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(p.Path, []byte(p.Content), 0o644)
}

// dryPlan is what `inner run --dry-run --json` says, as far as a command line needs it.
type dryPlan struct {
	Args []struct {
		Args   []string
		Reason string
	}
	Argv         []string
	Bwrap        string
	Program, Cwd string
	Env          map[string]string
	Staged       struct {
		Placeholders []placeholder
	}
}

// bwrap is the same with only those arguments whose reason is wanted.
func (b *bench) bwrap(profile string, wanted func(reason string) bool) ([]string, error) {
	out, err := b.output(b.app, b.inner, "run", "-p", profile, "--dry-run", "--json")
	if err != nil {
		return nil, err
	}
	var plan dryPlan
	if err := json.Unmarshal([]byte(out), &plan); err != nil {
		return nil, err
	}
	for _, p := range plan.Staged.Placeholders { // which a run makes before bwrap starts
		if err := p.make(); err != nil {
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
	return plan.words(wanted, file, folder), nil
}

// words is the command line of bwrap, with a file and a folder for all that inner stages.
func (p dryPlan) words(wanted func(reason string) bool, file, folder string) []string {
	words := []string{p.Bwrap}
	for _, arg := range p.Args {
		data := slices.Index(arg.Args, "--ro-bind-data")
		switch {
		case !wanted(arg.Reason):
		case data >= 0:
			words = append(words, "--ro-bind", file, arg.Args[data+2])
		case slices.Contains(arg.Args, "--seccomp") || slices.Contains(arg.Args, "--file"):
			// these come by descriptor, which a command line has not
		default:
			words = append(words, unstaged(arg.Args, file, folder)...)
		}
	}
	words = append(words, "--clearenv")
	for k, v := range p.Env {
		words = append(words, "--setenv", k, v)
	}
	words = append(words, "--chdir", p.Cwd, "--", p.Program)
	return append(words, p.Argv[1:]...)
}

// unstaged are arguments with a file and a folder for what inner stages.
func unstaged(args []string, file, folder string) (words []string) {
	for _, w := range args {
		switch {
		case w == "<empty file>":
			w = file
		case strings.HasPrefix(w, "<staged>"):
			w = folder
		}
		words = append(words, w)
	}
	return words
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
	if _, err := b.output(b.app, b.inner, "run", "-p", "host"); err != nil { // the folder of its caches is made by a run
		return err
	}
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
	for _, secrets := range [][2]int{{0, 0}, {300, 0}, {200, 100}} {
		words, err := b.withSecrets(secrets[0], secrets[1])
		if err != nil {
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

// withSecrets is a run in a home and a project that have so many secret files.
func (b *bench) withSecrets(inHome, inProject int) ([]string, error) {
	home := filepath.Join(b.work, fmt.Sprint("secrets", inHome))
	app := filepath.Join(home, "app")
	if err := os.MkdirAll(app, 0o700); err != nil {
		return nil, err
	}
	for i := range inHome + inProject {
		dir := home
		if i >= inHome {
			dir = app
		}
		if err := os.WriteFile(fmt.Sprintf("%s/%d.pem", dir, i), []byte("secret\n"), 0o600); err != nil {
			return nil, err
		}
	}
	words := []string{"/usr/bin/env", "-C", app, "HOME=" + home, b.inner, "run", "-p", "shell", "--no-interactive", "--entrypoint", "/bin/true"}
	_, err := b.output(app, words...) // its folder is made at first use
	return words, err
}
