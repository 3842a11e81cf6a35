//go:build !manual

// Command inner sandboxes coding agents and shells automatically, so nobody has
// to remember to.
package main

import (
	"os"
	"runtime"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/cmd/internal/shim"
	"github.com/enr/inner/internal/deep"
	"github.com/enr/inner/isolator"
	"github.com/enr/inner/shims"
)

// version is set by the build.
var version = "dev"

func main() {
	deep.Stack()
	// Inside a box inner is the supervisor, and nothing else.
	isolator.Main()
	if code, first := shim.AsFirst(); first {
		os.Exit(code)
	}
	// A box dies with the thread that started it (prctl PR_SET_PDEATHSIG):
	// everything runs on one that lives as long as the process.
	runtime.LockOSThread()
	if call, ok := shims.Invoked(shims.ExecFn(), os.Args[0]); ok {
		os.Exit(shim.Call(call, os.Args, version, false))
	}
	if cli.OfHook(os.Args[1:]) {
		cli.OutliveReaders()
	}
	found, err := cli.Find(version) // which can report the error all the same
	a := withProgram(found)
	if err != nil {
		a.Fail(err)
		os.Exit(cli.ForHook(os.Args[1:], 125))
	}
	os.Exit(cli.ForHook(os.Args[1:], a.command(os.Args[1:])))
}
