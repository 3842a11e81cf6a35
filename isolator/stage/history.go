package stage

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
)

// Shell is what an interactive shell in the box needs besides its own files.
type Shell struct {
	Bind *plan.Bind // nil when nothing was staged
	Env  []profile.KV
	Args []string // in front of the profile's arguments
	// Prompt is what PROMPT_COMMAND must begin with, where no start-up file of
	// ours says so; "" for nothing.
	Prompt string
}

// History preloads the shell that the entrypoint starts with the profile's
// history, so that up-arrow recalls the last entry first, and applies
// cursor_fix = "shell". The user's start-up file still counts; the user's
// history file is neither read nor written. A program that is not an
// interactive bash, zsh or fish gets nothing.
//
// What each shell needs was measured: bash loads HISTFILE after its rc file;
// zsh takes its rc files from ZDOTDIR; fish fixes its data folder at start.
func (r *Run) History(e profile.Entrypoint, lookup func(string) (string, bool)) (Shell, error) {
	name := filepath.Base(e.Cmd)
	fix := e.CursorFix == "shell" && name == "bash"
	// bash takes a start-up file of ours only when it is no login shell and
	// shows a prompt at once; else the environment has to do.
	ownFile := promptless(e.Args) && !slices.Contains(e.Args, "-l") && !slices.Contains(e.Args, "--login")
	if fix && !ownFile {
		sh, err := r.History(profile.Entrypoint{Cmd: e.Cmd, Args: e.Args, History: e.History}, lookup)
		sh.Env = append(sh.Env, profile.KV{Key: "BASH_FUNC___inner_cursor%%", Value: "() " + cursorFunction})
		sh.Prompt = "__inner_cursor"
		return sh, err
	}
	if (len(e.History) == 0 && !fix) || !promptless(e.Args) {
		return Shell{}, nil
	}
	var sh Shell
	var files map[string]string
	switch {
	case name == "bash" && ownFile:
		sh.Args = []string{"--rcfile", paths.BoxShell + "/bashrc", "-i"}
		files = map[string]string{"bashrc": bashrc(e.History, fix)}
	case name == "bash":
		sh.Env = []profile.KV{{Key: "HISTFILE", Value: paths.BoxShell + "/history"}}
		files = map[string]string{"history": ""}
		for _, h := range e.History {
			files["history"] += strings.ReplaceAll(h, "\n", " ") + "\n"
		}
	case name == "zsh":
		orig, _ := lookup("ZDOTDIR")
		sh.Env = []profile.KV{{Key: "ZDOTDIR", Value: paths.BoxShell}, {Key: "__inner_zdotdir", Value: orig}}
		files = zshFiles()
		files["history"] = zshHistory(e.History)
	case name == "fish":
		restore := "set -e XDG_DATA_HOME"
		if data, ok := lookup("XDG_DATA_HOME"); ok {
			restore = "set -gx XDG_DATA_HOME " + quote.Fish(data)
		}
		sh.Env = []profile.KV{{Key: "XDG_DATA_HOME", Value: paths.BoxShell}}
		sh.Args = []string{"-i", "-C", restore}
		files = map[string]string{"fish/fish_history": fishHistory(e.History)}
	default:
		return Shell{}, nil
	}
	var err error
	sh.Bind, err = r.shellFiles(files)
	return sh, err
}

// Shells is the folder of a run that the box's shell may write.
const Shells = "shell"

// shellFiles writes the files of a shell and says where the box has them.
func (r *Run) shellFiles(files map[string]string) (*plan.Bind, error) {
	for name, text := range files {
		name = filepath.Join(Shells, name)
		if _, err := r.Dir(filepath.Dir(name)); err != nil {
			return nil, err
		}
		if _, err := r.File(name, []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	return &plan.Bind{Host: filepath.Join(r.Path, Shells), Box: paths.BoxShell, Write: true, Reason: "shell history of the profile"}, nil
}

// promptless reports whether a shell started with args would show a prompt:
// only options that do not name a command or a script.
func promptless(args []string) bool {
	for _, a := range args {
		switch a {
		case "-i", "-l", "--login", "--interactive":
		default:
			return false
		}
	}
	return true
}

// bashrc reads the user's own, then turns the history to the box's. Each
// entry is pushed by hand: a history file would lose multi-line entries.
func bashrc(history []string, fix bool) string {
	var b strings.Builder
	b.WriteString("[ -r ~/.bashrc ] && . ~/.bashrc\n")
	if len(history) > 0 {
		fmt.Fprintf(&b, "HISTFILE=%s/history\n", paths.BoxShell)
		// A user's short HISTSIZE would drop entries of the list.
		fmt.Fprintf(&b, "case ${HISTSIZE-x} in *[!0-9]*|'') ;; *) [ \"$HISTSIZE\" -lt %d ] && HISTSIZE=%d ;; esac\n", len(history)+500, len(history)+500)
	}
	// The shims of [noop], when there are any: --rcfile keeps what covers ~/.bashrc out.
	fmt.Fprintf(&b, "[ -r %[1]s ] && . %[1]s\n", paths.BoxStartPath)
	for _, h := range history {
		fmt.Fprintf(&b, "history -s -- %s\n", quote.POSIX(h))
	}
	if fix {
		b.WriteString("__inner_cursor() " + cursorFunction + "\n")
		// A list (bash 5.1) stays one; what is there comes after ours.
		b.WriteString("if [[ $(declare -p PROMPT_COMMAND 2>/dev/null) == 'declare -a'* ]]; then PROMPT_COMMAND=(__inner_cursor \"${PROMPT_COMMAND[@]}\"); ")
		b.WriteString("else PROMPT_COMMAND=__inner_cursor${PROMPT_COMMAND:+$'\\n'$PROMPT_COMMAND}; fi\n")
	}
	return b.String()
}

// cursorFunction goes to the beginning of the next line, unless the cursor is at
// the beginning of one, and clears what a program left below. COLUMNS blanks
// leave the cursor in the pending-wrap state of the same line or on the next
// one, so \r does the rest: no blank line before every prompt, and nothing is
// asked of the terminal that type-ahead could get into. It keeps $?. At the
// first prompt bash may not know COLUMNS: a subshell makes it look.
const cursorFunction = `{ local s=$?; [[ $COLUMNS ]] || { shopt -s checkwinsize; (:); }; printf '\033[0m\033[?25h%*s\r\033[J' "${COLUMNS:-80}" ''; return $s; }`

// zshFiles hand each start-up file over to the user's own, then set the
// history; ZDOTDIR is back to what it was when the prompt appears.
func zshFiles() map[string]string {
	pass := func(name string) string {
		return "__inner_z=$ZDOTDIR; ZDOTDIR=${__inner_zdotdir:-$HOME}\n" +
			"[[ -r $ZDOTDIR/" + name + " ]] && . $ZDOTDIR/" + name + "\n" +
			"__inner_zdotdir=$ZDOTDIR; ZDOTDIR=$__inner_z\n"
	}
	return map[string]string{
		".zshenv":   pass(".zshenv"),
		".zprofile": pass(".zprofile"),
		".zshrc": "ZDOTDIR=${__inner_zdotdir:-$HOME}\n" +
			"[[ -r $ZDOTDIR/.zshrc ]] && . $ZDOTDIR/.zshrc\n" +
			"HISTFILE=" + paths.BoxShell + "/history\n" +
			"(( HISTSIZE < 1000 )) && HISTSIZE=1000\n(( SAVEHIST < 1000 )) && SAVEHIST=1000\n" +
			"unset __inner_z __inner_zdotdir\n[[ $ZDOTDIR == $HOME ]] && unset ZDOTDIR\n",
	}
}

// zshHistory is zsh's plain history file: an embedded newline is a backslash
// and a newline, and the bytes 0x83 to 0xa2 and NUL are metafied (0x83, then
// the byte with bit 5 flipped).
func zshHistory(history []string) string {
	var b strings.Builder
	for _, h := range history {
		for i := range len(h) {
			switch c := h[i]; {
			case c == '\n':
				b.WriteString("\\\n")
			case c == 0 || (c >= 0x83 && c <= 0xa2):
				b.WriteByte(0x83)
				b.WriteByte(c ^ 0x20)
			default:
				b.WriteByte(c)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// fishHistory is fish's YAML-like file; backslash and newline are escaped.
func fishHistory(history []string) string {
	esc := strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	var b strings.Builder
	for i, h := range history {
		fmt.Fprintf(&b, "- cmd: %s\n  when: %d\n", esc.Replace(h), 1_700_000_000+i)
	}
	return b.String()
}
