package ownhome

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/files"
)

// Files of a project that the box has a copy of its own of lie beside its home, and not in
// it: the box sees each only at the place of the original, and can neither rename nor
// replace it.
//
//	INNER_HOME/homes/KEY/files/PATH OF THE ORIGINAL

const (
	filesName  = "files"
	filesLabel = "files" // in staged.json
)

// FileOf is where the copy of a file with an absolute path is, whether it is there or not.
func FileOf(innerHome string, o Owner, original string) string {
	return filepath.Join(Base(innerHome), o.Key(), filesName, original)
}

// File makes the box's own copy of a file and returns where it is. decide says what it holds,
// as in Stage; fresh is what the original does.
func (h *Home) File(original string, fresh []byte, decide func(Found) Decision) (string, error) {
	if err := h.hold(); err != nil {
		return "", err
	}
	all, err := h.staged()
	if err != nil {
		return "", err
	}
	rel := strings.TrimPrefix(original, "/")
	at := filepath.Join(h.folder, filesName, original)
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return "", err
	}
	kept, err := files.Read(at, files.NoLinks, maxStaged)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return at, os.Chmod(at, 0o600)
	}
	if all[filesLabel] == nil {
		all[filesLabel] = map[string]put{}
	}
	old, base := all[filesLabel][rel], filepath.Join(h.folder, "base", filesName, original)
	write := func(data []byte) error { return files.Write(at, data, 0o600) }
	is, err := settle(base, fresh, kept, old, decide, write)
	if err == nil && is != old {
		all[filesLabel][rel] = is
		err = h.writeStaged(all)
	}
	return at, errors.Join(err, os.Chmod(at, 0o600))
}

// Changed is a file of a project of which boxes have a copy that is not as inner made it.
type Changed struct {
	Owner    Owner
	Original string
	Copies   string // the folder below which the copy has the path of the original
}

// ChangedFiles lists them, of all homes.
func ChangedFiles(innerHome string) ([]Changed, error) {
	homes, err := os.ReadDir(Base(innerHome))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []Changed
	for _, e := range homes {
		h := Home{folder: filepath.Join(Base(innerHome), e.Name())}
		rec, rerr := ReadRecord(h.folder)
		all, serr := h.staged()
		if rerr != nil || serr != nil {
			continue
		}
		for rel, was := range all[filesLabel] {
			c := Changed{rec.Owner, "/" + rel, filepath.Join(h.folder, filesName)}
			data, err := files.Read(filepath.Join(c.Copies, rel), files.NoLinks, maxStaged)
			if err == nil && hash(data) != was.Is {
				out = append(out, c)
			}
		}
	}
	slices.SortFunc(out, func(x, y Changed) int { return strings.Compare(x.Original+x.Copies, y.Original+y.Copies) })
	return out, err
}
