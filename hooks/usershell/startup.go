package usershell

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/hooks"
	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/lazy"
)

// Files are the start-up files of a person's shells, and the line in them that loads the
// hook. The line names inner by its absolute path: where it is read, PATH may not be what it
// is at the prompt. On Debian a login shell reads ~/.bashrc before ~/.profile adds
// ~/.local/bin.
type Files struct {
	Home    string
	Command string // inner, by a path that lasts
}

// HookLine is the line that loads the hook of a shell, by the name of its program, and the
// file of the user's that it belongs in.
func (f Files) HookLine(shell string) (rc, line string) {
	names, line := f.start(shell)
	return names[0], line
}

// start is how a shell with a prompt starts: the files that it may read, before what those name, the one that the hook
// belongs in first, and the line that loads it.
func (f Files) start(shell string) (names []string, line string) {
	dir := f.Folder(shell)
	switch ShellOf(shell) {
	case "zsh":
		for _, d := range slices.Compact([]string{dir, f.Home}) {
			names = append(names, d+"/.zshrc", d+"/.zlogin", d+"/.zprofile", d+"/.zshenv")
		}
		names = append(names, "/etc/zsh/zshrc", "/etc/zshrc", "/etc/zsh/zshenv", "/etc/zshenv")
		return names, fmt.Sprintf(`eval "$(%s hook zsh)"`, quote.Zsh(f.Command))
	case "fish":
		names = append(glob([]string{dir + "/config.fish"}, dir+"/conf.d/*.fish"), "/etc/fish/config.fish")
		return names, fmt.Sprintf("%s hook fish | source", quote.Fish(f.Command))
	case "elvish":
		return []string{dir + "/rc.elv"}, fmt.Sprintf("eval (%s hook elvish | slurp)",
			f.word(quote.Elvish, "(external %s)"))
	case "nu":
		// nu evaluates no text. It reads the files of this folder after config.nu.
		names = glob([]string{dir + "/config.nu", dir + "/env.nu", dir + "/login.nu"}, dir+"/autoload/*.nu")
		return names, fmt.Sprintf("mkdir ($nu.data-dir)/vendor/autoload; "+
			"%s hook nu | save -f ($nu.data-dir)/vendor/autoload/inner.nu", f.word(quote.Nu, "^%s"))
	case "tcsh":
		names = []string{f.tcshrc(), f.Home + "/.login", "/etc/csh.cshrc", "/etc/csh.login"}
		return names, fmt.Sprintf("if ($?tcsh) eval \"`%s hook tcsh`\"", f.word(quote.Tcsh, "%s"))
	case "sh":
		own := map[string]string{"ksh": "/.kshrc", "ksh93": "/.kshrc", "mksh": "/.mkshrc"}[shell]
		names = []string{cmp.Or(f.expand(os.Getenv("ENV")), f.Home+cmp.Or(own, "/.profile")), f.Home + "/.profile", "/etc/profile"}
		if shell == "sh" { // any of them
			names = append(names, f.Home+"/.kshrc", f.Home+"/.mkshrc")
		}
		return names, fmt.Sprintf(`eval "$(%s hook sh)"`, quote.POSIX(f.Command))
	}
	names = []string{f.Home + "/.bashrc", f.Home + "/.bash_profile", f.Home + "/.bash_login", f.Home + "/.profile", f.Home + "/.bash_aliases"}
	names = append(glob(names, f.Home+"/.bashrc.d/*"), "/etc/bash.bashrc", "/etc/bashrc", "/etc/profile")
	return names, fmt.Sprintf(`eval "$(%s hook bash)"`, quote.Bash(f.Command))
}

func glob(list []string, pattern string) []string {
	more, _ := filepath.Glob(pattern)
	return append(list, more...)
}

// SavedForNu is the file that the line of nu writes.
func (f Files) SavedForNu() string {
	return cmp.Or(os.Getenv("XDG_DATA_HOME"), f.Home+"/.local/share") + "/nushell/vendor/autoload/inner.nu"
}

// Typed is what a person types at a prompt of that shell, so that it has the hook.
func (f Files) Typed(shell string) string {
	_, line := f.HookLine(shell)
	if shell == "nu" {
		return line + "; exec nu" // which reads what was saved
	}
	return line
}

// word is inner as a word of a shell, in a form that says it is a program where it needs quotes.
func (f Files) word(quoted func(string) string, form string) string {
	if quote.POSIX(f.Command) == f.Command {
		return f.Command
	}
	return fmt.Sprintf(form, quoted(f.Command))
}

// tcshrc is the one file of the home that tcsh reads: making the first would hide the second.
func (f Files) tcshrc() string {
	for _, name := range []string{"/.tcshrc", "/.cshrc"} {
		if _, err := os.Stat(f.Home + name); err == nil {
			return f.Home + name
		}
	}
	return f.Home + "/.tcshrc"
}

// Folder is where the files of zsh, fish, elvish and nu are.
func (f Files) Folder(shell string) string {
	switch shell {
	case "zsh":
		return cmp.Or(os.Getenv("ZDOTDIR"), f.Home)
	case "nu":
		shell = "nushell"
	}
	return cmp.Or(os.Getenv("XDG_CONFIG_HOME"), f.Home+"/.config") + "/" + shell
}

// Line is one line of a start-up file.
type Line struct {
	File   string
	Number int
	Text   string
}

// LoadsHook reports whether the line loads the hook of a shell.
func (l Line) LoadsHook(shell string) bool {
	m := hookCall().FindStringSubmatch(l.Text)
	return m != nil && m[2] == shell
}

var (
	sourceLine = lazy.Regexp(`(?:^|[;&|]|\bthen|\bdo|\band)\s*(?:\.|source)\s+["']?([^\s"';&|]+)`)
	hookCall   = lazy.Regexp(`([^\s("'` + "`" + `;|&]*inner)['"]?\s+hook\s+(` + strings.Join(hooks.Shells(), "|") + `)\b`)
)

// Lines are the lines of a shell's start-up files, and of the files that they
// read by a plain name; comments are left out. It is a search, not a shell.
func (f Files) Lines(shell string) []Line {
	var out []Line
	next, _ := f.start(shell)
	seen := map[string]bool{}
	for len(next) > 0 && len(seen) < 100 {
		file := next[0]
		next = next[1:]
		if seen[file] {
			continue
		}
		seen[file] = true
		for _, l := range linesOf(file) {
			out = append(out, l)
			for _, m := range sourceLine().FindAllStringSubmatch(l.Text, -1) {
				if name := f.expand(m[1]); filepath.IsAbs(name) {
					next = append(next, filepath.Clean(name))
				}
			}
		}
	}
	return out
}

// linesOf are the lines of one file that do something; none of one that cannot be read.
func linesOf(file string) (list []Line) {
	fi, err := os.Stat(file)
	if err != nil || !fi.Mode().IsRegular() || fi.Size() > 1<<20 {
		return nil
	}
	data, _ := os.ReadFile(file)
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if text := strings.TrimSpace(string(line)); text != "" && text[0] != '#' {
			list = append(list, Line{file, n, text})
		}
	}
	return list
}

// expand replaces what a shell would in the plain name of a file.
func (f Files) expand(name string) string {
	name = strings.NewReplacer("${HOME}", f.Home, "$HOME", f.Home, "${ZDOTDIR}", f.Folder("zsh"), "$ZDOTDIR", f.Folder("zsh")).Replace(name)
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		return filepath.Join(f.Home, rest)
	}
	return name
}

// Hook is the line of the start-up files that loads the hook, and what is the
// matter with it: a text and something to type.
type Hook struct {
	Line
	Problem, Fix string
}

// FindHook looks for the hook in a shell's start-up files; nil when it is in none.
func (f Files) FindHook(shell string) *Hook {
	kind := cmp.Or(ShellOf(shell), "bash")
	for _, l := range f.Lines(shell) {
		if !l.LoadsHook(kind) {
			continue
		}
		h := &Hook{Line: l}
		program := f.expand(hookCall().FindStringSubmatch(l.Text)[1])
		_, line := f.HookLine(kind)
		replace := fmt.Sprintf("sed -i --follow-symlinks %s %s", quote.POSIX(fmt.Sprintf("%dc\\%s", l.Number, line)), quote.POSIX(l.File))
		switch {
		case program == "inner" && !onSystemPath("inner"):
			h.Problem = "calls inner by its name, which a login shell (tmux, ssh) may not find yet when it reads that"
			h.Fix = replace
		case filepath.IsAbs(program) && unix.Access(program, unix.X_OK) != nil:
			h.Problem = fmt.Sprintf("calls %s, which cannot be run", program)
			h.Fix = replace
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

// LoginGap is what keeps a login bash from the hook in ~/.bashrc, and what to type.
// Other shells read the file of the hook in every shell with a prompt.
func (f Files) LoginGap(shell string, h *Hook) (problem, fix string) {
	if shell != "bash" || h == nil || h.File != f.Home+"/.bashrc" {
		return "", ""
	}
	const fixed = `echo '[ -z "$BASH_VERSION" ] || . ~/.bashrc' >> ~/`
	switch name, reads := f.bashLogin(); {
	case reads:
		return "", ""
	case name == "":
		return "a login shell (tmux, ssh) reads no file that reads ~/.bashrc", fixed + ".profile"
	default:
		return fmt.Sprintf("a login shell (tmux, ssh) reads ~/%s, which does not read ~/.bashrc", name), fixed + name
	}
}

// bashLogin is the one file of the home that a login bash reads, and whether a line of it
// names ~/.bashrc.
func (f Files) bashLogin() (name string, reads bool) {
	for _, name := range []string{".bash_profile", ".bash_login", ".profile"} {
		data, err := os.ReadFile(filepath.Join(f.Home, name))
		if err != nil {
			continue
		}
		for line := range bytes.Lines(data) {
			if text := bytes.TrimSpace(line); !bytes.HasPrefix(text, []byte("#")) && bytes.Contains(text, []byte("bashrc")) {
				return name, true
			}
		}
		return name, false
	}
	return "", false
}

// Add adds a line with a comment at the end of a file of the person's, through a link that
// it may be, and makes the file where there is none. Nothing in it is changed.
func Add(file, comment, line string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	text := comment + "\n" + line + "\n"
	if data, err := os.ReadFile(file); err == nil && len(data) > 0 {
		if !bytes.HasSuffix(data, []byte("\n")) {
			text = "\n" + text
		}
		text = "\n" + text
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// Without is the text of a file without what Add adds, and whether just that was in it.
func Without(text, comment, line string) (rest string, found bool) {
	before, after, found := strings.Cut("\n"+text, "\n"+comment+"\n"+line+"\n")
	if before = strings.TrimPrefix(before, "\n"); before != "" && !strings.HasSuffix(before, "\n") {
		before += "\n"
	}
	return before + after, found
}
