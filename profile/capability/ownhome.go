package capability

// What becomes of an agent's files in a home that outlives the run.

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// FileAt is the file of a capability at a path below a home; a zero File for any other.
func (c Capability) FileAt(rel string) File {
	for _, f := range c.Folders {
		name, ok := strings.CutPrefix(rel, f.Rel()+"/")
		for _, file := range f.Files {
			if ok && file.Name == name {
				return file
			}
		}
	}
	return File{}
}

// IsLogin reports whether a path below a home is that of the capability's login.
func (c Capability) IsLogin(rel string) bool {
	return c.Login != nil && rel == filepath.Join(c.Folders[0].Rel(), c.Login.File)
}

// Newer reports whether a login is newer than another one. One without a time is not.
func (l *Login) Newer(is, than []byte) bool {
	mine, ok := l.time(is)
	other, known := l.time(than)
	return ok && (!known || mine.After(other))
}

// IsDocument reports whether the file is made of entries, which the box may change.
func (f File) IsDocument() bool {
	ext := filepath.Ext(f.Name)
	return !f.Login && !f.Only && (ext == ".json" || ext == ".jsonc" || ext == ".toml")
}

// Settle brings what the host changed of a document since base into what the box has of it,
// entry by entry. What only the box changed stays. It is nil when the host changed nothing.
// Without a base all that the host says counts, and so it does when the box's cannot be parsed.
func Settle(name string, base, fresh, kept []byte) []byte {
	now, err := document(name, fresh)
	if err != nil {
		return fresh
	}
	was, _ := document(name, base)
	changed := false
	out, err := rewrite(name, kept, func(box map[string]any) { changed = bring(box, was, now) })
	switch {
	case err != nil:
		return fresh
	case !changed:
		return nil
	}
	return out
}

// bring puts into box what now says and was did not, and takes out what was said and now does
// not. It reports whether there was anything like that.
func bring(box, was, now map[string]any) (changed bool) {
	for _, key := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(names(was), names(now))))) {
		before, had := was[key]
		value, has := now[key]
		if had == has && reflect.DeepEqual(before, value) {
			continue
		}
		changed = true
		old, _ := before.(map[string]any)
		fresh, isTable := value.(map[string]any)
		there, both := box[key].(map[string]any)
		switch {
		case both && (isTable || !has && old != nil):
			bring(there, old, fresh)
		case has:
			box[key] = value
		default:
			delete(box, key)
		}
	}
	return changed
}
