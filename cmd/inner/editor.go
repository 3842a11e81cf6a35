package main

// Files a person edits: always a copy, which takes the place of the original
// when it has been judged and found in order.

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/config"
)

// draft is a text on its way into a file.
type draft struct {
	path  string // where it is to be
	text  []byte // what the editor starts with
	old   []byte // what is at path, nil when nothing is
	judge func(profile.File) error
}

// edit opens the draft in the user's editor, again and again until it is in
// order or given up. It reports whether the file was written. What was typed is
// only thrown away when the person says so.
func (a *app) edit(d draft) (written bool, err error) {
	dir, err := os.MkdirTemp("", "inner-edit.")
	if err != nil {
		return false, err
	}
	temp := filepath.Join(dir, filepath.Base(d.path))
	keep := false
	defer func() {
		if keep {
			a.Hint("your text is in %s", temp)
		} else {
			_ = os.RemoveAll(dir)
		}
	}()
	if err := os.WriteFile(temp, d.text, 0o600); err != nil {
		return false, err
	}
	for first := true; ; first = false {
		file, err := a.typed(d, temp, first)
		if err != nil || file == nil {
			return false, err
		}
		err = d.judge(profile.File{Path: d.path, Digest: file.Digest, Data: file.Data})
		if err == nil {
			err = d.save(file.Data)
			keep = err != nil
			return err == nil, err
		}
		a.Fail(err)
		asks, no := caller.IsTerminal(a.In), a.Short(d.path)+" is as it was"
		if asks {
			a.Hint("your text is in %s", temp) // where ^C leaves it
			if a.agreed("Edit again? No discards what you wrote.", no) {
				continue
			}
		}
		a.Say("%s", no)
		keep = !asks
		return false, cli.Exit(1)
	}
}

// typed has the person edit the file temp, and returns what it is then; nil when there is
// nothing to write, which it says.
func (a *app) typed(d draft, temp string, first bool) (*profile.File, error) {
	before, err := os.Stat(temp)
	if err != nil {
		return nil, err
	}
	if err := a.runEditor(temp); err != nil {
		return nil, fmt.Errorf("nothing was changed: %w", err)
	}
	// An editor that was left without writing wants no new file.
	if d.old == nil && first && untouched(temp, before) {
		a.Say("%s was not saved in the editor: nothing was written", a.Short(d.path))
		return nil, nil
	}
	file, err := profile.ReadFile(temp)
	if err != nil {
		return nil, fmt.Errorf("nothing was changed: %w", err)
	}
	if d.old != nil && bytes.Equal(file.Data, d.old) {
		a.Say("%s: nothing was changed", a.Short(d.path))
		return nil, nil
	}
	return &file, nil
}

// untouched reports whether a file was not written since.
func untouched(path string, before fs.FileInfo) bool {
	after, err := os.Stat(path)
	return err == nil && os.SameFile(before, after) && after.ModTime().Equal(before.ModTime())
}

// save puts the text where it belongs, unless somebody else has been there.
func (d draft) save(data []byte) error {
	if d.old == nil {
		return cli.CreateFile(d.path, data, 0o600)
	}
	return files.Swap(d.path, d.old, data)
}

// rewrite changes the text of the file, which nobody else changes meanwhile. What would not be valid is not written.
func (a *app) rewrite(d draft, change func(profile.File) ([]byte, error)) error {
	dir := filepath.Dir(d.path)
	unlock, err := files.LockFolder(dir)
	if err != nil {
		return fmt.Errorf("%q cannot be locked: %w", dir, err)
	}
	defer unlock()
	file, err := profile.ReadFile(d.path)
	gone := errors.Is(err, fs.ErrNotExist)
	if err != nil && !gone {
		return err
	}
	data, err := change(profile.File{Path: d.path, Data: file.Data})
	if err == nil {
		err = d.judge(profile.File{Path: d.path, Data: data})
	}
	switch {
	case err != nil:
		a.Fail(err)
		a.Say("nothing was changed")
		return cli.Exit(1)
	case gone:
		return cli.CreateFile(d.path, data, 0o600)
	}
	return files.Rewrite(d.path, data)
}

func (a *app) runEditor(path string) error {
	words, err := a.editorWords()
	if err != nil {
		return err
	}
	program := words[0]
	if !strings.Contains(program, "/") {
		if program, err = a.FindReal(program, os.Getenv("PATH")); err != nil {
			return fmt.Errorf("the editor %q was not found", words[0])
		}
	}
	cmd := exec.Command(program, append(words[1:], path)...)
	cmd.Args[0] = words[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.In, os.Stdout, os.Stderr
	if err := runInFront(cmd); err != nil {
		return fmt.Errorf("the editor %q ended with %w", words[0], err)
	}
	return nil
}

// editorWords is $EDITOR, else $VISUAL, else what every system has, for who has a terminal.
func (a *app) editorWords() ([]string, error) {
	for _, name := range []string{"EDITOR", "VISUAL"} {
		if v := os.Getenv(name); strings.TrimSpace(v) != "" {
			words, err := config.Words(v)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			return words, nil
		}
	}
	if !caller.IsTerminal(a.In) {
		return nil, fault.Refuse(1, "EDITOR=… inner profile edit NAME, or --no-edit",
			"no editor is opened: EDITOR is not set, and standard input is not a terminal")
	}
	for _, name := range []string{"vi", "nano"} {
		if _, err := exec.LookPath(name); err == nil {
			return []string{name}, nil
		}
	}
	return nil, fault.Refuse(1, "EDITOR=… inner profile edit NAME, or --no-edit",
		"there is no editor: EDITOR is not set, and neither vi nor nano is installed")
}

// Questions that are put on the terminal, and programs that have it for a while.

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
func (a *app) agreed(question, no string) bool {
	_ = unix.IoctlSetInt(int(a.In.Fd()), unix.TCFLSH, unix.TCIFLUSH)
	text, ok := a.answer(question+" [y/N] ", no)
	return ok && isYes(text)
}

// isYes reports whether an answer is a yes.
func isYes(text string) bool {
	text = strings.ToLower(text)
	return text == "y" || text == "yes"
}

// answer reads one line from the terminal, and not a byte of the next. It reports false when the input has ended. ^C
// ends this process, as it does any other, once what a no means is said: nothing that is asked about was done before.
func (a *app) answer(prompt, no string) (text string, ok bool) {
	signal.Ignore(syscall.SIGQUIT) // at which a Go program prints what it is doing
	defer signal.Reset(syscall.SIGQUIT)
	keys := make(chan os.Signal, 1)
	signal.Notify(keys, syscall.SIGINT)
	defer func() { signal.Stop(keys); close(keys) }()
	go func() {
		if _, pressed := <-keys; pressed {
			fmt.Fprintln(a.Err)
			a.Say("%s", no)
			signal.Reset(syscall.SIGINT)
			_ = unix.Kill(os.Getpid(), syscall.SIGINT)
		}
	}()
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
	case a.agreed(q.text, q.no):
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
