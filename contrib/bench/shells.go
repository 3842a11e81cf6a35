package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// What shells do, timed by themselves.

func (b *bench) hooks() error {
	s, err := b.hyperfine(b.app, 100, "", []string{b.inner, "hook", "bash"}, []string{"/usr/bin/direnv", "hook", "bash"})
	if err != nil {
		return err
	}
	b.rows = append(b.rows, row{"`inner hook bash`", ms(median(s[0])), "`direnv hook bash`, " + ms(median(s[1])), times(s[0].over(s[1])), "≤ 2 ms"})
	return nil
}

// hookOf is what a shell's start-up file holds for a tool.
func hookOf(tool, shell string) string {
	if shell == "fish" {
		return tool + " hook fish | source"
	}
	return `eval "$(` + tool + ` hook ` + shell + `)"`
}

// promptFunction is what the hook of a tool runs at each prompt.
func promptFunction(tool, shell string) string {
	switch {
	case tool == "inner":
		return "__inner_prompt"
	case shell == "fish":
		return "__direnv_export_eval"
	}
	return "_direnv_hook"
}

// promptTimes times an unchanged prompt: the hook's own function in a loop, by the shell's clock.
func (b *bench) promptTimes(tool, shell, dir string) (series, error) {
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
	n := 200
	if tool == "inner" {
		n = 2000 // so that reading the clock, a fork in fish, does not count
	}
	script := strings.NewReplacer("HOOK", hookOf(tool, shell), "FN", promptFunction(tool, shell), "DIR", dir,
		"ROUNDS", strconv.Itoa(b.rounds), "N;", strconv.Itoa(n)+";", "seq N", "seq "+strconv.Itoa(n)).Replace(loop[shell])
	out, err := b.output(b.home, append(start[shell], script)...)
	if err != nil {
		return nil, err
	}
	var s series
	for line := range strings.Lines(out) {
		if v, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "time "); ok {
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

// prompts times unchanged prompts with and without a project.
func (b *bench) prompts() error {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		for _, where := range []struct{ name, dir string }{{"no project", b.empty}, {"project", b.app}} {
			ours, err := b.promptTimes("inner", shell, where.dir)
			if err != nil {
				return err
			}
			theirs, err := b.promptTimes("direnv", shell, where.dir)
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
		text := fmt.Sprintf("schema_version = \"1\"\n[entrypoint]\ncmd = \"tool-%d\"\n", i)
		if err := b.allowed(filepath.Join(b.home, "p", fmt.Sprint(i)), map[string]string{"tool": text}); err != nil {
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
