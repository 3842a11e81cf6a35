package features

// What files of the user refer to by a link or by a name: settings of agents that are kept with dotfiles or in the
// Nix store. A box gets a copy of it, and only where no box had a say in what that is.

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/own"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/capability"
)

// origin is what the clones of a run's agents are made of.
func (run *Run) origin() capability.Origin {
	o := origin(run.Caller, run.Spec)
	o.Follow = run.follow
	return o
}

// follow returns where a path leads, and whether it may be read for a box: the file and each link on the way belong to
// the user or root, lie in no folder that a box was ever given to write, and in nothing that is hidden.
func (run *Run) follow(path string) (real string, ok bool) {
	hops, real, err := files.Follow(path)
	if paths.Below(real, run.Home) || paths.Below(real, files.Real(run.Home)) {
		return "", false
	}
	hides := func(place string) bool { return paths.Below(place, real) }
	if err != nil || profile.Own(real) != nil || slices.ContainsFunc(plan.Hidden(run.Spec, run.Facts, run.Assets), hides) {
		return "", false
	}
	for _, at := range append(hops, files.Hop{Path: real}) {
		fi, err := os.Lstat(at.Path)
		dir, errDir := os.Stat(filepath.Dir(at.Path))
		if err != nil || errDir != nil || own.FolderFault(dir) != "" || untrusted(run, at.Path) || run.Context.WrittenAt(at.Path) != "" {
			return "", false
		}
		if st, ok := fi.Sys().(*syscall.Stat_t); !ok || st.Uid != 0 && int(st.Uid) != os.Geteuid() {
			return "", false
		}
	}
	return real, true
}
