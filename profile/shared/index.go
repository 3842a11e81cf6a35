// Package shared is profiles that a team publishes: a folder with the profiles and an index,
// which names each with its digest and is signed by the publisher's ssh key.
//
//	inner-profiles.json       {"schema": 1, "name": "team", "version": 3, "profiles": [{"name": "web", "sha256": "…"}]}
//	inner-profiles.json.sig   made by ssh-keygen -Y sign -n inner-profiles
//	web.toml
//
// It promises that what Open returns was signed by the key it names, that an index never goes
// back to an older version, that no version has two contents, and that the text of a profile
// has the digest that the index lists. Whether the user trusts the key is for the caller to
// ask; Known is what was answered.
package shared

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/enr/inner/profile"
)

// The files of a published folder, and what the key signs for.
const (
	IndexFile     = "inner-profiles.json"
	SignatureFile = IndexFile + ".sig"
	Namespace     = "inner-profiles"
)

// maxProfiles is the most that one index lists.
const maxProfiles = 1000

// Index is a list of profiles.
type Index struct {
	Schema   int     `json:"schema"` // 1
	Name     string  `json:"name"`   // of the list, for its publisher and its readers
	Version  int     `json:"version"`
	Profiles []Entry `json:"profiles"` // by name
}

// Entry is one profile, whose text is in NAME.toml.
type Entry struct {
	Name        string `json:"name"`
	SHA256      string `json:"sha256"`
	Description string `json:"description,omitempty"`
}

// Bytes is the index as it is written and signed.
func (ix Index) Bytes() []byte {
	data, _ := json.MarshalIndent(ix, "", "  ") // strings and numbers always can be
	return append(data, '\n')
}

// Parse reads an index strictly. What it does not know is an error: a reader that passes over
// something has read another index.
func Parse(data []byte) (Index, error) {
	var ix Index
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&ix); err != nil {
		return ix, fmt.Errorf("%s: %w", IndexFile, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return ix, errors.New(IndexFile + ": something follows the index")
	}
	switch {
	case ix.Schema != 1:
		return ix, fmt.Errorf("%s: schema is %d, this version of inner reads only 1", IndexFile, ix.Schema)
	case profile.CheckName(ix.Name) != nil:
		return ix, fmt.Errorf("%s: name: %w", IndexFile, profile.CheckName(ix.Name))
	case ix.Version < 1:
		return ix, fmt.Errorf("%s: version %d is less than 1", IndexFile, ix.Version)
	case len(ix.Profiles) > maxProfiles:
		return ix, fmt.Errorf("%s: %d profiles are more than %d", IndexFile, len(ix.Profiles), maxProfiles)
	}
	for i, e := range ix.Profiles {
		if err := profile.CheckName(e.Name); err != nil {
			return ix, fmt.Errorf("%s: profile %d: %w", IndexFile, i+1, err)
		}
		if len(e.SHA256) != 64 || strings.Trim(e.SHA256, "0123456789abcdef") != "" {
			return ix, fmt.Errorf("%s: profile %q: sha256 %q is not 64 hexadecimal digits in lower case", IndexFile, e.Name, e.SHA256)
		}
		if slices.ContainsFunc(ix.Profiles[:i], func(o Entry) bool { return o.Name == e.Name }) {
			return ix, fmt.Errorf("%s: profile %q is listed twice", IndexFile, e.Name)
		}
	}
	return ix, nil
}

// Next is the index that follows old, which is the zero Index for the first: the same when
// nothing changed.
func Next(old Index, name string, profiles []Entry) (Index, error) {
	if old.Version > 0 && name != "" && name != old.Name {
		return old, fmt.Errorf("the index is called %q: whoever has it would take %q for another one", old.Name, name)
	}
	if old.Version > 0 {
		name = old.Name
	}
	slices.SortFunc(profiles, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	if old.Version > 0 && slices.Equal(old.Profiles, profiles) {
		return old, nil
	}
	next := Index{Schema: 1, Name: name, Version: old.Version + 1, Profiles: profiles}
	_, err := Parse(next.Bytes())
	return next, err
}
