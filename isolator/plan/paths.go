package plan

import (
	"slices"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// StartupPlaces returns the start-up files and folders of the user, there or not, for host.Probe. Of f it
// needs who the user is and the environment; names is host.Folders.Names, or nil.
func StartupPlaces(rc profile.RunConfig, f host.Facts, names func(string) (map[string]bool, bool)) []string {
	at := site(rc, f)
	at.Names = names
	places, files := at.Startup()
	return slices.Concat(places, files)
}

// WritableFolders are those that the box may change on the host.
func WritableFolders(rc profile.RunConfig) (folders []string) {
	if rc.WorkdirMode == profile.RW {
		folders = append(folders, rc.Workdir)
	}
	for _, m := range rc.Mounts {
		if m.Mode == profile.RW {
			folders = append(folders, m.Source)
		}
	}
	return folders
}
