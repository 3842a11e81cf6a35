package repos

import (
	"path/filepath"
	"slices"

	"github.com/enr/inner/internal/paths"
)

// What the host puts into the place of something protected may have been written by the box: it
// is protected again a moment later, and nobody sees whether the box was quicker. So it stays
// when git outside has the same bytes for it, as after `git switch`.

// askGit asks git for what it has at the places where something else is than before the run.
func (w *sweep) askGit(before []string) {
	if w.Search.Tracked == nil {
		return
	}
	places := map[string][]string{}
	for _, p := range before {
		if slices.Contains(w.Before, p) {
			continue
		}
		top := filepath.Dir(p)
		for top != "/" && !exists(top+"/.git") {
			top = filepath.Dir(top)
		}
		if rest, _ := paths.Rest(top, p); lies(top+"/.git", w.Guarded) {
			places[top] = append(places[top], rest)
		}
	}
	for top, list := range places {
		for p, entries := range w.Search.Tracked(top, list) {
			w.tracked[p] = entries
		}
	}
}

// isTracked reports whether a file is as git outside has it.
func (w *sweep) isTracked(p string) bool {
	if w.tracked[p] == nil {
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
	for p := range w.tracked {
		if paths.Inside(dir, p) {
			return true
		}
	}
	return false
}
