package features

// Mount points below ${workspaces_path}: made on the host before the box, so
// that bwrap creates nothing, and gone after it.

import (
	"fmt"
	"os"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// workspaces makes and locks the workspaces of a run. It comes before the
// host is probed: the facts are about what the box will see.
func workspaces() Feature {
	return Feature{
		Name: "workspaces", Keys: []string{"workspaces_path", "mounts", "entrypoint.workdir"},
		Ask: func(run *Run) error {
			places, err := workspacesOf(run)
			if err != nil || len(places) == 0 || !run.Mode.Made() {
				return err
			}
			return run.Folder.Workspaces(run.Spec.WorkspacesDir, places)
		},
	}
}

// workspacesOf returns the places of a run below ${workspaces_path}. It changes
// nothing.
func workspacesOf(run *Run) ([]host.Placeholder, error) {
	rc := run.Spec
	var places []host.Placeholder
	for _, m := range rc.Mounts {
		if !m.Workspace {
			continue
		}
		if !paths.Below(rc.WorkspacesDir, m.Dest) {
			return nil, &fault.Refusal{Code: 125, Msg: fmt.Sprintf("profile %q: mounts.%q: dest %q leads out of workspaces_path %q", rc.Name, m.Written, m.Dest, rc.WorkspacesDir)}
		}
		place := host.Placeholder{Path: m.Dest}
		if fi, err := os.Stat(m.Source); m.Mode != profile.Tmpfs && err == nil && !fi.IsDir() {
			place.Content = []byte{}
		}
		places = append(places, place)
	}
	if rc.WorkspaceWorkdir && len(places) == 0 && paths.Below(rc.WorkspacesDir, rc.Workdir) {
		places = append(places, host.Placeholder{Path: rc.Workdir}) // there already: to be locked
	}
	if len(places) == 0 {
		return nil, nil
	}
	return places, notForBox(rc, run.InnerHome)
}

// notForBox refuses a workspaces_path that the box could write: a link planted
// there would be followed when the mount is made (CVE-2026-87766). What lies in
// inner's own folder no box can write.
func notForBox(rc profile.RunConfig, innerHome string) error {
	root := files.Real(rc.WorkspacesDir)
	if paths.Below(files.Real(innerHome), root) {
		return nil
	}
	for _, w := range rc.WritableRoots() {
		if paths.Below(files.Real(w), root) {
			return &fault.Refusal{
				Code: 125, Msg: fmt.Sprintf("profile %q: workspaces_path %q lies in %q, which the box can write", rc.Name, rc.WorkspacesDir, w),
				Hint: `workspaces_path = "~/.inner/workspaces"`,
			}
		}
	}
	return nil
}
