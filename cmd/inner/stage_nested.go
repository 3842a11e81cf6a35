package main

import (
	"path/filepath"
	"slices"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// stageNested tells whoever allows containers where their images would go, when
// that is nowhere. Nothing is made on the host for them.
func stageNested(j *journey) error {
	const key = "nested-user-ns"
	if !slices.Contains(j.rc.Allow, key) || j.rc.Home == "isolated" {
		return nil
	}
	at := filepath.Join(j.app.Home, ".local", "share", "containers")
	if j.prep.facts.Paths[at].Kind != host.Missing {
		return nil
	}
	for _, m := range j.rc.Mounts {
		if rel, err := filepath.Rel(m.Dest, at); err == nil && filepath.IsLocal(rel) && m.Mode != profile.RO {
			return nil
		}
	}
	j.app.warn("podman has no place for images in this box: %q does not exist", at)
	j.app.hint("mkdir -p ~/.local/share/containers ~/.cache/containers; or home = \"isolated\" under [sandbox]")
	return nil
}
