package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/term"

	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/isolator/caller"
)

// A text that is longer than the terminal goes through the user's pager.

// fits reports whether a text and the question below it fit the terminal, if there is
// one.
func (a *app) fits(text string) bool {
	f, ok := tell.FileOf(a.Err)
	if !ok || !caller.IsTerminal(f) || !caller.IsTerminal(a.In) {
		return true
	}
	width, height, err := term.GetSize(int(f.Fd()))
	return err != nil || rows(text, width)+1 <= height
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

// printConsent writes the text, through a pager when it is longer than the terminal.
func (a *app) printConsent(detail, danger string) {
	if !a.fits(detail+danger) && a.page(detail+danger) {
		fmt.Fprint(a.Err, danger)
		return
	}
	fmt.Fprint(a.Err, detail, danger)
}

// rows is how many rows of a terminal a text takes.
func rows(text string, width int) int {
	n := 0
	for line := range strings.Lines(text) {
		n += 1 + max(0, len([]rune(strings.TrimSuffix(line, "\n")))-1)/max(1, width)
	}
	return n
}

// page shows a text in the user's pager, and reports whether it did.
func (a *app) page(text string) bool {
	cmd := a.pager(strings.NewReader(text), os.Stderr)
	if cmd == nil {
		return false
	}
	cmd.Env = append(os.Environ(), "LESSCHARSET=utf-8", "LESS=R", "LESSSECURE=1")
	return a.interrupts.runInFront(cmd) == nil
}

// paged shows what write writes in the user's pager when standard output is a terminal, and
// otherwise prints it.
func (a *app) paged(write func(io.Writer) error) error {
	out, ok := tell.FileOf(a.Out)
	if !ok || !caller.IsTerminal(out) {
		return write(a.Out)
	}
	var text bytes.Buffer
	cmd := a.pager(&text, out)
	if cmd == nil {
		return write(a.Out)
	}
	if err := write(&text); err != nil {
		return err
	}
	cmd.Env = append([]string{"LESSCHARSET=utf-8"}, os.Environ()...) // which the text is, whatever the locale
	if os.Getenv("LESS") == "" {
		cmd.Env = append(cmd.Env, "LESS=FRX") // as git has it: end at once when it fits, and keep colours and the text
	}
	return a.interrupts.runInFront(cmd)
}

// pager is the user's pager, $PAGER or else less, to show text on out; nil when there is none,
// or it is cat. Its program lies in an absolute folder: one in the project is not started.
func (a *app) pager(text io.Reader, out *os.File) *exec.Cmd {
	words := strings.Fields(cmp.Or(os.Getenv("PAGER"), "less"))
	if len(words) == 0 || words[0] == "cat" {
		return nil
	}
	program := words[0]
	if !filepath.IsAbs(program) {
		var err error
		if program, err = a.FindReal(program, os.Getenv("PATH")); err != nil || !filepath.IsAbs(program) {
			return nil
		}
	}
	cmd := exec.Command(program, words[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = text, out, os.Stderr
	return cmd
}
