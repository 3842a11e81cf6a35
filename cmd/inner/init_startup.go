package main

// The lines of start-up files that inner init writes, each once: a file is added to, and
// nothing in it is changed.

import (
	"cmp"
	"fmt"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/hooks"
	"github.com/enr/inner/hooks/usershell"
)

// initStartup writes the lines that were asked for; with ask it asks about the hook.
func (a *app) initStartup(f initFlags, ask bool) error {
	shell := cmp.Or(hooks.ShellOf(usershell.TypedIn()), "bash")
	rc, line := a.startup().HookLine(shell)
	loaded := a.startup().FindHook(shell)
	switch {
	case loaded != nil && loaded.Problem != "":
		a.Warn("line %d of %s %s", loaded.Number, a.Short(loaded.File), loaded.Problem)
		a.Hint("%s", loaded.Fix)
	case loaded != nil && f.hook:
		a.Say("line %d of %s loads the hook already", loaded.Number, a.Short(loaded.File))
	case loaded != nil:
	case !f.hook && a.hookLive() == "live":
		a.Hint("the hook is live here; a new shell has it when %s holds: %s", a.Short(rc), line)
	case f.hook, ask && a.yesUnlessNo(fmt.Sprintf("Put the hook last in %s? It is: %s", a.Short(rc), cli.Printable(line))):
		if err := a.addHook(shell, rc, line, f.hook); err != nil {
			return err
		}
	default:
		a.Hint("inner init --hook adds this to %s: %s", a.Short(rc), line)
	}
	return nil
}

// hookComment stands above the line that loads the hook.
const hookComment = "# inner: keeps the shim folder first on PATH"

// addHook adds the hook to a start-up file; told: the person has asked for just that.
func (a *app) addHook(shell, rc, line string, told bool) error {
	if err := usershell.Add(rc, hookComment, line); err != nil {
		return err
	}
	a.Say("added to %s: %s", a.Short(rc), line)
	if told && a.hookLive() != "live" {
		a.Hint("open a new shell, or type here: %s", line)
	}
	if problem, fix := a.startup().LoginGap(shell, a.startup().FindHook(shell)); problem != "" {
		a.Warn("%s", problem)
		a.Hint("%s", fix)
	}
	return nil
}

// yesUnlessNo asks a question to which Enter says yes.
func (a *app) yesUnlessNo(question string) bool {
	text, ok := a.answer(question + " [Y/n] ")
	return ok && (text == "" || isYes(text))
}
