package main

import (
	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/cmd/internal/shim"
)

// app is the process of a command.
type app struct{ *cli.App }

// newApp finds the folders. On error the app can still report it.
func newApp() (*app, error) {
	found, err := cli.Find(version)
	return withProgram(found), err
}

// appOf is the app of this process for a home and an INNER_HOME.
func appOf(home, inner string) *app { return withProgram(cli.Of(home, inner, version)) }

// withProgram says what belongs behind the shims, and beside that.
func withProgram(of *cli.App) *app {
	of.Program = behindShims()
	of.Program.Fleet, _ = of.FindBeside(shim.Fleet)
	return &app{App: of}
}
