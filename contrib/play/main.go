// Command play runs a program in a pseudo-terminal and follows steps (package
// terminal), so that a dialogue can be shown where there is no terminal:
//
//	play STEPS-FILE COMMAND [ARG...]
//
// It prints what the terminal shows, without escape sequences. The exit code is
// 0 only when every step came true.
package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/enr/inner/contrib/terminal"
)

func main() {
	if err := play(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "\ninner: play: %v\n", err)
		os.Exit(1)
	}
}

func play(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("usage: play STEPS-FILE COMMAND [ARG...]")
	}
	steps, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	t, err := terminal.Start(exec.Command(args[1], args[2:]...))
	if err != nil {
		return err
	}
	defer t.Close()
	err = t.Follow(string(steps), os.Getenv)
	if _, werr := io.WriteString(os.Stdout, t.Text()); err == nil {
		err = werr
	}
	return err
}
