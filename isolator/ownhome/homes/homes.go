// Package homes is what a person does with the homes that boxes have of their own: it lists them, looks into
// one, copies something out of it, takes it along with its project, and removes it. Package ownhome, which
// makes them, knows nothing of that.
package homes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/isolator/owned"
	"github.com/enr/inner/isolator/ownhome"
	"github.com/enr/inner/isolator/stage"
	"github.com/enr/inner/profile/capability"
)

// Info is what is known of a home.
type Info struct {
	ownhome.Owner
	Key     string    `json:"key"`
	Size    int64     `json:"size"` // bytes on the disk
	Files   int       `json:"files"`
	Used    time.Time `json:"used"` // when a box last began
	Running bool      `json:"running"`
	Damaged string    `json:"damaged,omitempty"`
	Top     []Entry   `json:"entries,omitempty"` // see Look
}

// Entry is something right in a home, with all that is in it.
type Entry struct {
	Name  string `json:"name"` // a folder's ends with a slash
	Size  int64  `json:"size"`
	Files int    `json:"files"`
}

// List returns all homes, by their keys.
func List(innerHome string) ([]Info, error) {
	entries, err := os.ReadDir(ownhome.Base(innerHome))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Info
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, Look(innerHome, e.Name()))
		}
	}
	return out, nil
}

// Look says what is in the home of a key, as far as it is looked into.
func Look(innerHome, key string) Info {
	folder := filepath.Join(ownhome.Base(innerHome), key)
	info := Info{Key: key}
	rec, err := ownhome.ReadRecord(folder)
	if info.Owner = rec.Owner; err != nil {
		info.Damaged = err.Error()
	}
	if fi, err := os.Lstat(filepath.Join(folder, "lock")); err == nil {
		info.Used = fi.ModTime()
	}
	info.Running = ownhome.InUse(folder)
	tops := map[string]*Entry{}
	_ = copytree.Walk(filepath.Join(folder, ownhome.Inside), []string{"."}, func(p string, st unix.Stat_t) bool {
		top, _, deeper := strings.Cut(p, "/")
		isDir := st.Mode&unix.S_IFMT == unix.S_IFDIR
		if !deeper {
			tops[top] = &Entry{Name: top}
			if isDir {
				tops[top].Name += "/"
			}
		}
		if e := tops[top]; !isDir {
			e.Size, info.Size = e.Size+st.Blocks*512, info.Size+st.Blocks*512
			e.Files, info.Files = e.Files+1, info.Files+1
		}
		return !ownhome.TooDeep(p)
	})
	for _, top := range slices.Sorted(maps.Keys(tops)) {
		info.Top = append(info.Top, *tops[top])
	}
	return info
}

// Clean makes a path that a person typed one below the home: ~/x, x, or the absolute path it
// has in a box whose user has that home.
func Clean(typed, home string) (string, error) {
	if typed == "" {
		return "", errors.New("the path is empty; ~ is the whole home")
	}
	rest := strings.TrimPrefix(typed, "~/")
	if rest == "~" || typed == home {
		rest = "."
	}
	if path.IsAbs(rest) {
		below, ok := strings.CutPrefix(path.Clean(rest), home+"/")
		if !ok {
			return "", fmt.Errorf("%q is not below the home %q", typed, home)
		}
		rest = below
	}
	if rest = path.Clean(rest); !filepath.IsLocal(rest) {
		return "", fmt.Errorf("%q leads out of the home", typed)
	}
	return rest, nil
}

// Reset removes the home of a key with all that is in it, unless a box has it now. The next
// run begins with an empty one.
func Reset(innerHome, key string) error {
	return alone(innerHome, key, func(folder string) error { return stage.Discard(innerHome, folder) })
}

// Move makes the home of a key that of the project at another path, in the place of one that is there, unless a
// box has one of them now. It can be called again after a crash: the record is written last.
func Move(innerHome, key, project string) error {
	return alone(innerHome, key, func(folder string) error {
		rec, err := ownhome.ReadRecord(folder)
		rec.Began, rec.Project = cmp.Or(rec.Began, rec.Project), project
		there := filepath.Join(ownhome.Base(innerHome), rec.Key())
		if err == nil && there != folder && files.Exists(there) {
			err = Reset(innerHome, rec.Key())
		}
		if err == nil {
			err = os.Rename(folder, there)
		}
		if err != nil {
			return err
		}
		return rec.Write(there)
	})
}

// alone calls do while no box has the home of a key, nor begins with it.
func alone(innerHome, key string, do func(folder string) error) error {
	folder := filepath.Join(ownhome.Base(innerHome), key)
	gate, err := owned.Lock(filepath.Join(folder, "lock"), unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer gate.Close()
	if ownhome.InUse(folder) {
		return Busy(key)
	}
	return do(folder)
}

// Busy refuses to change a home that a box has.
func Busy(key string) error {
	return &fault.Refusal{
		Code: 126,
		Msg:  fmt.Sprintf("a box works in the home %q", key),
		Hint: "inner ps says which run it is, and inner stop RUN ends it",
	}
}

// Get copies something out of the home of a key to dst, which must not be there. Nothing
// outside of the home gets into the copy, whatever links are in it, nor does what boxes were told of
// themselves. What was left out is returned.
func Get(ctx context.Context, innerHome, key, rel, dst string) ([]copytree.Left, error) {
	dir := filepath.Join(ownhome.Base(innerHome), key, ownhome.Inside)
	root, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	defer unix.Close(root)
	fd, err := copytree.Open(root, rel, unix.O_PATH)
	if err != nil {
		return nil, &fault.Refusal{
			Code: 1,
			Msg:  fmt.Sprintf("~/%s in the home %q: %v", rel, key, err),
			Hint: "inner home list --json says what is there, and names other homes, for --of",
		}
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if k := st.Mode & unix.S_IFMT; k != unix.S_IFREG && k != unix.S_IFDIR {
		return nil, fmt.Errorf("~/%s in the home %q is neither a file nor a folder", rel, key)
	}
	if rec, err := ownhome.ReadRecord(filepath.Dir(dir)); err == nil && rec.Mounted(rel) {
		return nil, &fault.Refusal{Code: 1, Msg: fmt.Sprintf("~/%s is not in the home %q: there the box sees what lies outside of it", rel, key)}
	}
	// The copy is of what was opened: a link that a box puts on the way is noticed.
	res, err := copytree.Copy(ctx, filepath.Join(dir, rel), dst, copytree.Options{Dev: st.Dev, Ino: st.Ino})
	if err == nil {
		uninstruct(dst)
	}
	return res.Left, err
}

// uninstruct takes out of a copy what boxes were told of themselves, in whatever file of it.
func uninstruct(dst string) {
	_ = filepath.WalkDir(dst, func(p string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			data, _ := files.Read(p, files.NoLinks, 1<<20)
			if plain := capability.Uninstructed(data); len(plain) < len(data) {
				fi, _ := e.Info()
				_ = files.Write(p, plain, fi.Mode().Perm())
			}
		}
		return nil // what cannot be read stays as it is
	})
}
