package profile

import (
	"errors"
	"fmt"
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

func (v *validator) blocked(key string, p strict.Item) {
	v.rule(key, strict.Item{Key: strings.TrimPrefix(p.Text, "-"), At: p.At})
}

func (v *validator) rewritten(key string, p strict.Item) {
	v.rule(key, p)
	v.Judge(p.At, key, checkTarget(p.Text))
}

// rule checks the words that a rule is called by.
func (v *validator) rule(key string, p strict.Item) {
	list := words(p.Key)
	if len(list) == 0 {
		v.Add(p.At, key, "a command name is empty", "")
		return
	}
	err := checkWord(list[0])
	if err == nil && control(strings.Join(list, "")) {
		err = fmt.Errorf("%q contains a control character", p.Key)
	}
	v.Judge(p.At, key, err)
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
	for _, it := range []struct {
		key  string
		most int
	}{{"mounts", maxMounts}, {"env.set", maxEntries}, {"noop.block", maxEntries}, {"noop.rewrite", maxEntries}} {
		if is := s.Value(it.key); len(is.Items) > it.most {
			v.Add(is.At, it.key, fmt.Sprintf("%d entries along extends, more than %d", len(is.Items), it.most), "")
		}
	}
	v.noopTogether(s, file)
	return v.Problems
}

// writtenRule is a rule and where it stands.
type writtenRule struct {
	NoopRule
	at  strict.Pos
	key string
}

// rules are the entries of block and rewrite, read into words. A validated profile has
// none without a word.
func (s *source) rules() []writtenRule {
	var out []writtenRule
	for _, it := range s.Value("noop.block").Items {
		out = append(out, writtenRule{NoopRule{Words: words(it.Text)}, it.At, "noop.block"})
	}
	for _, e := range s.Value("noop.rewrite").Items {
		out = append(out, writtenRule{NoopRule{Words: words(e.Key), Target: words(e.Text)}, e.At, strict.Join("noop", "rewrite", e.Key)})
	}
	return out
}

// noopTogether says which rules of block, rewrite and message do not go together.
func (v *validator) noopTogether(s *source, file string) {
	written := s.rules()
	whole := map[string]strict.Pos{} // commands blocked whatever their arguments
	rules := map[string]bool{}
	for _, r := range written {
		if r.blocks() && len(r.Words) == 1 {
			whole[r.Words[0]] = r.at
		}
	}
	for _, r := range written {
		at, blocked := whole[r.Words[0]]
		switch {
		case r.blocks():
		case blocked:
			v.Add(r.at, r.key, fmt.Sprintf("%q is blocked too (%s)", r.Words[0], place(at, r.at)), "")
		case rules[r.String()]:
			v.Add(r.at, r.key, fmt.Sprintf("%q is blocked too", r.String()), "")
		}
		if len(r.Target) > 0 {
			if at, blocked := whole[r.Target[0]]; blocked {
				v.Add(r.at, r.key, fmt.Sprintf("the replacement %q is blocked (%s)", r.Target[0], place(at, r.at)), "")
			}
		}
		rules[r.String()] = true
	}
	for _, e := range s.Value("noop.message").Items {
		if e.At.File == file && !rules[rule(e.Key)] {
			v.Add(e.At, strict.Join("noop", "message", e.Key), "no rule of that name is in block or rewrite", "")
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

// noopOf is [noop] as it is enforced: each rule once, with its message. Messages whose
// rule a child took out are dropped.
func noopOf(s *source) Noop {
	var out Noop
	messages := map[string]string{}
	for _, e := range s.Value("noop.message").Items {
		messages[rule(e.Key)] = e.Text
	}
	seen := map[string]bool{"": true}
	for _, r := range s.rules() {
		name := r.String()
		if seen[name] || !r.blocks() && len(r.Target) == 0 {
			continue
		}
		seen[name] = true
		r.Message = messages[name]
		out.Rules = append(out.Rules, r.NoopRule)
	}
	return out
}

// Commands are the commands that rules begin with, in order, each once.
func (n Noop) Commands() []string {
	var out []string
	for _, r := range n.Rules {
		if !slices.Contains(out, r.Words[0]) {
			out = append(out, r.Words[0])
		}
	}
	return out
}

// Blocked are the rules that block calls.
func (n Noop) Blocked() []string { return eachOf(keep(n.Rules, NoopRule.blocks), NoopRule.String) }

// Rewritten are the rules that make calls into others, each with what it becomes.
func (n Noop) Rewritten() []string {
	rewrites := keep(n.Rules, func(r NoopRule) bool { return !r.blocks() })
	return eachOf(rewrites, func(r NoopRule) string { return r.String() + " → " + strings.Join(r.Target, " ") })
}

// blocks reports whether the rule blocks calls, and does not rewrite them.
func (r NoopRule) blocks() bool { return r.Target == nil }
