package shims

import (
	_ "embed" // noop.sh
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/enr/inner/hooks/quote"
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
func NoopScripts(n profile.Noop, profileName, dir, record string) ([]Script, error) {
	rules, err := parseNoop(n)
	if err != nil {
		return nil, err
	}
	var scripts []Script
	for _, command := range rules.commands {
		scripts = append(scripts, Script{command, rules.script(command, profileName, dir, record)})
	}
	return scripts, nil
}

// noopRule is one entry of block or rewrite.
type noopRule struct {
	words   []string // the command and the arguments a call must begin with
	message string
	target  []string // of a rewrite
}

type noopRules struct {
	commands []string              // in the order they first appear
	block    map[string][]noopRule // by command, longest first
	rewrite  map[string][]noopRule // likewise
}

// blanks splits a rule into words. Only blanks separate, so every other byte can be
// part of a name.
func blanks(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '\t' })
}

func parseNoop(n profile.Noop) (*noopRules, error) {
	r := &noopRules{block: map[string][]noopRule{}, rewrite: map[string][]noopRule{}}
	var errs []error
	messages := map[string]string{}
	for _, kv := range n.Message {
		messages[strings.Join(blanks(kv.Key), " ")] = kv.Value
	}
	seen := map[string]string{} // rule: the list it is in
	add := func(list, text string, rule noopRule, to map[string][]noopRule) {
		rule.words = blanks(text)
		if err := checkNoop(rule.words); err != nil {
			errs = append(errs, fmt.Errorf("noop.%s: %q: %w", list, text, err))
			return
		}
		key := strings.Join(rule.words, " ")
		switch other := seen[key]; {
		case other == list:
			return
		case other != "":
			errs = append(errs, fmt.Errorf("noop.%s: %q: is in noop.%s too", list, text, other))
			return
		}
		seen[key] = list
		rule.message = messages[key]
		delete(messages, key)
		command := rule.words[0]
		if !slices.Contains(r.commands, command) {
			r.commands = append(r.commands, command)
		}
		to[command] = append(to[command], rule)
	}
	for _, text := range n.Block {
		add("block", text, noopRule{}, r.block)
	}
	for _, kv := range n.Rewrite {
		target := blanks(kv.Value)
		switch {
		case len(target) == 0:
			errs = append(errs, fmt.Errorf("noop.rewrite: %q: the replacement is empty", kv.Key))
			continue
		case strings.ContainsRune(kv.Value, 0):
			errs = append(errs, fmt.Errorf("noop.rewrite: %q: the replacement has a NUL byte", kv.Key))
			continue
		}
		add("rewrite", kv.Key, noopRule{target: target}, r.rewrite)
	}
	for _, kv := range n.Message {
		if _, unused := messages[strings.Join(blanks(kv.Key), " ")]; unused {
			errs = append(errs, fmt.Errorf("noop.message: %q: no rule of that name", kv.Key))
		}
	}
	for command, blocks := range r.block {
		// A command that is blocked whatever its arguments has nothing to rewrite.
		whole := slices.ContainsFunc(blocks, func(b noopRule) bool { return len(b.words) == 1 })
		if whole && len(r.rewrite[command]) > 0 {
			errs = append(errs, fmt.Errorf("noop.rewrite: %q: is blocked whatever its arguments", strings.Join(r.rewrite[command][0].words, " ")))
		}
	}
	for _, m := range []map[string][]noopRule{r.block, r.rewrite} {
		for _, rules := range m {
			slices.SortStableFunc(rules, func(a, b noopRule) int { return len(b.words) - len(a.words) })
		}
	}
	return r, errors.Join(errs...)
}

// checkNoop says what keeps a rule from becoming a file of that name.
func checkNoop(words []string) error {
	switch {
	case len(words) == 0:
		return errors.New("no command")
	case strings.Contains(words[0], "/"):
		return errors.New("a command is a name, not a path")
	case words[0] == "." || words[0] == "..":
		return errors.New("not a name of a command")
	case len(words[0]) > 255:
		return errors.New("longer than a file name can be")
	}
	for _, w := range words {
		if strings.ContainsRune(w, 0) {
			return errors.New("has a NUL byte")
		}
	}
	return nil
}

func (r *noopRules) script(command, profileName, dir, record string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, noopHead, command, profileName, quote.POSIX(dir))
	r.blocks(&b, command, profileName, record, "")
	fmt.Fprintf(&b, "__inner_name=%s\n", quote.POSIX(command))
	word := "if"
	for _, rule := range r.rewrite[command] {
		fmt.Fprintf(&b, "%s %s; then\n", word, fits(rule.words))
		word = "elif"
		if n := len(rule.words) - 1; n > 0 {
			fmt.Fprintf(&b, "\tshift %d\n", n)
		}
		if rest := rule.target[1:]; len(rest) > 0 {
			b.WriteString("\tset --")
			for _, w := range rest {
				b.WriteString(" " + quote.POSIX(w))
			}
			b.WriteString(" \"$@\"\n")
		}
		target := rule.target[0]
		switch {
		case path.IsAbs(target):
			fmt.Fprintf(&b, "\texec %s \"$@\"\n", quote.POSIX(target))
		case strings.Contains(target, "/"):
			fmt.Fprintf(&b, "\texec %s \"$@\"\n", quote.POSIX("./"+target))
		default:
			r.blocks(&b, target, profileName, record, "\t")
			fmt.Fprintf(&b, "\t__inner_name=%s\n", quote.POSIX(target))
		}
	}
	if word != "if" {
		b.WriteString("fi\n")
	}
	b.WriteString("\n" + noopTail)
	return []byte(b.String())
}

// blocks writes the rules that block a command, longest first.
func (r *noopRules) blocks(b *strings.Builder, command, profileName, record, indent string) {
	for _, rule := range r.block[command] {
		fmt.Fprintf(b, "%sif %s; then\n", indent, fits(rule.words))
		line := fmt.Sprintf("inner: %q is blocked by profile %q", strings.Join(rule.words, " "), profileName)
		fmt.Fprintf(b, "%s\tprintf '%%s\\n' %s", indent, quote.POSIX(line))
		if rule.message != "" {
			b.WriteString(" " + quote.POSIX("inner: "+oneLine(rule.message)))
		}
		b.WriteString(" >&2\n")
		if record != "" {
			// A record that cannot be written changes nothing for the caller.
			fmt.Fprintf(b, "%s\t{ printf '%%s\\n' %s >>%s; } 2>/dev/null\n", indent, quote.POSIX(strings.Join(rule.words, " ")), quote.POSIX(record))
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

// oneLine keeps a message from being more than one line, or from moving the cursor.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, unicode.IsControl), " ")
}

// noopHead begins every script. The interpreter is absolute: one found through PATH
// could be a shim.
const noopHead = `#!/bin/sh
# Written by inner for one run: %q under [noop] of profile %q.
__inner_noop=%s
`

//go:embed noop.sh
var noopTail string
