package gitconfig

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/lazy"
)

// Use is what git does with the value of a setting.
type Use int

// The uses of a value. An alias is none of them: it runs when somebody types it.
const (
	Plain    Use = iota
	Program      // it is run: a command line for the shell, a path, or a name on PATH
	Folder       // programs in that folder are run (hooks), or copied to where they will be (templates)
	Settings     // it is a file of settings or attributes, which git obeys
)

// UseOf says what git does with a setting's value.
//
// Source: git-config(1) of git 2.39 to 2.54 and the manuals of its tools.
func UseOf(e Entry) Use {
	section, _, name := e.Parts()
	value := strings.TrimSpace(e.Value)
	switch section + "." + name { // whatever stands between them
	case "include.path", "includeif.path", "core.attributesfile":
		return Settings
	case "core.hookspath", "init.templatedir", "instaweb.modulepath":
		return Folder
	}
	switch {
	case value == "" || section == "alias" || Harmless(e, func(string) bool { return true }):
		return Plain
	case runs(e), section == "pager", name == "path", name == "smtpserver" && filepath.IsAbs(value):
		return Program
	}
	return Plain
}

// Places returns the absolute paths that a setting names, whether anything is there or
// not. top is the folder in which git runs what it names: the top of the work tree. Of a
// command line these are all the words that could be a file, maxPlaces at most, and more than
// a shell would find: the caller keeps boxes from writing them, and runs none.
func Places(e Entry, top, home string) []string {
	value := strings.TrimSpace(e.Value)
	switch use := UseOf(e); {
	case value == "" || use == Plain:
		return nil
	case Includes(e.Key):
		return []string{Pathname(value, filepath.Dir(e.File), home)}
	case use == Program:
		return CommandPlaces(value, top, home)
	}
	return []string{Pathname(value, top, home)}
}

// maxPlaces bounds what one command line names.
const maxPlaces = 64

// substitution is what a shell puts something else for.
var substitution = lazy.Regexp("\\$\\([^()]*\\)|`[^`]*`|\\$\\{[^{}]*\\}|\\$\\w+")

// CommandPlaces returns the absolute paths of the words of a command line that could be files,
// as Places does. It is run in the folder top. What a shell substitutes is taken for that folder, or for the home:
// $TOP/tools/x, $(git rev-parse --show-toplevel)/tools/x.
func CommandPlaces(line, top, home string) []string {
	var out []string
	add := func(p string) {
		if p = Pathname(p, top, home); p != filepath.Clean(top) && !slices.Contains(out, p) && len(out) < maxPlaces {
			out = append(out, p)
		}
	}
	if filepath.IsAbs(line) {
		add(line) // a path may have spaces
	}
	within := ""
	if strings.ContainsAny(line, "$`") {
		line = substitution().ReplaceAllStringFunc(line, func(s string) string {
			if strings.Trim(s, "${}") == "HOME" {
				return "~"
			}
			within += ";" + strings.TrimLeft(s, "$")
			return "./"
		})
	}
	line = strings.ReplaceAll(strings.ReplaceAll(line+within, `"`, ""), "'", "")
	before := ""
	for _, word := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\n;|&(){}<>`$=,!:", r) }) {
		if strings.HasPrefix(word, "-") {
			if !strings.Contains(word, "/") {
				continue
			}
			word = word[min(2, len(word)):] // -f./tools/x
		}
		file := strings.Contains(word, "/") || strings.Contains(strings.Trim(word, "."), ".")
		if !strings.HasPrefix(word, "//") && (file || slices.Contains(interpreters(), filepath.Base(before))) { // else the rest of an address
			add(word)
		}
		before = word
	}
	return out
}

// interpreters returns the programs that run the file named by their first argument.
func interpreters() []string {
	return []string{
		"sh", "bash", "dash", "zsh", "ksh", "fish", "python", "python2", "python3", "node", "nodejs",
		"deno", "bun", "ruby", "perl", "php", "lua", "Rscript", "osascript", "source", "exec", "env",
	}
}
