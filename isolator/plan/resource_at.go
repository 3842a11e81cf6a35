package plan

import (
	"path"
	"slices"
	"strings"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// ResourceAt returns the key of the sensitive resource that a host path is, or
// lies in, or "". It goes by name: nothing is looked at. Secrets of the project
// are not among them.
func ResourceAt(p string, rc profile.RunConfig, f host.Facts) string {
	at := newSite(rc, f)
	at.roots = nil
	homes := at.homes
	own := func(place string) bool { // the homes of all users hold this one
		return slices.ContainsFunc(homes, func(h string) bool {
			return lies(h, place) && (lies(p, escapePattern(h)) || lies(h, escapePattern(p)))
		})
	}
	for _, r := range resourceTable {
		for _, place := range r.expand(at) {
			if lies(p, place) && !own(place) && !r.excepts(p) {
				return r.Key
			}
		}
	}
	return ""
}

// excepts reports whether a row leaves out what has this name.
func (r Resource) excepts(p string) bool {
	return slices.ContainsFunc(r.Except, func(e string) bool {
		ok, err := path.Match(path.Base(e), path.Base(p))
		return err == nil && ok
	})
}

// lies reports whether a path is one of the table, which may be a pattern, or
// lies in it.
func lies(p, place string) bool {
	names, wanted := strings.Split(strings.Trim(p, "/"), "/"), strings.Split(strings.Trim(place, "/"), "/")
	if len(names) < len(wanted) {
		return false
	}
	for i, w := range wanted {
		if ok, err := path.Match(w, names[i]); err != nil || !ok {
			return false
		}
	}
	return true
}
