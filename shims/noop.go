package shims

import (
	_ "embed" // noop.sh
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/profile"
)

// Script is one file of the noop folder: executable, and called like the command it
// stands in front of.
type Script struct {
	Name string
	Text []byte
}

// NoopScripts writes the scripts for [noop] of the named profile. They belong in the
// folder dir of the box, first on its PATH and read-only. Each blocked call adds its
// rule, as a line, to the file record of the box; see Blocked.
//
// A rule is a command and, after blanks, the arguments a call must begin with:
// "pip install" blocks "pip install x" and lets "pip list" through. A blocked call
// prints one line, and the text of [noop] message for that rule when there is one, and
// exits 1. With several rules that fit, the longest gives the text.
//
// A rewritten call runs the words of the replacement and the rest of its arguments.
// Rules that block the replacement hold for it too. Replacements apply once: the
// program is looked up past the noop folder, so two commands may point at each other.
//
// Everything else runs the next program of that name on PATH.
//
// It is a guardrail against habits, not a wall: a program called by its absolute path
// walks round it, unless the script is bound over the program, too (mode = "hard").
// The scripts start no process, touch no variable outside __inner_,
// and need /bin/sh only; whoever reads them in the box sees why a call was blocked.
func NoopScripts(n profile.Noop, profileName, dir, record string) []Script {
	rules := noopRules(slices.Clone(n.Rules))
	// With several rules that fit, the longest counts.
	slices.SortStableFunc(rules, func(a, b profile.NoopRule) int { return len(b.Words) - len(a.Words) })
	var scripts []Script
	for _, command := range n.Commands() {
		scripts = append(scripts, Script{command, rules.script(command, profileName, dir, record)})
	}
	return scripts
}

type noopRules []profile.NoopRule

func (rules noopRules) script(command, profileName, dir, record string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, noopHead, command, profileName, quote.POSIX(dir))
	rules.blocks(&b, command, profileName, record, "")
	fmt.Fprintf(&b, "__inner_name=%s\n", quote.POSIX(command))
	word := "if"
	for _, rule := range rules {
		if rule.Target == nil || rule.Words[0] != command {
			continue
		}
		fmt.Fprintf(&b, "%s %s; then\n", word, fits(rule.Words))
		word = "elif"
		if n := len(rule.Words) - 1; n > 0 {
			fmt.Fprintf(&b, "\tshift %d\n", n)
		}
		rules.replace(&b, rule.Target, profileName, record)
	}
	if word != "if" {
		b.WriteString("fi\n")
	}
	b.WriteString("\n" + noopTail)
	return []byte(b.String())
}

// replace writes the call of what a rule has in the place of a command.
func (rules noopRules) replace(b *strings.Builder, words []string, profileName, record string) {
	target, rest := words[0], words[1:]
	if len(rest) > 0 {
		b.WriteString("\tset --")
		for _, w := range rest {
			b.WriteString(" " + quote.POSIX(w))
		}
		b.WriteString(" \"$@\"\n")
	}
	switch {
	case path.IsAbs(target):
		fmt.Fprintf(b, "\texec %s \"$@\"\n", quote.POSIX(target))
	case strings.Contains(target, "/"):
		fmt.Fprintf(b, "\texec %s \"$@\"\n", quote.POSIX("./"+target))
	default:
		rules.blocks(b, target, profileName, record, "\t")
		fmt.Fprintf(b, "\t__inner_name=%s\n", quote.POSIX(target))
	}
}

// blocks writes the rules that block a command, longest first.
func (rules noopRules) blocks(b *strings.Builder, command, profileName, record, indent string) {
	for _, rule := range rules {
		if rule.Target != nil || rule.Words[0] != command {
			continue
		}
		fmt.Fprintf(b, "%sif %s; then\n", indent, fits(rule.Words))
		line := fmt.Sprintf("inner: %q is blocked by profile %q", rule.String(), profileName)
		fmt.Fprintf(b, "%s\tprintf '%%s\\n' %s", indent, quote.POSIX(line))
		if rule.Message != "" {
			b.WriteString(" " + quote.POSIX("inner: "+visible.Line(rule.Message)))
		}
		b.WriteString(" >&2\n")
		if record != "" {
			// A record that cannot be written changes nothing for the caller.
			fmt.Fprintf(b, "%s\t{ printf '%%s\\n' %s >>%s; } 2>/dev/null\n", indent, quote.POSIX(rule.String()), quote.POSIX(record))
		}
		fmt.Fprintf(b, "%s\texit 1\n%sfi\n", indent, indent)
	}
}

// fits is the condition that a call begins with the words of a rule. With three
// arguments test takes none of them for an operator but "=" (POSIX, test, OPERANDS).
func fits(words []string) string {
	if len(words) == 1 {
		return ":"
	}
	var b strings.Builder
	fmt.Fprintf(&b, `[ "$#" -ge %d ]`, len(words)-1)
	for i, w := range words[1:] {
		fmt.Fprintf(&b, ` && [ "${%d}" = %s ]`, i+1, quote.POSIX(w))
	}
	return b.String()
}

// noopHead begins every script. The interpreter is absolute: one found through PATH
// could be a shim.
const noopHead = `#!/bin/sh
# Written by inner for one run: %q under [noop] of profile %q.
__inner_noop=%s
`

//go:embed noop.sh
var noopTail string
