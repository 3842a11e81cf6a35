// Command inner-box is the part of inner that is in a box: the supervisor. It does nothing else, so it starts
// faster than inner and is small enough to be read whole. inner carries it (isolator/innerbox), and starts it;
// a person never does.
package main

import (
	"os"

	"github.com/enr/inner/internal/deep"
	"github.com/enr/inner/isolator/launch/box"
)

func main() {
	deep.Stack()
	if box.Is(os.Args) {
		os.Exit(box.Run())
	}
	os.Stderr.WriteString("inner-box: is for inner itself\n")
	os.Exit(2)
}
