package shared

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/sshkey"
	"github.com/enr/inner/profile"
)

// Known is what is remembered of publishers: whose key belongs to which place, how far each
// index was, and what was installed from it.
type Known struct {
	Schema    int                  `json:"schema"`
	Sources   map[string]string    `json:"sources"`   // where an index was, and the key that was approved for it
	Indexes   map[string]Seen      `json:"indexes"`   // by name and key
	Installed map[string]Installed `json:"installed"` // by the name here

	path string
}

// Seen is the last version of an index, and its digest.
type Seen struct {
	Version int    `json:"version"`
	SHA256  string `json:"sha256"`
}

// Installed is where a profile came from, and its digest then.
type Installed struct {
	Source  string `json:"source"`
	Key     string `json:"key"`
	Index   string `json:"index"`
	Profile string `json:"profile"` // its name in the index
	SHA256  string `json:"sha256"`
}

// ReadKnown reads what is remembered in a folder of the trust store. One that is there and
// cannot be read is an error: with it the memory of versions would be lost.
func ReadKnown(trustDir string) (*Known, error) {
	k := &Known{Schema: 1, Sources: map[string]string{}, Indexes: map[string]Seen{}, Installed: map[string]Installed{}, path: filepath.Join(trustDir, "publishers")}
	read, err := profile.ReadFile(k.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return k, nil
	case err != nil:
		return nil, err
	}
	k.Schema = 0
	if err = json.Unmarshal(read.Data, k); err == nil && k.Schema != 1 {
		err = fmt.Errorf("schema is %d, this version of inner reads only 1", k.Schema)
	}
	if err != nil {
		return nil, fmt.Errorf("what is known of publishers cannot be read: %q: %w", k.path, err)
	}
	return k, nil
}

// Remember keeps what was opened and is being installed, under the lock of the folder: what
// another process has seen meanwhile counts.
func Remember(trustDir string, o *Opened, name string, e Entry) error {
	if err := files.Folder(trustDir); err != nil {
		return err
	}
	unlock, err := files.LockFolder(trustDir)
	if err != nil {
		return err
	}
	defer unlock()
	k, err := ReadKnown(trustDir)
	if err != nil {
		return err
	}
	if err := k.Check(o); err != nil {
		return err
	}
	k.add(o, name, e)
	return k.write()
}

func (k *Known) write() error {
	data, err := json.MarshalIndent(k, "", "  ")
	if err != nil {
		return err
	}
	return files.Write(k.path, append(data, '\n'), 0o600)
}

// Approved reports whether the user has approved the key for the place that o is from, or for
// this very index at another one.
func (k *Known) Approved(o *Opened) bool {
	if _, seen := k.Indexes[o.id()]; seen {
		return true
	}
	return k.Sources[o.From] == o.Key.Line()
}

// Check refuses what cannot follow what is known: another key at the same place, an index that
// goes back, a version that is another one than before.
func (k *Known) Check(o *Opened) error {
	if was, ok := k.Sources[o.From]; ok && was != o.Key.Line() {
		old, err := sshkey.Parse(was)
		return errors.Join(fmt.Errorf("%s is signed by %s, and you have approved %s", o.From, o.Key.Fingerprint(), old.Fingerprint()), err)
	}
	switch seen := k.Indexes[o.id()]; {
	case o.Index.Version < seen.Version:
		return fmt.Errorf("index %q is version %d, and version %d was seen: an older one brings back what was replaced",
			o.Index.Name, o.Index.Version, seen.Version)
	case o.Index.Version == seen.Version && o.SHA256 != seen.SHA256:
		return fmt.Errorf("version %d of index %q is not the one that was seen: its publisher has signed two", o.Index.Version, o.Index.Name)
	}
	return nil
}

// add remembers what was opened, and what was installed of it.
func (k *Known) add(o *Opened, name string, e Entry) {
	k.Sources[o.From] = o.Key.Line()
	k.Indexes[o.id()] = Seen{o.Index.Version, o.SHA256}
	k.Installed[name] = Installed{Source: o.From, Key: o.Key.Line(), Index: o.Index.Name, Profile: e.Name, SHA256: e.SHA256}
}

// Owns returns what was installed under that name, and whether it came from this entry of this
// index.
func (k *Known) Owns(o *Opened, name string, e Entry) (Installed, bool) {
	was, ok := k.Installed[name]
	return was, ok && was.Key == o.Key.Line() && was.Index == o.Index.Name && was.Profile == e.Name
}
