//go:build manual

package main

import (
	"os"

	"github.com/enr/inner/cmd/internal/cli"
)

// main writes the manual page of each command of the programs beside inner into a folder, as cmd/inner does for its
// own.
func main() {
	a := &app{cli.Of("", "", version)}
	for _, c := range a.tree("").Commands() {
		if err := cli.Manual(c, version, os.Args[len(os.Args)-1]); err != nil {
			a.Fail(err)
			os.Exit(1)
		}
	}
}
