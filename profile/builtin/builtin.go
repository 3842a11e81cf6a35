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
	"syscall"
)

//go:embed *.toml
var files embed.FS

// Names returns the names of the built-in profiles, sorted.
func Names() []string {
	entries, err := files.ReadDir(".")
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
	data, err := files.ReadFile(name + ".toml")
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
		ok, err := create(path, Read(name))
		if err != nil {
			return written, fmt.Errorf("profile %q: %w", path, err)
		}
		if ok {
			written = append(written, path)
		}
	}
	return written, nil
}

// create writes a file under a name that is free, and reports whether it was.
// link(2) is what makes it atomic and never overwriting: rename(2) replaces.
func create(path string, data []byte) (bool, error) {
	if _, err := os.Lstat(path); err == nil {
		return false, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".new-*") // 0600, O_EXCL
	if err != nil {
		return false, err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return false, err
	}
	err = os.Link(tmp.Name(), path)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOTSUP) {
		return exclusive(path, data) // a file system without hard links
	}
	if errors.Is(err, fs.ErrExist) {
		return false, nil // another inner was faster
	}
	return err == nil, err
}

func exclusive(path string, data []byte) (bool, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		os.Remove(path)
		return false, err
	}
	return true, nil
}
