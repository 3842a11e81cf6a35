package main

// Questions that are put on the terminal, and programs that have it for a while.

import (
	"context"
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

// interrupts makes ^C, and the end of the terminal, the answer that a question did not get: the
// command undoes what it has made, as after a no, and then ends by that signal.
type interrupts struct {
	pending chan os.Signal
	got     os.Signal
}

// hold keeps signals from ending this process until release: a question that follows, or is open,
// gets them.
func (i *interrupts) hold() (release func()) {
	if i.pending != nil {
		return func() {}
	}
	i.pending = make(chan os.Signal, 1)
	signal.Notify(i.pending, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP)
	return func() {
		signal.Stop(i.pending)
		i.take()
		i.pending = nil
	}
}

// context ends when a signal comes; the process ends by it after the command.
func (i *interrupts) context() (ctx context.Context, end func()) {
	release := i.hold()
	ctx, cancel := context.WithCancel(context.Background())
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		select {
		case i.got = <-i.pending:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel()
		<-looked
		release()
	}
}

// take reports whether a signal has come.
func (i *interrupts) take() bool {
	select {
	case i.got = <-i.pending:
	default:
	}
	return i.got != nil
}

// endAs ends the process by the signal that a question got, if one did: a shell that runs a
// script ends it when a program died by ^C, and not when one has an exit code.
func (i *interrupts) endAs() {
	s, ok := i.got.(syscall.Signal)
	if !ok {
		return
	}
	signal.Reset(s)
	_ = syscall.Kill(os.Getpid(), s)
	os.Exit(128 + int(s))
}

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

// printConsent writes what is asked about, with what is dangerous next to the question.
func (a *app) printConsent(detail, danger string) { fmt.Fprint(a.Err, detail, danger) }

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

// answer reads one line from the terminal, and not a byte of the next. It reports false when
// there is none: the input has ended, or a signal came.
func (a *app) answer(prompt string) (text string, ok bool) {
	defer a.interrupts.hold()()
	if a.interrupts.take() {
		return "", false
	}
	fmt.Fprint(a.Err, prompt)
	lines := make(chan string, 1)
	go func() { // it stays behind when a signal comes: no question follows that one
		defer close(lines)
		var line []byte
		for b := make([]byte, 1); ; {
			if n, err := a.In.Read(b); err != nil || n == 0 {
				return
			}
			if b[0] == '\n' {
				lines <- string(line)
				return
			}
			line = append(line, b[0])
		}
	}()
	select {
	case a.interrupts.got = <-a.interrupts.pending:
	case text, ok = <-lines:
	}
	if !ok {
		fmt.Fprintln(a.Err)
	}
	return strings.TrimSpace(text), ok
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
