package ownhome

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

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
	folder := filepath.Join(Base(innerHome), o.Key())
	rec, _ := ReadRecord(folder) // without one there are no copies
	return filepath.Join(folder, filesName, moved(original, rec.Project, rec.Began))
}

// File makes the box's own copy of a file, whose path is absolute, and returns where it is.
func (h *Home) File(it Item) (at string, err error) {
	if err := h.hold(); err != nil {
		return "", err
	}
	all, err := h.staged()
	if err != nil {
		return "", err
	}
	top := filepath.Join(h.folder, filesName)
	if err := os.MkdirAll(top, 0o700); err != nil {
		return "", err
	}
	beside := Home{Owner: h.Owner, folder: h.folder}
	if beside.root, err = unix.Open(top, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0); err != nil {
		return "", err
	}
	defer unix.Close(beside.root)
	if all[filesLabel] == nil {
		all[filesLabel] = map[string]put{}
	}
	it.Path = moved(it.Path, h.rec.Project, h.rec.Began)
	at = filepath.Join(top, it.Path)
	_ = os.Chmod(at, 0o600) // a box may have closed it
	it.Path = strings.TrimPrefix(it.Path, "/")
	old := all[filesLabel][it.Path]
	is, err := beside.put(it, filepath.Join("base", filesName), old)
	if err == nil && is != old {
		all[filesLabel][it.Path] = is
		err = h.writeStaged(all)
	}
	return at, err
}

// Changed is a file of a project of which boxes have a copy that is not as inner made it.
type Changed struct {
	Owner          Owner
	Original, Copy string
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
			c := Changed{rec.Owner, moved("/"+rel, rec.Began, rec.Project), filepath.Join(h.folder, filesName, rel)}
			data, err := files.Read(c.Copy, files.NoLinks, maxStaged)
			if err == nil && hash(data) != was.Is {
				out = append(out, c)
			}
		}
	}
	slices.SortFunc(out, func(x, y Changed) int { return strings.Compare(x.Original+x.Copy, y.Original+y.Copy) })
	return out, err
}
