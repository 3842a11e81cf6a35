package capability

// What becomes of an agent's files in a home that outlives the run.

import (
	"bytes"
	"path/filepath"
	"reflect"
	"slices"
)

// Settle is what the box is to have of a part of a clone that it has changed, nil for what it has. base is what the
// host had when that was put there. Of a login that the host did not change, or that is older, the box's own counts,
// and so do the entries of a document that only the box changed; else the host's.
func (p Piece) Settle(base, kept []byte) []byte {
	switch l := p.of.Login; {
	case p.File.Used:
		return keptIn(p.File, p.Data, kept)
	case p.File.Login && (bytes.Equal(base, p.Data) || l != nil && l.File == p.File.Name && l.newer(kept, p.Data)):
		return nil
	case p.File.Instructions:
		return settleInstructions(base, p.Data, kept)
	case p.File.IsDocument():
		return settle(p.File.Name, base, p.Data, kept)
	}
	return p.Keep(kept)
}

// Keep is what a box has of a file with a login that it has had as one of the other kind.
func (p Piece) Keep(kept []byte) []byte {
	if !p.File.Login {
		return p.Data
	}
	return keptIn(p.File, p.Data, kept)
}

// keptIn is a file with a login, or placeholders that has what is never the host's, as logins at MCP servers, from the box.
func keptIn(f File, fresh, kept []byte) []byte {
	box, _ := document(f.Name, kept)
	for _, key := range f.Strip {
		v, has := box[key]
		out, err := rewrite(f.Name, fresh, func(doc map[string]any) { doc[key] = v })
		if has && err == nil {
			fresh = out
		}
	}
	return fresh
}

// newer reports whether a login is newer than another one. One without a time is not.
func (l *Login) newer(is, than []byte) bool {
	mine, ok := l.time(is)
	other, known := l.time(than)
	return ok && (!known || mine.After(other))
}

// IsDocument reports whether the file is made of entries, which the box may change.
func (f File) IsDocument() bool {
	ext := filepath.Ext(f.Name)
	return !f.Login && (ext == ".json" || ext == ".jsonc" || ext == ".toml")
}

// settle brings what the host changed of a document since base into what the box has of it,
// entry by entry. What only the box changed stays. It is nil when the host changed nothing.
// Without a base all that the host says counts, and so it does when the box's cannot be parsed.
func settle(name string, base, fresh, kept []byte) []byte {
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
