package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/enr/inner/internal/tell"
	"github.com/enr/inner/isolator/caller"
	"golang.org/x/term"
)

// A text that is longer than the terminal goes through the user's pager.

// fits reports whether a text and the question below it fit the terminal, if there is
// one.
func (a *app) fits(text string) bool {
	f, ok := tell.FileOf(a.stderr)
	if !ok || !caller.IsTerminal(f) || !caller.IsTerminal(a.stdin) {
		return true
	}
	width, height, err := term.GetSize(int(f.Fd()))
	return err != nil || rows(text, width)+1 <= height
}

// printConsent writes the text, through a pager when it is longer than the terminal.
func (a *app) printConsent(detail, danger string) {
	if !a.fits(detail+danger) && a.page(detail+danger) {
		fmt.Fprint(a.stderr, danger)
		return
	}
	fmt.Fprint(a.stderr, detail, danger)
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
	words := strings.Fields(cmp.Or(os.Getenv("PAGER"), "less"))
	if len(words) == 0 || words[0] == "cat" {
		return false
	}
	program, err := a.pager(words[0])
	if err != nil {
		return false
	}
	cmd := exec.Command(program, words[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text), os.Stderr, os.Stderr
	cmd.Env = append(os.Environ(), "LESS=R", "LESSSECURE=1")
	return cmd.Run() == nil
}
