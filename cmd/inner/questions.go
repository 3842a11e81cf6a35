package main

// Questions that are put on the terminal.

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// agreed puts a question on the terminal. What was typed before it was there is no answer.
func (a *app) agreed(question string) bool {
	_ = unix.IoctlSetInt(int(a.stdin.Fd()), unix.TCFLSH, unix.TCIFLUSH)
	switch strings.ToLower(a.answer(question + " [y/N] ")) {
	case "y", "yes":
		return true
	}
	return false
}

// answer reads one line from the terminal, and not a byte of the next.
func (a *app) answer(prompt string) string {
	fmt.Fprint(a.stderr, prompt)
	var line []byte
	for b := make([]byte, 1); ; {
		n, err := a.stdin.Read(b)
		if err != nil || n == 0 {
			if len(line) == 0 {
				fmt.Fprintln(a.stderr)
			}
			break
		}
		if b[0] == '\n' {
			break
		}
		line = append(line, b[0])
	}
	return strings.TrimSpace(string(line))
}
