//go:build manual

package main

import (
	"os"

	"github.com/enr/inner/cmd/internal/cli"
)

var version = "dev"

// main writes the manual page of each command into a folder. It stands in the
// place of inner's own main for `go run -tags manual ./cmd/inner FOLDER`:
// nothing of it is in the binary. What programs beside inner have, cmd/inner-beside writes over it.
func main() {
	a := withProgram(cli.Of("", "", version))
	root := a.tree(nil)
	// inner completes by scripts of its own, and cobra adds a help command later.
	for _, c := range root.Commands() {
		c.DisableAutoGenTag = true
	}
	if err := cli.Manual(root, version, os.Args[len(os.Args)-1]); err != nil {
		a.Fail(err)
		os.Exit(1)
	}
}
