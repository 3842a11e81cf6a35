package main

// Mount points below ${workspaces_path}: made on the host before the box, so
// that bwrap creates nothing, and gone after it.

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/stage"
	"github.com/enr/inner/profile"
)

// stageWorkspaces makes and locks the workspaces of a run. It comes before the
// host is probed: the facts are about what the box will see.
func stageWorkspaces(j *journey) error {
	places, err := j.app.workspaces(j.rc)
	if err != nil || len(places) == 0 {
		return err
	}
	return j.run.Workspaces(j.rc.WorkspacesDir, places)
}

// workspaces returns the places of a run below ${workspaces_path}. It changes
// nothing.
func (a *app) workspaces(rc profile.RunConfig) ([]stage.Workspace, error) {
	var places []stage.Workspace
	for _, m := range rc.Mounts {
		if !m.Workspace {
			continue
		}
		if !inFolder(rc.WorkspacesDir, m.Dest) {
			return nil, &fault.Refusal{Code: 125, Msg: fmt.Sprintf("profile %q: mounts.%q: dest %q leads out of workspaces_path %q", rc.Name, m.Written, m.Dest, rc.WorkspacesDir)}
		}
		fi, err := os.Stat(m.Source)
		places = append(places, stage.Workspace{Path: m.Dest, File: m.Mode != profile.Tmpfs && err == nil && !fi.IsDir()})
	}
	if rc.WorkspaceWorkdir && len(places) == 0 && inFolder(rc.WorkspacesDir, rc.Workdir) {
		places = append(places, stage.Workspace{Path: rc.Workdir}) // there already: to be locked
	}
	if len(places) == 0 {
		return nil, nil
	}
	return places, a.notForBox(rc)
}

// notForBox refuses a workspaces_path that the box could write: a link planted
// there would be followed when the mount is made (CVE-2026-87766). What lies in
// inner's own folder no box can write.
func (a *app) notForBox(rc profile.RunConfig) error {
	root := files.Real(rc.WorkspacesDir)
	if inFolder(files.Real(a.InnerHome), root) {
		return nil
	}
	var writable []string
	if rc.WorkdirMode == profile.RW && !rc.WorkspaceWorkdir {
		writable = append(writable, rc.Workdir)
	}
	for _, m := range rc.Mounts {
		if m.Mode == profile.RW {
			writable = append(writable, m.Source)
		}
	}
	for _, w := range writable {
		if inFolder(files.Real(w), root) {
			return &fault.Refusal{
				Code: 125, Msg: fmt.Sprintf("profile %q: workspaces_path %q lies in %q, which the box can write", rc.Name, rc.WorkspacesDir, w),
				Hint: `workspaces_path = "~/.inner/workspaces"`,
			}
		}
	}
	return nil
}

// inFolder reports whether path is dir or lies below it.
func inFolder(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}
