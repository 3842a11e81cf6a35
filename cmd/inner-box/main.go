// See cmd/inner-shim.

//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0

// Command inner-box is the part of inner that is in a box: the supervisor, and the process that makes some
// mounts there from outside. It does nothing else, so it starts faster than inner and is small enough to be read
// whole. inner carries it (isolator/innerbox), and starts it; a person never does.
package main

import (
	"os"

	"github.com/enr/inner/isolator/launch/box"
	"github.com/enr/inner/isolator/launch/outside"
)

func main() {
	switch {
	case box.Is(os.Args):
		os.Exit(box.Run())
	case outside.Is(os.Args):
		os.Exit(outside.Run())
	}
	os.Stderr.WriteString("inner-box: is for inner itself\n")
	os.Exit(2)
}
