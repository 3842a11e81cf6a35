package main

// The lines of start-up files that inner init writes, each once: a file is added to, and
// nothing in it is changed.

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/hooks"
	"github.com/enr/inner/hooks/quote"
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
	if f.login {
		return a.initLogin()
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

// initLogin puts the shim folder first on PATH for login shells and, where the desktop
// reads that file, for what it starts.
func (a *app) initLogin() error {
	file := a.Home + "/.profile"
	line := fmt.Sprintf("PATH=%s:$PATH", quote.POSIX(a.ShimDir()))
	a.warnBashLogin()
	switch data, err := os.ReadFile(file); {
	case err == nil && slices.Contains(strings.Split(string(data), "\n"), line):
		a.Say("%s puts the shim folder first already", a.Short(file))
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := usershell.Add(file, "# inner: sandboxes commands also where no shell has a prompt", line); err != nil {
		return err
	}
	a.Say("added to %s: %s", a.Short(file), line)
	a.sayLogin()
	return nil
}

// warnBashLogin says when a login bash does not come to ~/.profile.
func (a *app) warnBashLogin() {
	if name, reads := a.startup().BashLogin(".profile"); usershell.Login() == "bash" && name != "" && name != ".profile" && !reads {
		a.Warn("a login bash reads ~/%s, which does not read ~/.profile", name)
		a.Hint("echo '. ~/.profile' >> ~/%s", name)
	}
}

// sayLogin says what the line in ~/.profile costs, and what does not read it.
func (a *app) sayLogin() {
	a.Say("each call of a command that has a shim takes some milliseconds more, and scripts are refused, too, in a project that is not allowed")
	a.Say("it is read by login shells and by most desktops, at the next login; not for `ssh host command`, nor by cron")
	switch usershell.Login() {
	case "fish": // it reads the hook without a prompt, too
	case "zsh":
		a.Hint("for zsh, also for ssh: put the same line into %s/.zshenv", a.Short(a.startup().Folder("zsh")))
	default:
		a.Hint("for ssh: put the same line at the top of ~/.bashrc")
	}
	a.Hint("for cron: put it at the top of the script that cron runs, or PATH=%s:/usr/bin:/bin into the crontab", a.ShimDir())
}

// yesUnlessNo asks a question to which Enter says yes.
func (a *app) yesUnlessNo(question string) bool {
	text, ok := a.answer(question + " [Y/n] ")
	return ok && (text == "" || isYes(text))
}
