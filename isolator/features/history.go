package features

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

// history preloads the history of an interactive shell, and puts the
// cursor in order at its prompts.
func history() Feature {
	make := func(run *Run) error {
		if run.Facts.Terminal && run.Mode.Made() {
			offerHistory(run)
		}
		return nil
	}
	return Feature{Name: "history and prompt", Keys: []string{"entrypoint.history", "entrypoint.interactive", "entrypoint.cursor_fix"}, Make: make}
}

// offerHistory preloads the shell that the entrypoint starts with the profile's
// history, so that up-arrow recalls the last entry first, and applies
// cursor_fix = "shell". The user's start-up file still counts; the user's
// history file is neither read nor written. A program that is not an
// interactive bash gets nothing. bash loads HISTFILE after its rc file.
func offerHistory(run *Run) {
	e, s := run.Spec.Entrypoint, &run.Assets
	if filepath.Base(e.Cmd) != "bash" {
		return
	}
	fix, prompt := e.CursorFix == "shell", promptless(e.Args)
	// bash takes a start-up file of ours only when it is no login shell and
	// shows a prompt at once; else the environment has to do.
	ownFile := prompt && !slices.Contains(e.Args, "-l") && !slices.Contains(e.Args, "--login")
	file := func(name, text string, env ...profile.KV) string {
		return boxFile(run, paths.BoxShell+"/"+name, []byte(text), "shell history of the profile", env...)
	}
	if fix && !ownFile {
		s.Env = append(s.Env, profile.KV{Key: "BASH_FUNC___inner_cursor%%", Value: "() " + cursorFunction})
		promptFirst(&run.Spec.Env, s, "__inner_cursor", run.LookupEnv)
	}
	switch {
	case ownFile && (fix || len(e.History) > 0):
		s.Argv = slices.Insert(s.Argv, 1, "--rcfile", file("bashrc", bashrc(e.History, fix)), "-i")
	case prompt && len(e.History) > 0:
		lines := ""
		for _, h := range e.History {
			lines += strings.ReplaceAll(h, "\n", " ") + "\n"
		}
		file("history", lines, profile.KV{Key: "HISTFILE", Value: paths.BoxShell + "/history"})
	}
}

// promptFirst has PROMPT_COMMAND begin with word, and then do what it does in
// the box otherwise: [env] set comes before an inherited one.
func promptFirst(env *profile.Env, s *plan.Staged, word string, lookup func(string) (string, bool)) {
	const name = "PROMPT_COMMAND"
	if i := slices.IndexFunc(env.Set, func(kv profile.KV) bool { return kv.Key == name }); i >= 0 {
		env.Set = slices.Clone(env.Set) // it may be the profile's own
		env.Set[i].Value = word + "\n" + env.Set[i].Value
		return
	}
	if old, ok := lookup(name); ok && slices.Contains(env.Inherit, name) {
		word += "\n" + old
	}
	s.Env = append(s.Env, profile.KV{Key: name, Value: word})
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
		b.WriteString("unset HISTFILE\n") // what is typed in the box goes with it
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
