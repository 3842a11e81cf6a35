package config

import (
	"slices"
	"strings"

	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/strict"
)

// Commands is [commands]: another profile for some commands.
//
//	[commands]
//	"npm install" = "install"
//	only = false
//
// Who matches gets more than others, so a command is taken for what it says only where it
// can be nothing else: its words begin with those of an entry, the first one is a bare name,
// and no flag makes it about the whole computer.
type Commands struct {
	Profiles []profile.KV // words of a command, and its profile
	Only     bool         // any other command is refused
}

// only is the key of [commands] that is no command.
const only = "only"

func commands(t strict.Value) *Commands {
	if !t.Set {
		return nil
	}
	c := &Commands{}
	for _, e := range t.Items {
		if e.Key == only {
			c.Only = e.Text == "true"
			continue
		}
		c.Profiles = append(c.Profiles, profile.KV{Key: strings.Join(strings.Fields(e.Key), " "), Value: e.Text})
	}
	return c
}

func checkCommands(t strict.Value, problems *strict.Problems) {
	checkCount(t.At, "commands", len(t.Items), problems)
	for _, e := range t.Items {
		key := strict.Join("commands", e.Key)
		words, simple := Simple(e.Key)
		switch {
		case e.Key == only:
			if e.Text != "true" && e.Text != "false" {
				problems.Add(e.At, key, "wants true or false", "")
			}
		case !simple || strings.Contains(words[0], "/"):
			problems.Add(e.At, key, "is not a command and its first arguments, in plain words", `write it like "npm install"`)
		default:
			problems.Judge(e.At, key, profile.CheckName(e.Text))
		}
	}
}

// For returns the profile of a command, "" where the table has none for it. Of two entries
// that fit, the longer one counts.
func (c *Commands) For(argv []string) string {
	best, name := 0, ""
	for _, kv := range c.Profiles {
		words := strings.Split(kv.Key, " ")
		if len(words) > best && len(argv) >= len(words) && slices.Equal(argv[:len(words)], words) && !slices.ContainsFunc(argv[len(words):], global) {
			best, name = len(words), kv.Value
		}
	}
	return name
}

// global reports whether an argument may be about more than the folder: -g, --global and
// --location=global, as package managers shorten and combine them.
func global(arg string) bool {
	long, isLong := strings.CutPrefix(arg, "--")
	if isLong {
		long, _, _ = strings.Cut(strings.ToLower(long), "=")
		return strings.HasPrefix(long, "g") || strings.HasPrefix(long, "no-g") || long != "" && strings.HasPrefix("location", long)
	}
	return strings.HasPrefix(arg, "-") && strings.ContainsAny(arg, "gG")
}

// Simple reads a command line that is plain words, which mean the same to any shell: no quotes,
// expansion, redirection or assignment.
func Simple(line string) (words []string, ok bool) {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+,= "
	words = strings.Fields(line)
	odd := strings.ContainsFunc(line, func(r rune) bool { return !strings.ContainsRune(plain, r) })
	expanded := slices.ContainsFunc(words, func(word string) bool { return word[0] == '=' }) // by zsh, to the path of a command
	if len(words) == 0 || odd || expanded || strings.Contains(words[0], "=") {
		return nil, false
	}
	return words, true
}
