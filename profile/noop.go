package profile

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/enr/inner/profile/strict"
)

// CheckCommand reports why a word may not be claimed by a profile, or nil: a
// few names inner itself depends on or that change who one is, and whatever is
// not the name of a command.
func CheckCommand(name string) error {
	if err := checkWord(name); err != nil {
		return err
	}
	switch name {
	case "inner", "bwrap", "sudo", "su", "doas", "login", "env":
		return fmt.Errorf("command %q may not be claimed", name)
	}
	return nil
}

// checkWord reports why a word cannot be the name of a command.
func checkWord(name string) error {
	switch {
	case name == "":
		return errors.New("a command name is empty")
	case strings.Contains(name, "/"):
		return fmt.Errorf("command %q contains a slash", name)
	case control(name):
		return fmt.Errorf("command %q contains a control character", name)
	case name[0] == '-':
		return fmt.Errorf("command %q begins with a dash", name)
	case name == "." || name == "..":
		return fmt.Errorf("%q is not a command", name)
	case len(name) > 255:
		return fmt.Errorf("command %q is longer than a file name can be", name[:40]+"…")
	}
	return nil
}

// words splits a rule of [noop]; only blanks separate.
func words(rule string) []string {
	return strings.FieldsFunc(rule, func(r rune) bool { return r == ' ' || r == '\t' })
}

// rule is the one spelling of a rule by which rules are compared.
func rule(text string) string { return strings.Join(words(text), " ") }

func (v *validator) noop(n *noopTable) {
	v.oneOf(n.Mode, "noop.mode", noopModes())
	for _, it := range n.Block.Items {
		v.rule(it.At, "noop.block", strings.TrimPrefix(it.Text, "-"))
	}
	for _, e := range n.Rewrite.Entries {
		key := strict.Join("noop", "rewrite", e.Key)
		if v.removal(e.At, key, e.Key, e.Value) {
			continue
		}
		v.rule(e.At, key, e.Key)
		if err := checkTarget(e.Value); err != nil {
			v.add(e.At, key, err.Error(), "")
		}
	}
	for _, e := range n.Message.Entries {
		if v.removal(e.At, strict.Join("noop", "message", e.Key), e.Key, e.Value) {
			continue
		}
		v.rule(e.At, strict.Join("noop", "message", e.Key), e.Key)
	}
}

func (v *validator) rule(at strict.Pos, key, text string) {
	list := words(text)
	if len(list) == 0 {
		v.add(at, key, "a command name is empty", "")
		return
	}
	err := checkWord(list[0])
	if err == nil && control(strings.Join(list, "")) {
		err = fmt.Errorf("%q contains a control character", text)
	}
	if err != nil {
		v.add(at, key, err.Error(), "")
	}
}

// checkTarget checks what a rewritten command becomes: words without any shell
// in them, the first a bare name or an absolute path.
func checkTarget(text string) error {
	list := words(text)
	switch {
	case len(list) == 0:
		return errors.New("the replacement is empty")
	case control(strings.Join(list, "")):
		return fmt.Errorf("the replacement %q contains a control character", text)
	case strings.ContainsAny(text, "|&;<>()$`\\\"'*?[]#!{}~"):
		return fmt.Errorf("the replacement %q must be plain words: it is not run by a shell", text)
	case strings.HasPrefix(list[0], "/"):
		return nil
	case strings.Contains(list[0], "/"):
		return fmt.Errorf("the replacement %q is neither a bare name nor an absolute path", list[0])
	}
	if err := checkWord(list[0]); err != nil {
		return fmt.Errorf("the replacement: %w", err)
	}
	return nil
}

// contradictions returns what is wrong with a merged profile although each file
// is right. A message without a rule is reported only for the file named: a
// child may have taken out the rule of a message it inherits.
func contradictions(s *source, file string) []strict.Problem {
	var v validator
	if n := len(s.Mounts.Entries); n > maxMounts {
		v.add(s.Mounts.At, "mounts", fmt.Sprintf("%d entries along extends, more than %d", n, maxMounts), "")
	}
	for _, it := range []struct {
		at  strict.Pos
		key string
		n   int
	}{
		{s.Env.Set.At, "env.set", len(s.Env.Set.Entries)},
		{s.Noop.Block.At, "noop.block", len(s.Noop.Block.Items)},
		{s.Noop.Rewrite.At, "noop.rewrite", len(s.Noop.Rewrite.Entries)},
	} {
		if it.n > maxEntries {
			v.add(it.at, it.key, fmt.Sprintf("%d entries along extends, more than %d", it.n, maxEntries), "")
		}
	}
	whole := map[string]strict.Pos{} // commands blocked whatever their arguments
	rules := map[string]bool{}
	v.hard(&s.Noop)
	for _, it := range s.Noop.Block.Items {
		r := rule(it.Text)
		rules[r] = true
		if !strings.Contains(r, " ") {
			whole[r] = it.At
		}
	}
	for _, e := range s.Noop.Rewrite.Entries {
		key, list := strict.Join("noop", "rewrite", e.Key), words(e.Key)
		if at, ok := whole[list[0]]; ok {
			v.add(e.At, key, fmt.Sprintf("%q is blocked too (%s)", list[0], place(at, e.At)), "")
		} else if rules[rule(e.Key)] {
			v.add(e.At, key, fmt.Sprintf("%q is blocked too", rule(e.Key)), "")
		}
		if target := words(e.Value); len(target) > 0 {
			if at, ok := whole[target[0]]; ok {
				v.add(e.At, key, fmt.Sprintf("the replacement %q is blocked (%s)", target[0], place(at, e.At)), "")
			}
		}
		rules[rule(e.Key)] = true
	}
	for _, e := range s.Noop.Message.Entries {
		if e.At.File == file && !rules[rule(e.Key)] {
			v.add(e.At, strict.Join("noop", "message", e.Key), "no rule of that name is in block or rewrite", "")
		}
	}
	return v.problems
}

// hard returns what cannot be enforced with mode = "hard", where the program
// itself is covered: nothing that needs it for other calls.
func (v *validator) hard(n *noopTable) {
	if n.Mode.V != "hard" {
		return
	}
	covered := map[string]bool{}
	check := func(at strict.Pos, key, text string) {
		list := words(text)
		covered[list[0]] = true
		if len(list) > 1 {
			v.add(at, key, fmt.Sprintf("%q cannot be enforced with mode = \"hard\": %q must stay there for its other calls", rule(text), list[0]), fmt.Sprintf("name %q alone, or use mode = \"path\"", list[0]))
		}
	}
	for _, it := range n.Block.Items {
		check(it.At, "noop.block", it.Text)
	}
	for _, e := range n.Rewrite.Entries {
		check(e.At, strict.Join("noop", "rewrite", e.Key), e.Key)
	}
	for _, e := range n.Rewrite.Entries {
		target := words(e.Value)
		blocked := len(target) > 0 && slices.Contains(n.Block.Texts(), target[0]) // which is said already
		if len(target) > 0 && covered[path.Base(target[0])] && !blocked {
			v.add(e.At, strict.Join("noop", "rewrite", e.Key), fmt.Sprintf("the replacement %q is covered itself with mode = \"hard\"", target[0]), "use mode = \"path\"")
		}
	}
}

// place names a line, and its file when that is another one.
func place(at, from strict.Pos) string {
	if at.File == from.File {
		return fmt.Sprintf("line %d", at.Line)
	}
	return fmt.Sprintf("%s:%d", at.File, at.Line)
}

// noopOf is [noop] as it is enforced. Messages whose rule a child took out are
// dropped.
func noopOf(n *noopTable) Noop {
	out := Noop{Mode: or(n.Mode, "path"), Block: n.Block.Texts(), Rewrite: pairs(n.Rewrite)}
	rules := map[string]bool{}
	for _, b := range out.Block {
		rules[rule(b)] = true
	}
	for _, r := range out.Rewrite {
		rules[rule(r.Key)] = true
	}
	out.Message = slices.DeleteFunc(pairs(n.Message), func(m KV) bool { return !rules[rule(m.Key)] })
	return out
}

func pairs(t strict.Table[string]) []KV {
	var out []KV
	for _, e := range t.Entries {
		out = append(out, KV{e.Key, e.Value})
	}
	return out
}

// NoopRule is one entry of block or rewrite, in words.
type NoopRule struct {
	Words   []string // the command, and the arguments a call must begin with
	Target  []string // the words that a rewritten call begins with instead; nil: it is blocked
	Message string
}

// String is the one spelling of a rule.
func (r NoopRule) String() string { return strings.Join(r.Words, " ") }

// Rules are the entries of block and rewrite, each once. A profile that was loaded
// has none that contradict each other, or that are no names of commands.
func (n Noop) Rules() []NoopRule {
	messages := map[string]string{}
	for _, m := range n.Message {
		messages[rule(m.Key)] = m.Value
	}
	var out []NoopRule
	seen := map[string]bool{"": true}
	add := func(text string, target []string) {
		if name := rule(text); !seen[name] {
			seen[name] = true
			out = append(out, NoopRule{words(text), target, messages[name]})
		}
	}
	for _, b := range n.Block {
		add(b, nil)
	}
	for _, r := range n.Rewrite {
		if target := words(r.Value); len(target) > 0 {
			add(r.Key, target)
		}
	}
	return out
}

// Commands are the commands that rules begin with, in order, each once.
func (n Noop) Commands() []string {
	var out []string
	for _, r := range n.Rules() {
		if !slices.Contains(out, r.Words[0]) {
			out = append(out, r.Words[0])
		}
	}
	return out
}

// Replacements are the programs that calls are rewritten to, by the command.
func (n Noop) Replacements() []KV {
	var out []KV
	for _, r := range n.Rules() {
		if r.Target != nil {
			out = append(out, KV{r.Words[0], r.Target[0]})
		}
	}
	return out
}
