package hooks

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/enr/inner/profile/config"
)

// A Shadow is something in a running shell that the shell takes before it looks at
// PATH, under the name of a command that has a shim. Only the shell knows it: the
// hook collects those of the names in Update.Names with builtins, and asks about them
// with three more arguments each (kind, name, text).
type Shadow struct {
	Kind string // alias, global alias, suffix alias, function, abbreviation
	Name string
	Text string // the value of an alias, the text of a function
}

// ShellVar is the variable that tells inner, started from a shell, what goes around
// its shims there. The hook exports it only while there is something to tell:
//
//	PID KIND:NAME...
//
// with blanks in a kind as underscores. Children inherit it; it counts only for a
// process started by that very shell.
const ShellVar = "__INNER_SHELL"

// Around reports whether the shadow goes around the shim, as far as its text tells. It
// does not when it calls the plain name, by itself or behind words that look commands up
// on PATH, and nothing of that name by its path. Text that is not understood counts as
// going around.
func (s Shadow) Around() bool {
	start, hops := true, false // at the start of a command; behind words that pass it on
	reached := false
	for _, w := range wordsOf(s.Text) {
		switch {
		case w == ";":
			start, hops = true, false
		case strings.Contains(w, "/") && path.Base(w) == s.Name && w[0] != '-': // fish: function x --wraps=/y/x
			return true
		case !start || strings.HasPrefix(w, "-") && hops || isAssignment(w):
		case w == s.Name:
			// A function that calls its own name calls itself.
			reached = reached || hops || s.Kind != "function"
			start, hops = false, false
		default:
			hops = passesOn(w)
			start = hops
		}
	}
	return !reached
}

// passesOn reports whether a word runs the command behind it as PATH finds it.
func passesOn(word string) bool {
	switch word {
	case "command", "exec", "env", "nohup", "nice", "time", "noglob", "nocorrect", "stdbuf", "setsid", "ionice", "then", "do", "else", "if", "while", "until", "!", "and", "or", "not", "begin", "{":
		return true
	}
	return false
}

func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && !strings.ContainsAny(name, "/$-.")
}

// wordsOf splits text as shells do, roughly: quotes are taken off, and whatever ends a command is ";".
// Text whose quotes are not closed has none.
func wordsOf(text string) []string {
	var pairs []string
	for _, end := range []string{";", "&", "|", "(", ")", "`", "\n"} {
		pairs = append(pairs, end, "\n; ") // the line break ends a comment
	}
	list, _ := config.Words(strings.NewReplacer(pairs...).Replace(text))
	return list
}

// Cure is what to type against a shadow in the named shell.
func (s Shadow) Cure(shell string) string {
	sh, err := lookup(shell)
	if err != nil {
		return ""
	}
	name := sh.quote(s.Name)
	switch {
	case s.Kind == "suffix alias":
		return "unalias -s " + sh.quote(strings.TrimPrefix(path.Ext(s.Name), "."))
	case s.Kind == "abbreviation":
		return "abbr --erase " + name
	case s.Kind == "function" && shell == "fish":
		return "functions --erase " + name
	case s.Kind == "function":
		return "unset -f " + name
	case s.Kind == "global alias": // without quotes it would be replaced here, too
		return "unalias '" + s.Name + "'"
	}
	return "unalias " + name
}

// Say is the one line about a shadow.
func (s Shadow) Say(shell string) string {
	what := s.What()
	if s.Kind != "function" {
		text := s.Text
		if len(text) > 60 {
			text = text[:60] + "…"
		}
		what = fmt.Sprintf("%s for %q", what, text)
	}
	return fmt.Sprintf("inner: warning: %q is %s in this shell, so it runs outside the sandbox; type `%s`, and take it out of your start-up file", s.Name, what, s.Cure(shell))
}

// What is the kind with its article.
func (s Shadow) What() string {
	if strings.HasPrefix(s.Kind, "a") {
		return "an " + s.Kind
	}
	return "a " + s.Kind
}

// ShellValue is the value of ShellVar for a list of shadows, without the process.
func ShellValue(list []Shadow) string {
	var words []string
	for _, s := range list {
		words = append(words, strings.ReplaceAll(s.Kind, " ", "_")+":"+s.Name)
	}
	return strings.Join(words, " ")
}

// ParseShellValue reads ShellVar, and returns 0 and nil for text that it does not understand.
func ParseShellValue(value string) (pid int, list []Shadow) {
	words := strings.Fields(value)
	if len(words) < 2 {
		return 0, nil
	}
	pid, err := strconv.Atoi(words[0])
	if err != nil || pid < 2 {
		return 0, nil
	}
	for _, w := range words[1:] {
		if kind, name, ok := strings.Cut(w, ":"); ok {
			list = append(list, Shadow{Kind: strings.ReplaceAll(kind, "_", " "), Name: name})
		}
	}
	return pid, list
}

// IsWatchable reports whether a name can be looked for in a shell without quoting.
func IsWatchable(name string) bool {
	return name != "" && len(name) < 64 && strings.Trim(name, wordBytes+"-.+") == "" && strings.IndexByte(wordBytes, name[0]) >= 0
}

const wordBytes = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// maxNames is how many names a shell looks for at each prompt.
const maxNames = 32
