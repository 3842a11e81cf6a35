package plan

import (
	"slices"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// StartupPlaces returns the start-up files and folders of the user, there or not, for host.Probe. Of f it
// needs who the user is and the environment.
func StartupPlaces(rc profile.RunConfig, f host.Facts) []string {
	places, files := newBuilder(rc, f, Staged{}).site().Startup()
	return slices.Concat(places, files)
}
