package main

import (
	"io"
	"os"

	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/settings"
)

// app is the process: what is set, and where it prints.
type app struct {
	*settings.Settings

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
	a := &app{stdin: os.Stdin, stdout: tell.To(os.Stdout), stderr: tell.To(os.Stderr)}
	a.Settings = settings.Of(&caller.Caller{
		Home: home, InnerHome: inner, Environ: os.Environ(), Version: version,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Teller: tell.Teller{To: a.stderr},
	})
	return a
}
