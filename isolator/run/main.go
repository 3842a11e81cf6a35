package run

import (
	"os"

	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/git/server"
	"github.com/enr/inner/isolator/launch/box"
	"github.com/enr/inner/isolator/procfs"
)

// backend finds what makes a box.
var backend = features.Bwrap // allowed: written once, by Main

// Main is the first call of a program that makes boxes, and is told what makes them: features.Bwrap, or
// container.Backend. The program is started again as the supervisor of each box, among other parts, and there
// Main does not return. In a normal process it returns at once.
func Main(by func() features.Feature) {
	backend = by
	switch {
	case box.Is(os.Args):
		os.Exit(box.Run())
	case server.Is(os.Args):
		os.Exit(serveGit())
	case procfs.IsPart(os.Args):
		os.Exit(procfs.Part(os.Args))
	}
}
