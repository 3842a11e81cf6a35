package main

import (
	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/cmd/internal/shim"
)

// app is the process of a command.
type app struct{ *cli.App }

// withProgram says what belongs behind the shims, and beside that.
func withProgram(of *cli.App) *app {
	of.Program = behindShims()
	of.Program.Fleet, _ = of.FindBeside(shim.Fleet)
	return &app{App: of}
}
