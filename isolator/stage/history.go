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
// interactive bash gets nothing. bash loads HISTFILE after its rc file.
func (r *Run) History(e profile.Entrypoint) (sh Shell, err error) {
	fix, prompt := e.CursorFix == "shell", promptless(e.Args)
	// bash takes a start-up file of ours only when it is no login shell and
	// shows a prompt at once; else the environment has to do.
	ownFile := prompt && !slices.Contains(e.Args, "-l") && !slices.Contains(e.Args, "--login")
	if filepath.Base(e.Cmd) != "bash" {
		return sh, nil
	}
	if fix && !ownFile {
		sh.Env = []profile.KV{{Key: "BASH_FUNC___inner_cursor%%", Value: "() " + cursorFunction}}
		sh.Prompt = "__inner_cursor"
	}
	switch {
	case ownFile && (fix || len(e.History) > 0):
		sh.Args = []string{"--rcfile", paths.BoxShell + "/bashrc", "-i"}
		sh.Bind, err = r.shellFile("bashrc", bashrc(e.History, fix))
	case prompt && len(e.History) > 0:
		sh.Env = append(sh.Env, profile.KV{Key: "HISTFILE", Value: paths.BoxShell + "/history"})
		lines := ""
		for _, h := range e.History {
			lines += strings.ReplaceAll(h, "\n", " ") + "\n"
		}
		sh.Bind, err = r.shellFile("history", lines)
	}
	return sh, err
}

// Shells is the folder of a run that the box's shell may write.
const Shells = "shell"

// shellFile writes the file of a shell and says where the box has it.
func (r *Run) shellFile(name, text string) (*plan.Bind, error) {
	dir, err := r.Dir(Shells)
	if err == nil {
		_, err = r.File(filepath.Join(Shells, name), []byte(text), 0o600)
	}
	return &plan.Bind{Host: dir, Box: paths.BoxShell, Write: true, Reason: "shell history of the profile"}, err
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
