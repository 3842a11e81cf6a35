package gitconfig

import (
	"path/filepath"
	"slices"
	"strings"
)

// Use is what git does with the value of a setting.
type Use int

// The uses of a value. An alias is none of them: it runs when somebody types it.
const (
	Plain    Use = iota
	Program      // it is run: a command line for the shell, a path, or a name on PATH
	Folder       // programs in that folder are run (hooks), or copied to where they will be (templates)
	Settings     // it is a file of settings or attributes, which git obeys
	ToolFile     // the name of a tool, which git reads as a file of shell code beside its own
)

// UseOf says what git does with a setting's value.
//
// Source: git-config(1) of git 2.39 to 2.54 and the manuals of its tools; git-mergetool--lib
// for the last.
func UseOf(e Entry) Use {
	section, sub, name := e.Parts()
	value := strings.TrimSpace(e.Value)
	if e.Bare || value == "" || section == "alias" {
		return Plain
	}
	if use, known := usesByName()[section+"."+name]; known { // whatever stands between them
		return use
	}
	switch {
	case (section == "diff" || section == "merge") && sub == "" && (name == "tool" || name == "guitool"):
		return ToolFile
	case name == "fsmonitor" && boolean(e):
		return Plain
	case strings.HasPrefix(value, "!"), runsByName(name), section == "pager":
		return Program
	case name == "path" && runsByPath(section, sub), section == "sendemail" && name == "smtpserver" && filepath.IsAbs(value):
		return Program
	}
	return Plain
}

// usesByName returns the use of settings that the rules of UseOf would not tell, by section and name.
func usesByName() map[string]Use {
	return map[string]Use{
		"include.path": Settings, "includeif.path": Settings, "core.attributesfile": Settings,
		"core.hookspath": Folder, "init.templatedir": Folder, "instaweb.modulepath": Folder,
		"diff.external": Program, "interactive.difffilter": Program, "instaweb.httpd": Program, "web.browser": Program,
	}
}

// runsByPath reports whether the setting "path" of a section is a program.
func runsByPath(section, sub string) bool {
	return slices.Contains([]string{"mergetool", "difftool", "man", "browser", "guitool"}, section) || section == "lfs" && strings.HasPrefix(strings.ToLower(sub), "customtransfer")
}

// toolFolders returns where git may keep the files of tools.
func toolFolders() []string {
	return []string{"/usr/lib/git-core/mergetools", "/usr/libexec/git-core/mergetools", "/usr/local/libexec/git-core/mergetools"}
}

// interpreters returns the programs that run the file named by their first argument.
func interpreters() []string {
	return []string{"sh", "bash", "dash", "zsh", "ksh", "fish", "python", "python2", "python3", "node", "nodejs", "deno", "bun", "ruby", "perl", "php", "lua", "Rscript", "osascript", "source", ".", "exec", "env"}
}

// Places returns the absolute paths that a setting names, whether anything is there or
// not. top is the folder in which git runs what it names: the top of the work tree. Of a
// command line these are all the words that could be a file, maxPlaces at most, and more than
// a shell would find: the caller keeps boxes from writing them, and runs none.
func Places(e Entry, top, home string) []string {
	value := strings.TrimSpace(e.Value)
	switch UseOf(e) {
	case Settings:
		if Includes(e.Key) {
			return []string{Pathname(value, filepath.Dir(e.File), home)}
		}
		return []string{Pathname(value, top, home)}
	case Folder:
		return []string{Pathname(value, top, home)}
	case ToolFile:
		var out []string
		if strings.Contains(value, "/") {
			for _, dir := range toolFolders() {
				out = append(out, filepath.Join(dir, value))
			}
		}
		return out
	case Program:
		return CommandPlaces(value, top, home)
	}
	return nil
}

// maxPlaces bounds what one command line names.
const maxPlaces = 64

// CommandPlaces returns the absolute paths of the words of a command line that could be files,
// as Places does. It is run in the folder top.
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
	before := ""
	for _, w := range words(line) {
		if strings.HasPrefix(w.text, "-") {
			if !strings.Contains(w.text, "/") {
				continue
			}
			w.text = w.text[min(2, len(w.text)):] // -f./tools/x
		}
		if p := w.place(before); p != "" {
			add(p)
		}
		before = w.text
	}
	return out
}

// place returns the path that a word could be, or "". last is the word before it.
func (w word) place(last string) string {
	file := strings.Contains(w.text, "/") || strings.Contains(strings.Trim(w.text, "."), ".")
	interpreted := last != "" && slices.Contains(interpreters(), filepath.Base(last))
	if !file && !interpreted || strings.HasPrefix(w.text, "//") { // the rest of an address
		return ""
	}
	_, rest, deeper := strings.Cut(w.text, "/")
	switch {
	case !w.after || !deeper:
		return w.text
	case strings.HasPrefix(w.text, "HOME/") || last == "HOME":
		return "~/" + rest
	}
	return rest // $TOP/tools/x, or $(git rev-parse --show-toplevel)/tools/x
}

// word is a piece of a command line between characters that separate words for the shell, or are
// none of a file's name. after says that a variable or a substitution is right before it.
type word struct {
	text  string
	after bool
}

func words(line string) []word {
	var out []word
	start, after := 0, false
	flush := func(end int, next bool) {
		if end > start {
			out = append(out, word{line[start:end], after})
		}
		after = next
	}
	for i := range len(line) {
		c := line[i]
		if strings.IndexByte(" \t\n;|&(){}<>\"'`$=,!:", c) < 0 {
			continue
		}
		flush(i, c == '$' || c == ')' || c == '}' || c == '`' || after && (c == '{' || c == '(' || c == '"' && i == start))
		start = i + 1
	}
	flush(len(line), false)
	return out
}
