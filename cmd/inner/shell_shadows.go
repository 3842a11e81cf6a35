package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/enr/inner/hooks"
)

// shellShadows are the aliases and functions of the shell that started this process
// which go around the shims, as its hook tells in a variable. One that another shell
// set, further up, is not believed: aliases are not inherited.
func shellShadows() []hooks.Shadow {
	pid, list := hooks.ParseShellValue(os.Getenv(hooks.ShellVar))
	if pid == 0 || !startedBy(pid) {
		return nil
	}
	return list
}

// startedBy reports whether the shell pid started this process: as its parent, or by
// way of subshells, which are copies of it ($(inner which x), inner status | less).
func startedBy(pid int) bool {
	for at, hops := os.Getppid(), 0; at > 1 && hops < 8; hops++ {
		if at == pid {
			return true
		}
		mine, err1 := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", at))
		shell, err2 := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err1 != nil || err2 != nil || !bytes.Equal(mine, shell) {
			return false
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", at))
		if err != nil {
			return false
		}
		var state string
		rest := stat[bytes.LastIndexByte(stat, ')')+1:]
		if _, err := fmt.Sscan(string(rest), &state, &at); err != nil {
			return false
		}
	}
	return false
}

// shadowOf is what goes around the shim of that name in this shell, or nil.
func shadowOf(name string) *hooks.Shadow {
	list := shellShadows()
	if i := slices.IndexFunc(list, func(s hooks.Shadow) bool { return s.Name == name }); i >= 0 {
		return &list[i]
	}
	return nil
}

var aliasLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[;&|]|\bthen|\bdo|\band)\s*(alias|abbr|function)\s+(.*)$`)
})

// shadowFindings look for aliases and functions that go around shims: those of this
// shell, and those that start-up files make.
func (a *app) shadowFindings() []finding {
	shell := loginShell()
	var list []finding
	for _, s := range shellShadows() {
		list = append(list, warning("alias", s.Cure(a.startingShell()), "%q is %s in this shell, so it runs outside the sandbox", s.Name, s.What()))
	}
	names, err := a.Folder().List()
	if err != nil {
		return list
	}
	for _, l := range a.startupLines(shell) {
		for _, s := range definedIn(l.text, names) {
			list = append(list, warning("alias", fmt.Sprintf("take line %d out of %s", l.line, a.Short(l.file)), "line %d of %s makes %q %s that goes around the sandbox", l.line, a.Short(l.file), s.Name, s.Kind))
		}
	}
	return list
}

// definedIn are the shadows that a line of a start-up file makes, as far as one line
// tells: alias NAME=VALUE, alias NAME VALUE (fish), abbr NAME VALUE.
func definedIn(text string, names []string) []hooks.Shadow {
	m := aliasLine().FindStringSubmatch(text)
	if m == nil || m[1] == "function" {
		return nil
	}
	kind := map[string]string{"alias": "an alias", "abbr": "an abbreviation"}[m[1]]
	words := hooks.Words(m[2])
	if i := slices.Index(words, ";"); i >= 0 {
		words = words[:i]
	}
	words = slices.DeleteFunc(words, func(w string) bool { return strings.HasPrefix(w, "-") })
	var out []hooks.Shadow
	for i, w := range words {
		name, value, ok := strings.Cut(w, "=")
		if !ok && i == 0 && len(words) > 1 {
			name, value, ok = w, strings.Join(words[1:], " "), true
		}
		if !ok || !slices.Contains(names, name) {
			continue
		}
		if (hooks.Shadow{Kind: m[1], Name: name, Text: value}).Around() {
			out = append(out, hooks.Shadow{Kind: kind, Name: name, Text: value})
		}
	}
	return out
}

// typedIn is the kind of the shell that a person types this in, else the user's: they need not be
// the same. Only a shell with a prompt starts programs in a process group of their own.
func (a *app) typedIn() string {
	if group, err := syscall.Getpgid(os.Getppid()); err == nil && group != syscall.Getpgrp() {
		return a.startingShell()
	}
	return loginShell()
}

// startingShell is the kind of the shell that started this process, else the user's.
func (a *app) startingShell() string {
	if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", os.Getppid())); err == nil && slices.Contains(hooks.Shells(), filepath.Base(exe)) {
		return filepath.Base(exe)
	}
	return loginShell()
}
