// Package builtin holds the profiles that come with inner, as the TOML files
// they are. They are written to the user's profiles once and are the user's
// from then on: Install never changes a file that is there.
package builtin

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/files"
)

//go:embed *.toml
var texts embed.FS

// Names returns the names of the built-in profiles, sorted.
func Names() []string {
	entries, err := texts.ReadDir(".")
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".toml"))
	}
	slices.Sort(names)
	return names
}

// Read returns the text of a built-in profile, nil when there is none of that
// name.
func Read(name string) []byte {
	data, err := texts.ReadFile(name + ".toml")
	if err != nil {
		return nil
	}
	return data
}

// Install writes the built-in profiles that are missing in dir, which it makes
// when needed, and returns the paths it wrote. Whatever is there already, be it
// a dangling link, stays as it is. A profile appears complete or not at all.
func Install(dir string) (written []string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("profiles folder %q: %w", dir, err)
	}
	for _, name := range Names() {
		path := filepath.Join(dir, name+".toml")
		_, err := os.Lstat(path) // most are there
		if errors.Is(err, fs.ErrNotExist) {
			if err = files.Create(path, Read(name), 0o600); err == nil {
				written = append(written, path)
			}
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return written, fmt.Errorf("profile %q: %w", path, err)
		}
	}
	return written, nil
}
