package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// promptShell is how a shell times an unchanged prompt itself: HOOK is the line of its start-up
// file, FN what the hook runs at each prompt, N how often in each of ROUNDS.
type promptShell struct {
	name, hook, direnv string // direnv is the function of its hook
	start              []string
	loop               string
}

var promptShells = []promptShell{
	{
		"bash", `eval "$(TOOL hook bash)"`, "_direnv_hook",
		[]string{"bash", "--noprofile", "--norc", "-i", "-c"},
		`HOOK; cd DIR; for i in {1..40}; do FN; done; for r in {1..ROUNDS}; do
			s=${EPOCHREALTIME/[.,]/}; for ((i = 0; i < N; i++)); do FN; done; e=${EPOCHREALTIME/[.,]/}; echo "time $((e - s))"; done`,
	},
	{
		"zsh", `eval "$(TOOL hook zsh)"`, "_direnv_hook",
		[]string{"zsh", "-f", "-i", "-c"},
		`zmodload zsh/datetime; HOOK; cd DIR; for i in {1..40}; do FN; done; for r in {1..ROUNDS}; do
			s=$EPOCHREALTIME; for ((i = 0; i < N; i++)); do FN; done; e=$EPOCHREALTIME; printf 'time %d\n' $(((e - s) * 1000000)); done`,
	},
	{
		"fish", "TOOL hook fish | source", "__direnv_export_eval",
		[]string{"fish", "--no-config", "-i", "-c"},
		`HOOK; cd DIR; for i in (seq 40); FN; end; set turns (seq N); for r in (seq ROUNDS)
			set s (date +%s%N); for i in $turns; FN; end; set e (date +%s%N); echo time (math "($e - $s) / 1000"); end`,
	},
}

// promptTimes times an unchanged prompt: the hook's own function in a loop, by the shell's clock.
func (b *bench) promptTimes(sh promptShell, tool, dir string) (s series) {
	fn, n := sh.direnv, 200
	if tool == "inner" {
		fn, n = "__inner_prompt", 2000 // so that reading the clock, a fork in fish, does not count
	}
	script := strings.NewReplacer("HOOK", strings.ReplaceAll(sh.hook, "TOOL", tool), "FN", fn, "DIR", dir, "ROUNDS", strconv.Itoa(b.rounds),
		"N;", strconv.Itoa(n)+";", "seq N", "seq "+strconv.Itoa(n)).Replace(sh.loop)
	out := b.output(b.home, append(sh.start, script)...)
	for line := range strings.Lines(out) {
		if v, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "time "); ok {
			s = append(s, value(strconv.ParseFloat(v, 64))/1e6/float64(n))
		}
	}
	if len(s) != b.rounds {
		fail("%s, %s: %d figures:\n%s", tool, sh.name, len(s), out)
	}
	return s
}

// prompts times unchanged prompts with and without a project.
func (b *bench) prompts() {
	us := func(s series) string { return fmt.Sprintf("%.1f µs", median(s)*1e6) }
	for _, sh := range promptShells {
		for i, dir := range []string{b.empty, b.app} {
			ours, theirs := b.promptTimes(sh, "inner", dir), b.promptTimes(sh, "direnv", dir)
			b.add(row{
				"unchanged prompt, " + sh.name + ", " + []string{"no project", "project"}[i], us(ours),
				"direnv's hook, " + us(theirs), "1/" + strings.TrimSuffix(times(theirs.over(ours)), "×"), "≤ 1/100",
			})
		}
	}
}

// regenerate times the shim folder with 50 more projects, each claiming a name.
func (b *bench) regenerate() {
	for i := range 50 {
		text := fmt.Sprintf("schema_version = \"1\"\n[entrypoint]\ncmd = \"tool-%d\"\n", i)
		b.allowed(filepath.Join(b.home, "p", fmt.Sprint(i)), map[string]string{"tool": text})
	}
	regenerate := []string{b.inner, "shim", "regenerate"}
	same := b.turns(40, b.plain, b.empty, regenerate)
	fresh := b.turns(40, b.plain, b.empty, []string{"sh", "-c", "rm -rf -- \"$0\"; exec \"$@\"", b.shims(), b.inner, "shim", "regenerate"})
	b.add(row{fmt.Sprintf("`inner shim regenerate`, 50 projects, %d names, nothing to do", len(value(os.ReadDir(b.shims())))), same[0].ms(), "", "", "≤ 10 ms"},
		row{"the same from an empty folder, with rm(1)", fresh[0].ms(), "", "", "≤ 10 ms"})
}
