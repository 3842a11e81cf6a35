package main

// Questions that are put on the terminal, and programs that have it for a while.

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/caller"
)

// runInFront runs a program that has the terminal, such as an editor. ^C there is the program's: caught
// here, and not ignored, which the program would inherit.
func runInFront(cmd *exec.Cmd) error {
	keys := make(chan os.Signal, 1)
	signal.Notify(keys, syscall.SIGINT, syscall.SIGQUIT)
	defer signal.Stop(keys)
	return cmd.Run()
}

// columns is the width of the terminal of the messages, 0 where there is none.
func (a *app) columns() int {
	f, ok := tell.FileOf(a.Err)
	if !ok {
		return 0
	}
	width, _, _ := term.GetSize(int(f.Fd())) // 0 for what is none
	return width
}

// agreed puts a question on the terminal. What was typed before it was there is no answer.
func (a *app) agreed(question string) bool {
	_ = unix.IoctlSetInt(int(a.In.Fd()), unix.TCFLSH, unix.TCIFLUSH)
	text, ok := a.answer(question + " [y/N] ")
	return ok && isYes(text)
}

// isYes reports whether an answer is a yes.
func isYes(text string) bool {
	text = strings.ToLower(text)
	return text == "y" || text == "yes"
}

// answer reads one line from the terminal, and not a byte of the next. It reports false when the input has ended. ^C
// ends this process, as it does any other: nothing that is asked about was done before.
func (a *app) answer(prompt string) (text string, ok bool) {
	signal.Ignore(syscall.SIGQUIT) // at which a Go program prints what it is doing
	defer signal.Reset(syscall.SIGQUIT)
	fmt.Fprint(a.Err, prompt)
	var line []byte
	for b := make([]byte, 1); ; line = append(line, b[0]) {
		if n, err := a.In.Read(b); err != nil || n == 0 {
			fmt.Fprintln(a.Err)
			return "", false
		}
		if b[0] == '\n' {
			return strings.TrimSpace(string(line)), true
		}
	}
}

// question is asked before something is done that cannot be undone, or that lets something
// run.
type question struct {
	text       string
	yes        bool           // it was answered on the command line
	hint       string         // what answers it without a terminal
	no         string         // what is said of a no
	noTerminal *fault.Refusal // where nobody can be asked; nil says just that, and to type the hint
}

// confirm asks a question. Without a terminal it refuses; a no ends the command.
func (a *app) confirm(q question) error {
	switch {
	case q.yes:
		return nil
	case !caller.IsTerminal(a.In):
		if q.noTerminal != nil {
			return q.noTerminal
		}
		return fault.Refuse(2, q.hint, "cannot ask for confirmation: standard input is not a terminal")
	case a.agreed(q.text):
		return nil
	}
	a.Say("%s", q.no)
	if q.noTerminal != nil {
		return cli.Exit(q.noTerminal.Code)
	}
	return cli.Exit(1)
}

// askFor confirms a change.
func (a *app) askFor(text string, yes bool, hint string) error {
	return a.confirm(question{text: text, yes: yes, hint: hint, no: "nothing was changed"})
}
