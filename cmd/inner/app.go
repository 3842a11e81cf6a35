package main

import (
	"io"
	"os"

	"github.com/enr/inner/cmd/internal/shim"
	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/isolator/caller"
)

// app is the process of a command.
type app struct {
	*shim.Process

	stdin          *os.File
	stdout, stderr io.Writer
	interrupts     interrupts
}

// newApp finds the folders. On error the app can still report it.
func newApp() (*app, error) {
	home, inner, err := caller.Folders(os.Getenv)
	return appOf(home, inner), err
}

// appOf is the app of this process for a home and an INNER_HOME.
func appOf(home, inner string) *app {
	a := &app{Process: shim.Of(home, inner, version), stdin: os.Stdin, stdout: tell.To(os.Stdout), stderr: tell.To(os.Stderr)}
	a.Program = behindShims()
	return a
}
