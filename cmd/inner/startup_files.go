package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/enr/inner/hooks"
	"github.com/enr/inner/hooks/quote"
	"golang.org/x/sys/unix"
)

// The line that loads the hook, and the start-up files it is looked for in. The line
// names inner by its absolute path: where it is read, PATH may not be what it is at
// the prompt. On Debian a login shell reads ~/.bashrc before ~/.profile adds
// ~/.local/bin.

// commandPath is inner under a name that lasts: as it was called, or as PATH finds
// it. The copy behind the shims is none, for it follows the installed one.
func (a *app) commandPath() string {
	self, err := os.Executable()
	if err != nil {
		return "inner"
	}
	var names []string
	if strings.Contains(os.Args[0], "/") {
		if abs, err := filepath.Abs(os.Args[0]); err == nil {
			names = append(names, abs)
		}
	}
	if found, err := exec.LookPath("inner"); err == nil && filepath.IsAbs(found) {
		names = append(names, found)
	}
	for _, name := range append(names, self) {
		if !sameFile(name, a.Folder().Binary()) {
			return name
		}
	}
	return self
}

// hookLine is the line that loads the hook of a shell, and the file of the user's
// that it belongs in.
func (a *app) hookLine(shell string) (rc, line string) {
	command := a.commandPath()
	switch shell {
	case "zsh":
		return a.startupFolder("zsh") + "/.zshrc", fmt.Sprintf(`eval "$(%s hook zsh)"`, quote.Zsh(command))
	case "fish":
		return a.startupFolder("fish") + "/config.fish", fmt.Sprintf("%s hook fish | source", quote.Fish(command))
	}
	return a.Home + "/.bashrc", fmt.Sprintf(`eval "$(%s hook bash)"`, quote.Bash(command))
}

// loginShell is the name of the user's shell.
func loginShell() string {
	shell := os.Getenv("SHELL")
	if shell == "" {
		if u, err := user.Current(); err == nil {
			data, _ := os.ReadFile("/etc/passwd")
			for line := range strings.Lines(string(data)) {
				if f := strings.Split(strings.TrimSpace(line), ":"); len(f) == 7 && f[0] == u.Username {
					shell = f[6]
				}
			}
		}
	}
	return filepath.Base(shell)
}

// startupFolder is where the files of zsh and fish are.
func (a *app) startupFolder(shell string) string {
	if shell == "zsh" {
		return cmp.Or(os.Getenv("ZDOTDIR"), a.Home)
	}
	return cmp.Or(os.Getenv("XDG_CONFIG_HOME"), a.Home+"/.config") + "/fish"
}

// startupNames are the files a shell with a prompt may read, before what those name.
func (a *app) startupNames(shell string) []string {
	glob := func(list []string, pattern string) []string {
		more, _ := filepath.Glob(pattern)
		return append(list, more...)
	}
	switch shell {
	case "zsh":
		var list []string
		for _, dir := range slices.Compact([]string{a.startupFolder("zsh"), a.Home}) {
			for _, name := range []string{".zshrc", ".zlogin", ".zprofile", ".zshenv"} {
				list = append(list, dir+"/"+name)
			}
		}
		return append(list, "/etc/zsh/zshrc", "/etc/zshrc", "/etc/zsh/zshenv", "/etc/zshenv")
	case "fish":
		dir := a.startupFolder("fish")
		return append(glob([]string{dir + "/config.fish"}, dir+"/conf.d/*.fish"), "/etc/fish/config.fish")
	}
	list := []string{a.Home + "/.bashrc", a.Home + "/.bash_profile", a.Home + "/.bash_login", a.Home + "/.profile", a.Home + "/.bash_aliases"}
	return append(glob(list, a.Home+"/.bashrc.d/*"), "/etc/bash.bashrc", "/etc/bashrc", "/etc/profile")
}

// startupLine is one line of a start-up file.
type startupLine struct {
	file string
	line int
	text string
}

var (
	sourceLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:^|[;&|]|\bthen|\bdo|\band)\s*(?:\.|source)\s+["']?([^\s"';&|]+)`)
	})
	hookCall = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`([^\s("'` + "`" + `;|&]*inner)['"]?\s+hook\s+(bash|zsh|fish)\b`)
	})
)

// startupLines are the lines of a shell's start-up files, and of the files that they
// read by a plain name; comments are left out. It is a search, not a shell.
func (a *app) startupLines(shell string) []startupLine {
	var out []startupLine
	next := a.startupNames(shell)
	seen := map[string]bool{}
	for len(next) > 0 && len(seen) < 100 {
		file := next[0]
		next = next[1:]
		fi, err := os.Stat(file)
		if seen[file] || err != nil || !fi.Mode().IsRegular() || fi.Size() > 1<<20 {
			continue
		}
		seen[file] = true
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		n := 0
		for line := range bytes.Lines(data) {
			n++
			text := strings.TrimSpace(string(line))
			if text == "" || text[0] == '#' {
				continue
			}
			out = append(out, startupLine{file, n, text})
			for _, m := range sourceLine().FindAllStringSubmatch(text, -1) {
				name := strings.NewReplacer("${HOME}", a.Home, "$HOME", a.Home, "${ZDOTDIR}", a.startupFolder("zsh"), "$ZDOTDIR", a.startupFolder("zsh")).Replace(m[1])
				if name = expandHome(name, a.Home); filepath.IsAbs(name) {
					next = append(next, filepath.Clean(name))
				}
			}
		}
	}
	return out
}

// loadedHook is the line of the start-up files that loads the hook, and what is the
// matter with it: a text and something to type.
type loadedHook struct {
	startupLine
	problem, fix string
}

// findHook looks for the hook in a shell's start-up files; nil when it is in none.
func (a *app) findHook(shell string) *loadedHook {
	if !slices.Contains(hooks.Shells(), shell) {
		shell = "bash"
	}
	for _, l := range a.startupLines(shell) {
		m := hookCall().FindStringSubmatch(l.text)
		if m == nil || m[2] != shell {
			continue
		}
		h := &loadedHook{startupLine: l}
		program := expandHome(strings.NewReplacer("${HOME}", a.Home, "$HOME", a.Home).Replace(m[1]), a.Home)
		_, line := a.hookLine(shell)
		replace := fmt.Sprintf("sed -i --follow-symlinks %s %s", quote.POSIX(fmt.Sprintf("%dc\\%s", l.line, line)), quote.POSIX(l.file))
		switch {
		case program == "inner" && !onSystemPath("inner"):
			h.problem = "calls inner by its name, which a login shell (tmux, ssh) may not find yet when it reads that"
			h.fix = replace
		case filepath.IsAbs(program) && unix.Access(program, unix.X_OK) != nil:
			h.problem = fmt.Sprintf("calls %s, which cannot be run", program)
			h.fix = replace
		}
		return h
	}
	return nil
}

// onSystemPath reports whether a program is found whatever a user adds to PATH.
func onSystemPath(name string) bool {
	for _, dir := range []string{"/usr/local/bin", "/usr/bin", "/bin"} {
		if unix.Access(filepath.Join(dir, name), unix.X_OK) == nil {
			return true
		}
	}
	return false
}

// loginGap is what keeps a login bash from the hook in ~/.bashrc, and what to type.
// Other shells read the file of the hook in every shell with a prompt.
func (a *app) loginGap(shell string, h *loadedHook) (problem, fix string) {
	if shell != "bash" || h == nil || h.file != a.Home+"/.bashrc" {
		return "", ""
	}
	const fixed = `echo '[ -z "$BASH_VERSION" ] || . ~/.bashrc' >> ~/`
	switch name, reads := a.bashLogin("bashrc"); {
	case reads:
		return "", ""
	case name == "":
		return "a login shell (tmux, ssh) reads no file that reads ~/.bashrc", fixed + ".profile"
	default:
		return fmt.Sprintf("a login shell (tmux, ssh) reads ~/%s, which does not read ~/.bashrc", name), fixed + name
	}
}

// bashLogin is the one file of the home that a login bash reads, and whether a line of it
// names another file.
func (a *app) bashLogin(other string) (name string, reads bool) {
	for _, name := range []string{".bash_profile", ".bash_login", ".profile"} {
		data, err := os.ReadFile(filepath.Join(a.Home, name))
		if err != nil {
			continue
		}
		for line := range bytes.Lines(data) {
			if text := bytes.TrimSpace(line); !bytes.HasPrefix(text, []byte("#")) && bytes.Contains(text, []byte(other)) {
				return name, true
			}
		}
		return name, false
	}
	return "", false
}

// printHookLine says what to put where, for the user's shell, as make install does.
func (a *app) printHookLine() {
	shell := loginShell()
	if !slices.Contains(hooks.Shells(), shell) {
		fmt.Fprintf(a.stdout, "there is a hook for bash, zsh and fish; the one for bash:\n")
		shell = "bash"
	}
	rc, line := a.hookLine(shell)
	if h := a.findHook(shell); h != nil && h.problem == "" {
		fmt.Fprintf(a.stdout, "line %d of %s loads the hook\n", h.line, printable(a.Short(h.file)))
		return
	} else if h != nil {
		fmt.Fprintf(a.stdout, "line %d of %s %s; make it this one:\n  %s\n", h.line, printable(a.Short(h.file)), printable(h.problem), printable(line))
		return
	}
	fmt.Fprintf(a.stdout, "put this line last in %s:\n  %s\n", printable(a.Short(rc)), printable(line))
}
