// Package gitconfig reads settings of git without starting it, and makes those of a box of them: without
// what a box must not have, and with what the profile overrides. It also says of any setting what git
// would run for it (UseOf, Places, Harmless).
//
// It promises that no stripped section comes back through an include, because includes are followed here and none is
// written; that sub-sections, repeated keys and keys without a value arrive as they are; and that git
// reads back exactly what was written.
//
//	list, files, err := sources.User()
//	r := gitconfig.Clean(list, gitconfig.Policy{Strip: []string{"url"}})
//	text := gitconfig.File("Written by inner.", r.File)
//
// All includes are followed. Which of those with a condition hold, git says, for one folder: a box that works
// in several repositories has the settings of the one it was started in.
package gitconfig

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Entry is one setting, as git reports it.
type Entry struct {
	Key   string // section.name or section.subsection.name; section and name in lower case
	Value string
	Bare  bool   // written without "=", which git takes for true
	File  string // where it is written, "" when it is in no file
}

// Parts splits the key: the first dot ends the section, the last begins the name.
func (e Entry) Parts() (section, sub, name string) {
	first, last := strings.IndexByte(e.Key, '.'), strings.LastIndexByte(e.Key, '.')
	if first < 0 {
		return e.Key, "", ""
	}
	if first < last {
		sub = e.Key[first+1 : last]
	}
	return e.Key[:first], sub, e.Key[last+1:]
}

// Last returns the last setting of a key, which is the one that counts when git uses one value.
func Last(list []Entry, key string) (e Entry, set bool) {
	for _, e := range slices.Backward(list) {
		if e.Key == key {
			return e, true
		}
	}
	return e, false
}

// True reports whether git takes the value for true.
func True(e Entry) bool {
	return e.Bare || slices.Contains([]string{"true", "yes", "on", "1"}, strings.ToLower(e.Value))
}

// Canonical returns a key as git reports it, with section and name in lower case. The rules are
// those of git_config_parse_key in config.c. The error completes a sentence about the key; it
// is also one for includes, which are never written.
func Canonical(key string) (string, error) {
	section, sub, name := Entry{Key: key}.Parts()
	switch {
	case section == "" || name == "":
		return "", errors.New("is not a git key")
	case strings.Trim(section, letters+digits+"-") != "":
		return "", fmt.Errorf("%q is not the name of a section", section)
	case strings.Trim(name, letters+digits+"-") != "" || strings.Trim(name[:1], letters) != "":
		return "", fmt.Errorf("%q is not the name of a setting", name)
	case strings.ContainsAny(sub, "\n\x00"):
		return "", errors.New("a sub-section has no line end in it")
	}
	if head := strings.ToLower(section); head == "include" || head == "includeif" {
		return "", errors.New("includes are resolved before, and never written")
	}
	return folded(key), nil
}

const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits  = "0123456789"
)

// folded returns a key with section and name in lower case.
func folded(key string) string {
	first, last := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.')
	if first < 0 {
		return key
	}
	return strings.ToLower(key[:first]) + key[first:last] + strings.ToLower(key[last:])
}

// File returns settings as a file of git's format, under a comment of one line, about. Settings
// that the format cannot hold, and includes, are left out.
func File(about string, list []Entry) []byte {
	subsection := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	// In quotes git keeps every byte but a carriage return before a line end, and those are escaped here
	// (config.c, parse_value).
	value := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	var b strings.Builder
	b.WriteString("# " + about + "\n")
	head := ""
	for _, e := range list {
		if key, err := Canonical(e.Key); err != nil || key != e.Key || strings.ContainsRune(e.Value, 0) {
			continue
		}
		section, sub, name := e.Parts()
		h := "[" + section + "]\n"
		if strings.Count(e.Key, ".") > 1 {
			h = "[" + section + " \"" + subsection.Replace(sub) + "\"]\n"
		}
		if h != head {
			head = h
			b.WriteString(h)
		}
		b.WriteString("\t" + name)
		if !e.Bare {
			b.WriteString(" = \"" + value.Replace(e.Value) + "\"")
		}
		b.WriteString("\n")
	}
	return []byte(b.String())
}
