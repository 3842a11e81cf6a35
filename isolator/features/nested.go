package features

import (
	"path/filepath"
	"slices"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// nested tells whoever allows containers where their images would go, when
// that is nowhere. Nothing is made on the host for them.
func nested() Feature {
	return Feature{Name: "containers", Keys: []string{"sandbox.allow", "sandbox.home"}, Make: noPlaceForImages}
}

// nestedKey is the word of sandbox.allow.
const nestedKey = "nested-user-ns"

func noPlaceForImages(run *Run) error {
	if !slices.Contains(run.Spec.Allow, nestedKey) || run.Spec.HidesHome() {
		return nil
	}
	at := filepath.Join(run.Home, ".local", "share", "containers")
	if run.Facts.Look(at).Kind != host.Missing {
		return nil
	}
	for _, m := range run.Spec.Mounts {
		if rel, err := filepath.Rel(m.Dest, at); err == nil && filepath.IsLocal(rel) && m.Mode != profile.RO {
			return nil
		}
	}
	run.Warn("podman has no place for images in this box: %q does not exist", at)
	run.Hint("mkdir -p ~/.local/share/containers ~/.cache/containers; or home = \"own\" under [sandbox]")
	return nil
}
