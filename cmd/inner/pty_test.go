package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/enr/inner/contrib/terminal"
	"github.com/rogpeppe/go-internal/testscript"
)

// cmdPty is the script command pty: steps in a terminal (terminal.Follow). What
// the terminal showed is its stdout, without escape sequences.
func cmdPty(ts *testscript.TestScript, neg bool, args []string) {
	refuseNeg(ts, neg, "pty STEPS COMMAND [ARG...]", len(args) >= 2)
	steps := ts.ReadFile(args[0])
	// testscript lends a custom command no environment; env(1) tells it.
	ts.Check(ts.Exec("/usr/bin/env", "-0"))
	env := strings.Split(strings.TrimSuffix(ts.ReadFile("stdout"), "\x00"), "\x00")
	path, err := lookPath(args[1], ts.Getenv("PATH"))
	ts.Check(err)
	cmd := exec.Command(path, args[2:]...)
	cmd.Args[0] = args[1]
	cmd.Env, cmd.Dir = env, ts.MkAbs(".")
	t, err := terminal.Start(cmd)
	ts.Check(err)
	defer t.Close()
	err = t.Follow(steps, ts.Getenv)
	fmt.Fprint(ts.Stdout(), t.Text())
	if err != nil {
		ts.Fatalf("%s: %v\n--- the terminal showed\n%s", args[0], err, t.Text())
	}
}

// lookPath finds a program on a PATH that is not this process's.
func lookPath(name, path string) (string, error) {
	if strings.ContainsRune(name, '/') {
		return name, nil
	}
	for _, dir := range strings.Split(path, ":") {
		file := dir + "/" + name
		if fi, err := os.Stat(file); err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("%s: not on PATH", name)
}
