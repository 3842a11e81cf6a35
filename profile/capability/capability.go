// Package capability makes the sanitised clones of agents' own folders: the
// login and the user's preferences go along, the user's other projects,
// sessions and servers stay behind. The original is never mounted and never
// written.
//
// A capability is a value of the table in Find; a new agent is a new entry.
package capability

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/enr/inner/profile"
)

// maxFile bounds each copied file; real ones are far smaller.
const maxFile = 32 << 20

// Capability says what of an agent's folder goes into a box.
type Capability struct {
	Name   string
	Folder string       // ~/…: where the clone appears in the box
	Files  []File       // copied when they exist
	Trees  []string     // folders copied whole, relative to Folder
	Empty  []string     // folders created empty
	Env    []profile.KV // set in the box; ~ is the home
	Notes  []string     // for people
}

// File is one file of a clone.
type File struct {
	From string // ~/… on the host
	To   string // relative to the clone
	// Edit changes a JSON document in place; nil copies the bytes. workdir is
	// the working folder of the run.
	Edit func(doc map[string]any, workdir string)
}

// Find returns the capability of that name.
func Find(name string) (Capability, bool) {
	switch name {
	case "claude":
		return claude(), true
	default:
		return Capability{}, false
	}
}

// Clone makes the clone in dst, a private empty folder. Links, sockets, FIFOs
// and devices are left out; what was left out is returned.
func (c Capability) Clone(home, dst, workdir string) (skipped []string, err error) {
	for _, f := range c.Files {
		src := expand(f.From, home)
		data, err := readFile(src)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if f.Edit == nil {
				continue
			}
			data = nil
		case errors.Is(err, errNotRegular):
			skipped = append(skipped, src)
			continue
		case err != nil:
			return skipped, fmt.Errorf("capability %s: %w", c.Name, err)
		}
		if f.Edit != nil {
			missing := data == nil
			if data, err = edit(data, workdir, f.Edit); err != nil {
				return skipped, fmt.Errorf("capability %s: %q is not valid JSON: %w", c.Name, src, err)
			}
			if missing && string(data) == "{}\n" {
				continue
			}
		}
		if err := writeFile(filepath.Join(dst, f.To), data); err != nil {
			return skipped, fmt.Errorf("capability %s: %w", c.Name, err)
		}
	}
	folder := expand(c.Folder, home)
	for _, t := range c.Trees {
		s, err := copyTree(filepath.Join(folder, t), filepath.Join(dst, t))
		skipped = append(skipped, s...)
		if err != nil {
			return skipped, fmt.Errorf("capability %s: %w", c.Name, err)
		}
	}
	for _, e := range c.Empty {
		if err := os.MkdirAll(filepath.Join(dst, e), 0o700); err != nil {
			return skipped, fmt.Errorf("capability %s: %w", c.Name, err)
		}
	}
	return skipped, nil
}

// Environment returns the variables of the capability, expanded.
func (c Capability) Environment(home string) []profile.KV {
	out := make([]profile.KV, len(c.Env))
	for i, kv := range c.Env {
		out[i] = profile.KV{Key: kv.Key, Value: expand(kv.Value, home)}
	}
	return out
}

// Place returns where the clone appears in the box.
func (c Capability) Place(home string) string { return expand(c.Folder, home) }

func expand(p, home string) string {
	if rest, ok := strings.CutPrefix(p, "~/"); ok {
		return filepath.Join(home, rest)
	}
	return p
}

func edit(data []byte, workdir string, f func(map[string]any, string)) ([]byte, error) {
	doc := map[string]any{}
	if len(data) > 0 {
		dec := json.NewDecoder(strings.NewReader(string(data)))
		dec.UseNumber() // identifiers and times keep every digit
		if err := dec.Decode(&doc); err != nil {
			return nil, err
		}
	}
	f(doc, workdir)
	out, err := json.MarshalIndent(doc, "", "  ")
	return append(out, '\n'), err
}

var errNotRegular = errors.New("not a regular file")

// readFile reads a regular file without following a link at its end and
// without blocking on a FIFO.
func readFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO) {
		return nil, errNotRegular
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() {
		return nil, errNotRegular
	}
	if fi.Size() > maxFile {
		return nil, fmt.Errorf("%q is larger than %d MiB", path, maxFile>>20)
	}
	return io.ReadAll(io.LimitReader(f, maxFile))
}

func writeFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// copyTree copies folders and regular files; executables stay executable.
func copyTree(src, dst string) (skipped []string, err error) {
	if fi, err := os.Lstat(src); err != nil || !fi.IsDir() {
		if err == nil {
			skipped = append(skipped, src)
		}
		return skipped, nil
	}
	err = filepath.WalkDir(src, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(src, p)
		if err != nil {
			return err
		}
		to := filepath.Join(dst, rel)
		switch {
		case d.IsDir():
			return os.MkdirAll(to, 0o700)
		case !d.Type().IsRegular():
			skipped = append(skipped, p)
			return nil
		}
		data, err := readFile(p)
		if err != nil {
			return err
		}
		if err := writeFile(to, data); err != nil {
			return err
		}
		if fi, err := d.Info(); err == nil && fi.Mode().Perm()&0o100 != 0 {
			return os.Chmod(to, 0o700)
		}
		return nil
	})
	return skipped, err
}
