package repos

import (
	"maps"
	"path/filepath"

	"github.com/enr/inner/internal/paths"
)

// What a person's git checks out while a box lives, or inner brings there, stays.

// ask asks what the host's git has at a place, and below it.
func (w *sweep) ask(p string) {
	if w.Search.Tracked == nil || lies(p, w.asked) {
		return
	}
	w.asked = append(w.asked, p)
	top := filepath.Dir(p)
	for top != "/" && !exists(top+"/.git") {
		top = filepath.Dir(top)
	}
	if rest, _ := paths.Rest(top, p); lies(top+"/.git", w.Guarded) {
		maps.Copy(w.tracked, w.Search.Tracked(top, []string{rest}))
	}
}

// isTracked reports whether a file is as git outside has it.
func (w *sweep) isTracked(p string) bool {
	if w.ask(p); w.tracked[p] == nil {
		return false
	}
	fi, err := w.lstat(p)
	if err != nil || !fi.Mode().IsRegular() {
		return false
	}
	data, err := w.read(p)
	return err == nil && w.tracked.Has(p, data, fi.Mode().Perm()&0o111 != 0)
}

// tracks reports whether git outside has something in a folder.
func (w *sweep) tracks(dir string) bool {
	w.ask(dir)
	for p := range w.tracked {
		if paths.Inside(dir, p) {
			return true
		}
	}
	return false
}
