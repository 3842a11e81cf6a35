package ownhome

import (
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

	"github.com/enr/inner/isolator/stage"
)

// Kept is something in a home that a run wrote: a file, or a folder with files.
type Kept struct {
	Path   string // below the home
	Folder bool
	Files  int
}

// mostEntries is how many entries of a home are inspected after each run, and mostDepth how
// deep: each name on the way costs a step, for each entry.
const (
	mostEntries = 20_000
	mostDepth   = 40
)

// tooDeep reports whether a path is as deep as a home is looked into.
func tooDeep(p string) bool { return strings.Count(p, "/") >= mostDepth }

// Written lists what was written in the home since a time, as files know it. Settings and
// caches are left out: whatever is in a name with a dot, and the Go tool's own folder.
func (h *Home) Written(since time.Time) (out []Kept) {
	n := 0
	walk(h.Dir, time.Time{}, []string{"."}, func(p string, st unix.Stat_t) bool {
		n++
		top, _, _ := strings.Cut(p, "/")
		if n > mostEntries || strings.HasPrefix(top, ".") || top == "go" || tooDeep(p) {
			return false
		}
		changed := time.Unix(st.Ctim.Unix()) // a time that no program can set
		if st.Mode&unix.S_IFMT == unix.S_IFREG && !mountedOn(h.rec.Points, p) && !changed.Before(since) {
			k := h.group(p)
			if i := slices.IndexFunc(out, func(o Kept) bool { return o.Path == k.Path }); i >= 0 {
				out[i].Files++
			} else {
				out = append(out, k)
			}
		}
		return true
	})
	slices.SortFunc(out, func(a, b Kept) int { return strings.Compare(a.Path, b.Path) })
	return out
}

func mountedOn(points []Point, p string) bool {
	return slices.ContainsFunc(points, func(q Point) bool { return q.Path == p })
}

// group is the file, or the folder it is in: the highest that is no more than the way to a
// place where something is mounted.
func (h *Home) group(p string) Kept {
	for i, c := range p {
		if c != '/' {
			continue
		}
		dir := p[:i]
		if !slices.ContainsFunc(h.rec.Points, func(q Point) bool { return q.Path == dir || strings.HasPrefix(q.Path, dir+"/") }) {
			return Kept{Path: dir, Folder: true, Files: 1}
		}
	}
	return Kept{Path: p, Files: 1}
}

// Info is what is known of a home.
type Info struct {
	Owner
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
	entries, err := os.ReadDir(Base(innerHome))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Info
	for _, e := range entries {
		switch {
		case strings.HasPrefix(e.Name(), "."):
			// A Reset of the version before was ended.
			_ = stage.Discard(innerHome, filepath.Join(Base(innerHome), e.Name()))
		case e.IsDir():
			out = append(out, Look(innerHome, e.Name()))
		}
	}
	return out, nil
}

// Look says what is in the home of a key, as far as it is looked into.
func Look(innerHome, key string) Info {
	folder := filepath.Join(Base(innerHome), key)
	info := Info{Key: key}
	rec, err := readRecord(folder)
	if info.Owner = rec.Owner; err != nil {
		info.Damaged = err.Error()
	}
	if fi, err := os.Lstat(filepath.Join(folder, "lock")); err == nil {
		info.Used = fi.ModTime()
	}
	info.Running = inUse(folder)
	tops := map[string]*Entry{}
	walk(filepath.Join(folder, inside), time.Time{}, []string{"."}, func(p string, st unix.Stat_t) bool {
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
		return !tooDeep(p)
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
