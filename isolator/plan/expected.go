package plan

import (
	"slices"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// StartupFiles returns the files and folders of the user's homes that exist and
// that shells and sessions read or run.
func StartupFiles(rc profile.RunConfig, f host.Facts) []string {
	return newBuilder(rc, f, Staged{}).startup()
}

// LaterPlaces returns the host paths of one run that editors, agents and hook
// managers of the host obey and that are there, or made for the run.
func LaterPlaces(rc profile.RunConfig, f host.Facts) []string {
	b := newBuilder(rc, f, Staged{})
	return slices.Concat(b.later(), b.named())
}

// KeptPlaces returns what a box of this run cannot write although the folder is its to
// write, and what therefore is not its work at the end of the run.
func KeptPlaces(rc profile.RunConfig, f host.Facts) []string {
	b := newBuilder(rc, f, Staged{})
	var out []string
	for _, h := range b.held() {
		if b.kind(h.path) != host.Missing {
			out = append(out, b.canon(h.path)) // a link that leads there can be replaced
		}
	}
	return out
}

// ToolPlaces returns where programs for everybody lie below places that are
// emptied otherwise.
func ToolPlaces() []string { return toolPlaces() }
