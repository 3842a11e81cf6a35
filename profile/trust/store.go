package trust

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/enr/inner/internal/atonce"
	"github.com/enr/inner/internal/files"
)

// schema is the version of the files this package writes. A file of a later
// version is refused: it may bind more than this program knows to check. One of
// version 1 holds its grants as text, without real paths: its decisions count, its
// grants are not read, and so what it allows is asked about once more.
const schema = 2

// maxRecord is the largest record that is read, in bytes.
const maxRecord = 8 << 20

// Damaged is the error for a record that exists and cannot be used. Nothing may
// run on the strength of it, and nothing may be taken for unclaimed either;
// revoking the project removes it.
type Damaged struct {
	File string // the record
	Err  error
}

// Error says which record, and what is wrong with it.
func (e *Damaged) Error() string { return fmt.Sprintf("trust record %q: %v", e.File, e.Err) }

// Unwrap returns what is wrong.
func (e *Damaged) Unwrap() error { return e.Err }

// Project returns the record of the project with that root, or nil when there is
// none.
func (s Store) Project(root string) (*ProjectRecord, error) {
	if !filepath.IsAbs(root) {
		return nil, fmt.Errorf("project %q: not an absolute path", root)
	}
	return s.read(s.path(root))
}

// Projects returns every record that can be read, sorted by root, and the errors
// of those that cannot, joined.
func (s Store) Projects() ([]ProjectRecord, error) {
	entries, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	read := make([]struct {
		record *ProjectRecord
		err    error
	}, len(entries))
	atonce.Of(len(entries), func(i int) {
		if name := entries[i].Name(); strings.HasSuffix(name, ".json") {
			read[i].record, read[i].err = s.read(filepath.Join(s.Dir, name))
		}
	})
	var list []ProjectRecord
	var bad []error
	for _, r := range read {
		switch {
		case r.err != nil:
			bad = append(bad, r.err)
		case r.record != nil: // else revoked meanwhile
			list = append(list, *r.record)
		}
	}
	slices.SortFunc(list, func(a, b ProjectRecord) int { return strings.Compare(a.Root, b.Root) })
	return list, errors.Join(bad...)
}

// read reads the record in a file of the store, which is called by the project it is of: nil when there is none.
func (s Store) read(path string) (*ProjectRecord, error) {
	r, err := load(path)
	if err == nil && r != nil && s.path(r.Root) != path {
		return nil, &Damaged{path, fmt.Errorf("it is the record of %q", r.Root)}
	}
	return r, err
}

// Enter remembers that the user has been in the project, so that what its
// profiles claim is guarded from now on. It does nothing when that is known.
func (s Store) Enter(root string) error {
	if _, err := os.Lstat(s.path(root)); err == nil {
		return nil
	}
	return s.change(root, func(*ProjectRecord) error { return nil })
}

// path is where the record of a project is. The name is a hash because a root
// may hold any byte and be longer than a file name.
func (s Store) path(root string) string {
	sum := sha256.Sum256([]byte(filepath.Clean(root)))
	return filepath.Join(s.Dir, hex.EncodeToString(sum[:])+".json")
}

// change reads a record, or starts one, edits it and writes it back, under the
// lock of the store.
func (s Store) change(root string, edit func(*ProjectRecord) error) error {
	return s.locked(root, func() error {
		r, err := s.Project(root)
		if err != nil {
			return err
		}
		if r == nil {
			r = &ProjectRecord{Root: filepath.Clean(root), Entered: time.Now().Round(0)}
		}
		if err := edit(r); err != nil {
			return err
		}
		return s.write(r)
	})
}

// forget drops a project's record, whatever it looks like. The shims of a project
// that is still there must not disappear with what it allows, so that one stays
// entered.
func (s Store) forget(root string) error {
	return s.locked(root, func() error {
		if _, err := os.Lstat(filepath.Join(root, ".inner")); err == nil {
			return s.write(&ProjectRecord{Root: filepath.Clean(root), Entered: time.Now().Round(0)})
		}
		if err := os.Remove(s.path(root)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

func (s Store) write(r *ProjectRecord) error {
	r.Schema = schema
	_ = texts(reflect.ValueOf(r), encode)
	data, err := json.MarshalIndent(r, "", "  ")
	_ = texts(reflect.ValueOf(r), decode)
	if err != nil {
		return err
	}
	return files.Replace(s.path(r.Root), append(data, '\n'), 0o600)
}

// locked runs do while holding the lock of the store.
func (s Store) locked(root string, do func() error) error {
	if !filepath.IsAbs(root) {
		return fmt.Errorf("project %q: not an absolute path", root)
	}
	if err := files.Folder(s.Dir); err != nil {
		return fmt.Errorf("trust folder: %w", err)
	}
	unlock, err := files.Lock(filepath.Join(s.Dir, ".lock"))
	if err != nil {
		return fmt.Errorf("trust folder: %w", err)
	}
	defer unlock()
	return do()
}

// set puts the record of a profile, or of the config.toml, in its place.
func (r *ProjectRecord) set(p ProfileRecord) {
	if p.Path == filepath.Join(r.Root, ".inner", "config.toml") {
		r.Config = &p
		return
	}
	r.Profiles = slices.DeleteFunc(r.Profiles, func(q ProfileRecord) bool { return q.Path == p.Path })
	r.Profiles = append(r.Profiles, p)
	slices.SortFunc(r.Profiles, func(a, b ProfileRecord) int { return strings.Compare(a.Path, b.Path) })
}

func nameOf(path string) string { return strings.TrimSuffix(filepath.Base(path), ".toml") }

// load reads one record: nil when there is none, *Damaged when it is of no use.
func load(path string) (*ProjectRecord, error) {
	data, err := readOwn(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, &Damaged{path, unwrapPath(err)}
	}
	var r ProjectRecord
	if err = json.Unmarshal(data, &r); err == nil {
		err = texts(reflect.ValueOf(&r), decode)
	}
	if err == nil {
		err = r.valid()
	}
	if err != nil {
		return nil, &Damaged{path, err}
	}
	return &r, nil
}

// readOwn reads a file that only its owner, who is the caller or root, can write.
func readOwn(path string) ([]byte, error) {
	f, info, err := files.Open(path, files.NoLinks)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case ok && st.Uid != 0 && int(st.Uid) != os.Geteuid():
		return nil, fmt.Errorf("it belongs to user %d", st.Uid)
	case info.Mode().Perm()&0o022 != 0:
		return nil, fmt.Errorf("others can write it (mode %04o)", info.Mode().Perm())
	case info.Size() > maxRecord:
		return nil, fmt.Errorf("it is larger than %d bytes", maxRecord)
	}
	var text bytes.Buffer
	text.Grow(int(info.Size()) + bytes.MinRead) // one read, and one that finds the end
	_, err = text.ReadFrom(io.LimitReader(f, maxRecord+1))
	return text.Bytes(), err
}

// unwrapPath drops the path of a file error: the caller names it already.
func unwrapPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// hexPrefix begins a text that JSON cannot hold as it is: paths need not be UTF-8, and JSON would
// silently replace what is not.
const hexPrefix = "hex:"

// encode writes a text that is not UTF-8, or could be taken for such, in hexadecimal.
func encode(s string) (string, error) {
	if !utf8.ValidString(s) || strings.HasPrefix(s, hexPrefix) {
		return hexPrefix + hex.EncodeToString([]byte(s)), nil
	}
	return s, nil
}

func decode(s string) (string, error) {
	rest, is := strings.CutPrefix(s, hexPrefix)
	if !is {
		return s, nil
	}
	raw, err := hex.DecodeString(rest)
	return string(raw), err
}

// texts has each text of a record written in another way.
func texts(v reflect.Value, as func(string) (string, error)) (err error) {
	switch v.Kind() {
	case reflect.String:
		var s string
		s, err = as(v.String())
		v.SetString(s)
	case reflect.Pointer:
		if !v.IsNil() {
			err = texts(v.Elem(), as)
		}
	case reflect.Slice:
		for i := range v.Len() {
			err = errors.Join(err, texts(v.Index(i), as))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type() != reflect.TypeFor[time.Time]() {
				err = errors.Join(err, texts(v.Field(i), as))
			}
		}
	}
	return err
}

// valid says what is wrong with a record that was read, as far as decisions depend on it. The
// grants of version 1 are taken out.
func (r *ProjectRecord) valid() error {
	switch {
	case r.Schema > schema:
		return fmt.Errorf("written by a newer inner (schema %d, this one knows %d)", r.Schema, schema)
	case r.Schema != schema && r.Schema != 1:
		return fmt.Errorf("schema %d is not known", r.Schema)
	case !filepath.IsAbs(r.Root):
		return fmt.Errorf("root %q is not an absolute path", r.Root)
	}
	for i := range r.Profiles {
		if r.Schema == 1 {
			r.Profiles[i].Grants = nil
		}
		if err := r.Profiles[i].valid(); err != nil {
			return err
		}
	}
	if r.Config != nil {
		return r.Config.valid()
	}
	return nil
}

func (r *ProfileRecord) valid() error {
	for _, f := range r.Files {
		if len(f.Digest) != sha256.Size*2 {
			return fmt.Errorf("profile %q: %q is not a digest", r.Path, f.Digest)
		}
	}
	switch {
	case !filepath.IsAbs(r.Path):
		return fmt.Errorf("profile %q is not an absolute path", r.Path)
	case r.Decision != Allowed && r.Decision != Denied:
		return fmt.Errorf("profile %q: decision %q is not known", r.Path, r.Decision)
	case r.Decision == Allowed && len(r.Files) == 0:
		return fmt.Errorf("profile %q: allowed, and no file is named", r.Path)
	}
	return nil
}
