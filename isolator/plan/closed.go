package plan

import (
	"slices"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
)

// hideClosed covers the folders of which nobody knows what is to be hidden or protected in them.
// One that the box is made to work in cannot be covered.
func (b *builder) hideClosed() error {
	for _, p := range b.f.Closed {
		dir := b.canon(p)
		if len(b.view.where(dir)) == 0 || b.allows(dir) {
			continue
		}
		if slices.ContainsFunc(slices.Concat(b.homes(), projectRoots(b.rc)), func(root string) bool { return paths.Below(dir, b.canon(root)) }) {
			return fault.Refuse(125, "chmod u+rx "+quote(dir), "profile %q: %s cannot be looked into, so what is to be hidden there cannot be found", b.rc.Name, dir)
		}
		b.maskAt(dir, host.Dir, "hidden: inner cannot look into it, and the program could")
	}
	return nil
}
