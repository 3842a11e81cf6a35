// Command inner-git serves the git directories of a project to its box (isolator/git/share). It is a program of
// its own because it starts faster than inner, and a fork of it, which each mount takes, is cheaper. inner
// carries it (isolator/innerbox), and starts it; a person never does.
package main

import (
	"os"

	"github.com/enr/inner/isolator/git/server"
	"github.com/enr/inner/isolator/git/share"
)

func main() {
	if server.Is(os.Args) {
		os.Exit(share.Run())
	}
	os.Stderr.WriteString("inner-git: is for inner itself\n")
	os.Exit(2)
}
