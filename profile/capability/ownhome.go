package capability

// What becomes of an agent's files in a home that outlives the run.

import (
	"path/filepath"
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
	at := func(data []byte) (any, bool) {
		doc, err := parseJSON(data)
		if err != nil {
			return nil, false
		}
		return lookup(doc, l.Stamp)
	}
	a, ok := at(is)
	if !ok {
		return false
	}
	mine, ok := stamp(a)
	if !ok {
		return false
	}
	b, _ := at(than)
	other, known := stamp(b)
	return !known || mine.After(other)
}

// Merge puts a document over one that a program wrote: what only that one has stays. Of a
// table of folders (projects), each folder keeps what it has. If either cannot be parsed,
// the result is fresh.
func Merge(fresh, kept []byte) []byte {
	over, err := parseJSON(fresh)
	if err != nil {
		return fresh
	}
	doc, err := parseJSON(kept)
	if err != nil {
		return fresh
	}
	for key, value := range over {
		folders, ok := value.(map[string]any)
		if !ok || key != "projects" {
			doc[key] = value
			continue
		}
		there := table(doc, key)
		for path, state := range folders {
			from, ok := state.(map[string]any)
			if !ok {
				continue
			}
			to := table(there, path)
			for k, v := range from {
				if _, has := to[k]; !has {
					to[k] = v
				}
			}
		}
	}
	out, err := formatJSON(doc)
	if err != nil {
		return fresh
	}
	return out
}
