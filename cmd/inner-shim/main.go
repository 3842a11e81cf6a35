// Command inner-shim is what is behind the shims: it decides where a command runs, starts its box and stays
// with it, and answers the hook at prompts. Where a container engine makes the box it goes on as inner-fleet, which
// does the same and knows them. It has no command of inner, so it starts faster, needs less memory
// beside a box, and is, with inner-box, all that must be trusted while a program runs. inner carries it, and
// writes it to the shim folder; a person never starts it by its name.
package main

import (
	"os"

	"github.com/enr/inner/cmd/internal/shim"
	"github.com/enr/inner/internal/deep"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/run"
	"github.com/enr/inner/shims"
)

// version is set by the build.
var version = "dev"

func main() {
	deep.Stack()
	run.Main(features.Bwrap)
	if code, first := shim.AsFirst(); first {
		os.Exit(code)
	}
	if call, ok := shims.Invoked(shims.ExecFn(), os.Args[0]); ok {
		os.Exit(shim.Call(call, os.Args, version, true))
	}
	if len(os.Args) > 1 && os.Args[1] == "__hook" {
		os.Exit(prompt(os.Args[2:]))
	}
	os.Stderr.WriteString("inner-shim: is started by the shims and the hook of inner; type inner\n")
	os.Exit(2)
}

// prompt answers the hook of a running shell.
func prompt(args []string) int {
	home, inner, err := caller.Folders(os.Getenv)
	p := shim.Of(home, inner, version)
	if err == nil {
		err = p.Prompt(args)
	}
	if err != nil {
		p.Fail(err)
		return 1
	}
	return 0
}
