package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/enr/inner/internal/atonce"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/profile"
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
	path := s.path(root)
	r, err := load(path)
	if err != nil || r == nil {
		return nil, err
	}
	if r.Root != filepath.Clean(root) {
		return nil, &Damaged{path, fmt.Errorf("it is the record of %q", r.Root)}
	}
	return r, nil
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
			read[i].record, read[i].err = s.named(name)
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

// named reads the record in a file of the store: nil when there is none.
func (s Store) named(name string) (*ProjectRecord, error) {
	path := filepath.Join(s.Dir, name)
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
	data, err := json.MarshalIndent(toDisk(r), "", "  ")
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

// set puts a profile's record in its place.
func (r *ProjectRecord) set(p ProfileRecord) {
	i, found := slices.BinarySearchFunc(r.Profiles, p.Path, func(q ProfileRecord, path string) int {
		return strings.Compare(q.Path, path)
	})
	if found {
		r.Profiles[i] = p
	} else {
		r.Profiles = slices.Insert(r.Profiles, i, p)
	}
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
	var d diskProject
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, &Damaged{path, err}
	}
	r, err := d.record()
	if err != nil {
		return nil, &Damaged{path, err}
	}
	return r, nil
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
	return io.ReadAll(io.LimitReader(f, maxRecord+1))
}

// unwrapPath drops the path of a file error: the caller names it already.
func unwrapPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// text is a string that survives JSON whatever its bytes: paths need not be
// UTF-8, and JSON would silently replace what is not.
type text string

const hexPrefix = "hex:"

// MarshalText writes the string itself, or hex: and its bytes in hexadecimal
// when it is not UTF-8 or could be taken for such.
func (t text) MarshalText() ([]byte, error) {
	if s := string(t); !utf8.ValidString(s) || strings.HasPrefix(s, hexPrefix) {
		return []byte(hexPrefix + hex.EncodeToString([]byte(s))), nil
	}
	return []byte(t), nil
}

// UnmarshalText reads what MarshalText wrote.
func (t *text) UnmarshalText(b []byte) error {
	s := string(b)
	if !strings.HasPrefix(s, hexPrefix) {
		*t = text(s)
		return nil
	}
	raw, err := hex.DecodeString(s[len(hexPrefix):])
	*t = text(raw)
	return err
}

// The forms of the records on disk.
type (
	diskProject struct {
		Schema   int           `json:"schema"`
		Root     text          `json:"root"`
		Entered  time.Time     `json:"entered"`
		Config   *diskProfile  `json:"config,omitempty"`
		Profiles []diskProfile `json:"profiles,omitempty"`
	}
	diskProfile struct {
		Path     text        `json:"path"`
		Name     text        `json:"name"`
		Decision State       `json:"decision"`
		When     time.Time   `json:"when"`
		Files    []diskFile  `json:"files,omitempty"`
		Commands []text      `json:"commands,omitempty"`
		ShimWhen string      `json:"shim_when,omitempty"`
		Yields   []text      `json:"yields,omitempty"`
		Grants   []diskGrant `json:"grants,omitempty"`
		Prefix   text        `json:"prefix,omitempty"`
	}
	diskFile struct {
		Path   text   `json:"path"`
		Digest string `json:"sha256"`
	}
	diskGrant struct {
		Kind     string     `json:"kind"`
		Key      text       `json:"key"`
		Text     text       `json:"text"`
		Words    text       `json:"words,omitempty"`
		Tightens bool       `json:"tightens,omitempty"`
		Items    []diskItem `json:"items,omitempty"`
	}
	diskItem struct {
		Text text `json:"text"`
		Path text `json:"path,omitempty"`
		At   text `json:"at,omitempty"`
		ID   text `json:"id,omitempty"`
	}
)

func toDisk(r *ProjectRecord) diskProject {
	d := diskProject{Schema: schema, Root: text(r.Root), Entered: r.Entered}
	if r.Config != nil {
		c := toDiskProfile(*r.Config)
		d.Config = &c
	}
	for _, p := range r.Profiles {
		d.Profiles = append(d.Profiles, toDiskProfile(p))
	}
	return d
}

func toDiskProfile(p ProfileRecord) diskProfile {
	d := diskProfile{
		Path: text(p.Path), Name: text(p.Name), Decision: p.Decision, When: p.When, ShimWhen: p.ShimWhen, Prefix: text(p.Prefix),
		Files:    each(p.Files, func(f FileRecord) diskFile { return diskFile{text(f.Path), f.Digest} }),
		Commands: each(p.Commands, convert[text]), Yields: each(p.Yields, convert[text]),
	}
	for _, g := range p.Grants {
		dg := diskGrant{g.Kind, text(g.Key), text(g.Text), text(g.Words), g.Tightens, nil}
		for _, it := range g.Items {
			if !it.Own {
				dg.Items = append(dg.Items, diskItem{text(it.Text), text(it.Path), text(it.At), text(it.ID)})
			}
		}
		if len(dg.Items) > 0 || len(g.Items) == 0 {
			d.Grants = append(d.Grants, dg)
		}
	}
	return d
}

func convert[To, From ~string](s From) To { return To(s) }

// each is a list made of another one, item by item; nil of an empty one.
func each[T, U any](list []T, f func(T) U) []U {
	var out []U
	for _, x := range list {
		out = append(out, f(x))
	}
	return out
}

// record checks what was read as far as decisions depend on it.
func (d diskProject) record() (*ProjectRecord, error) {
	switch {
	case d.Schema > schema:
		return nil, fmt.Errorf("written by a newer inner (schema %d, this one knows %d)", d.Schema, schema)
	case d.Schema != schema && d.Schema != 1:
		return nil, fmt.Errorf("schema %d is not known", d.Schema)
	case !filepath.IsAbs(string(d.Root)):
		return nil, fmt.Errorf("root %q is not an absolute path", string(d.Root))
	}
	r := &ProjectRecord{Root: string(d.Root), Entered: d.Entered}
	if d.Config != nil {
		c, err := d.Config.record()
		if err != nil {
			return nil, err
		}
		r.Config = &c
	}
	for _, p := range d.Profiles {
		if d.Schema == 1 {
			p.Grants = nil
		}
		rec, err := p.record()
		if err != nil {
			return nil, err
		}
		r.Profiles = append(r.Profiles, rec)
	}
	return r, nil
}

func (d diskProfile) record() (ProfileRecord, error) {
	p := ProfileRecord{
		Path: string(d.Path), Name: string(d.Name), Decision: d.Decision, When: d.When, ShimWhen: d.ShimWhen, Prefix: string(d.Prefix),
		Files:    each(d.Files, func(f diskFile) FileRecord { return FileRecord{string(f.Path), f.Digest} }),
		Commands: each(d.Commands, convert[string]), Yields: each(d.Yields, convert[string]),
		Grants: each(d.Grants, func(g diskGrant) profile.Grant {
			return profile.Grant{Kind: g.Kind, Key: string(g.Key), Text: string(g.Text), Words: string(g.Words), Tightens: g.Tightens, Items: each(g.Items, diskItem.item)}
		}),
	}
	for _, f := range p.Files {
		if len(f.Digest) != sha256.Size*2 {
			return p, fmt.Errorf("profile %q: %q is not a digest", p.Path, f.Digest)
		}
	}
	switch {
	case !filepath.IsAbs(p.Path):
		return p, fmt.Errorf("profile %q is not an absolute path", p.Path)
	case p.Decision != Allowed && p.Decision != Denied:
		return p, fmt.Errorf("profile %q: decision %q is not known", p.Path, p.Decision)
	case p.Decision == Allowed && len(p.Files) == 0:
		return p, fmt.Errorf("profile %q: allowed, and no file is named", p.Path)
	}
	return p, nil
}

func (it diskItem) item() profile.Item {
	return profile.Item{Text: string(it.Text), Path: string(it.Path), At: string(it.At), ID: string(it.ID)}
}
