// Package builtin holds the profiles that come with inner, as the TOML files
// they are. Install writes them to the user's profiles. One that nobody changed
// follows the binary; one that somebody did is theirs, and stays.
package builtin

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
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

// digests are those of all texts that any inner came with, as of sha256sum: a file with one
// of them was changed by nobody. A new text adds its line; none goes.
//
//go:embed digests
var digests string

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

// Sums are the digests of the texts of this inner, one line each.
func Sums() string {
	var b strings.Builder
	for _, name := range Names() {
		b.WriteString(line(name, Read(name)))
	}
	return b.String()
}

// Follows reports whether a profile is as some inner came with it, so that the next one brings its own.
func Follows(name string, text []byte) bool {
	return strings.Contains(digests, line(name, text))
}

func line(name string, text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]) + "  " + name + "\n"
}

// Installed is what Install did: the paths that it wrote, and the names of the profiles that
// somebody changed.
type Installed struct{ Written, Changed []string }

// Install makes the profiles in dir, which it makes when needed, those of this inner. had are
// the Sums of the inner that did so before: a profile that is in them and not in dir any more
// was deleted by the user. What is there and is no text that inner came with, be it a
// dangling link, stays as it is. A profile appears complete or not at all.
func Install(dir, had string) (done Installed, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return done, fmt.Errorf("profiles folder %q: %w", dir, err)
	}
	for _, name := range Names() {
		path := filepath.Join(dir, name+".toml")
		now, err := files.Read(path, files.NoLinks, 1<<20)
		deleted := strings.Contains(had, "  "+name+"\n")
		switch {
		case errors.Is(err, fs.ErrNotExist) && !deleted:
			err = files.Create(path, Read(name), 0o600)
		case err != nil || bytes.Equal(now, Read(name)):
			continue
		case Follows(name, now):
			err = files.Write(path, Read(name), 0o600)
		default:
			done.Changed = append(done.Changed, name)
			continue
		}
		if err == nil {
			done.Written = append(done.Written, path)
		} else if !errors.Is(err, fs.ErrExist) {
			return done, fmt.Errorf("profile %q: %w", path, err)
		}
	}
	return done, nil
}
