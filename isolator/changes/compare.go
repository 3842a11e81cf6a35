package changes

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/copytree"
)

// Kind is what happened to a path.
type Kind string

// The kinds of a change.
const (
	Added    Kind = "added"
	Modified Kind = "modified"
	Deleted  Kind = "deleted"
	Mode     Kind = "mode" // nothing but the permissions
	Type     Kind = "type" // it is another kind of thing
)

// Change is one difference between a copy and its original, as it is now.
type Change struct {
	Source  string         `json:"source"` // of the copy
	Path    string         `json:"path"`   // below Root, slash-separated
	Kind    Kind           `json:"kind"`
	Old     fs.FileMode    `json:"-"`                  // 0 when there is nothing in the original
	New     fs.FileMode    `json:"-"`                  // 0 when there is nothing in the copy
	Target  string         `json:"target,omitempty"`   // where a link of the copy leads
	Clash   string         `json:"conflict,omitempty"` // how the original changed since it was copied, "" when it did not
	Root    string         `json:"-"`                  // of the original
	Tree    string         `json:"-"`                  // of the copy
	Current copytree.State `json:"-"`                  // of the original, when it was compared
}

// Full returns the path of the original.
func (c Change) Full() string { return filepath.Join(c.Root, c.Path) }

// Name returns the path for people: folders end in a slash.
func (c Change) Name() string {
	if (c.New | c.Old).IsDir() && (c.New == 0 || c.New.IsDir()) {
		return c.Path + "/"
	}
	return c.Path
}

// Count says how many changes there are of each kind, by its name; those of git's own records count as
// "git", and nowhere else.
type Count map[Kind]int

// countOf is the order in which kinds are said, and how.
var countOf = []struct {
	Kind
	what string
}{{Added, "added"}, {Modified, "modified"}, {Deleted, "deleted"}, {Mode, "with other permissions"}, {gitRecords, "of git's own records"}}

const gitRecords Kind = "git"

func (c Count) String() string {
	var parts []string
	for _, k := range countOf {
		if n := c[k.Kind]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, k.what))
		}
	}
	if len(parts) == 0 {
		return "nothing changed"
	}
	return strings.Join(parts, ", ")
}

// CountOf counts the changes of each kind.
func CountOf(list []Change) Count {
	n := Count{}
	for _, k := range countOf {
		n[k.Kind] = 0
	}
	for _, c := range list {
		switch {
		case c.GitRecord():
			n[gitRecords]++
		case c.Kind == Type:
			n[Modified]++
		default:
			n[c.Kind]++
		}
	}
	return n
}

// Compare returns what is different, sorted by source and path. Changes that were applied before
// are left out, whatever happened to their originals since.
func (k *Kept) Compare() ([]Change, error) {
	if k.Damaged != nil {
		return nil, k.Damaged
	}
	var out []Change
	for i, c := range k.Record.Copies {
		list, err := k.compare(i, c)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	return slices.DeleteFunc(out, func(c Change) bool { return slices.Contains(k.Record.Applied, c.Full()) }), nil
}

func (k *Kept) compare(i int, c Copy) ([]Change, error) {
	base, err := readManifest(filepath.Join(k.Dir, manifestName(i)))
	if err != nil {
		return nil, err
	}
	w := &comparer{copy: c, tree: filepath.Join(k.Dir, TreeName(i)), base: base, seen: make(map[string]bool, len(base))}
	kept, err := OpenDir(k.Dir)
	if err != nil {
		return nil, err
	}
	defer unix.Close(kept)
	tree, err := copytree.List(kept, TreeName(i))
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: w.tree, Err: err}
	}
	defer tree.Close()
	w.to = int(tree.Fd())
	w.from, err = OpenDir(c.Root())
	switch {
	case errors.Is(err, unix.ENOENT):
		w.from = -1 // the original is gone: everything is new, and in conflict
	case err != nil:
		return nil, err
	default:
		defer unix.Close(w.from)
	}
	if err := copytree.Walk(w.tree, []string{"."}, w.found); err != nil || w.err != nil {
		return nil, errors.Join(err, w.err)
	}
	w.deleted()
	slices.SortFunc(w.list, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return w.list, nil
}

// comparer compares one copy.
type comparer struct {
	copy     Copy
	tree     string
	to, from int // the copy and the original
	base     map[string]copytree.Entry
	seen     map[string]bool
	list     []Change
	err      error // the first one
}

// found compares what was found in the copy, and reports whether it is looked into. A folder whose path
// does not fit a system call is not, and said to be so.
func (w *comparer) found(at string, st unix.Stat_t) bool {
	w.seen[at] = true
	switch now := copytree.StateOf(st); {
	case now.Mode&fs.ModeIrregular != 0: // a socket, FIFO or device of the box: nobody wants it
		return false
	case now.Mode.IsDir() && len(at) >= unix.PathMax:
		c := w.change(at, Added)
		c.New, c.Clash = now.Mode, "too deep to be looked into"
		w.list = append(w.list, c)
		return false
	default:
		if err := w.one(at, now); err != nil && w.err == nil {
			w.err = err
		}
	}
	return true
}

// change is one at a path, of which the original is known.
func (w *comparer) change(at string, kind Kind) Change {
	return Change{Source: w.copy.Source, Path: at, Kind: kind, Root: w.copy.Root(), Tree: w.tree, Current: w.original(at)}
}

// one compares one path of the copy.
func (w *comparer) one(at string, now copytree.State) error {
	base, known := w.base[at]
	if known && w.untouched(base, now) {
		return nil
	}
	c := w.change(at, "")
	c.Old, c.New = c.Current.Mode, now.Mode
	if now.Mode&fs.ModeSymlink != 0 {
		target, err := copytree.ReadLink(w.to, at)
		if err != nil {
			return err
		}
		c.Target = target
		if known && base.Link == target && base.Mode&fs.ModeSymlink != 0 {
			return nil
		}
	}
	kind, err := w.kind(at, c)
	if kind == "" || err != nil {
		return err
	}
	c.Kind, c.Clash = kind, clash(base, known, c.Current)
	w.list = append(w.list, c)
	return nil
}

// untouched reports whether a file or folder of the copy is as it was copied, as far as its status tells.
func (w *comparer) untouched(base copytree.Entry, now copytree.State) bool {
	switch {
	case now.Mode.IsRegular() && base.Mode.IsRegular():
		return now.Ino == base.Copy && now.Ctime < w.copy.Stamp
	case now.Mode.IsDir() && base.Mode.IsDir():
		return now.Mode.Perm() == base.Mode.Perm()
	}
	return false
}

// kind returns how a path of the copy differs from the original, or "".
func (w *comparer) kind(at string, c Change) (Kind, error) {
	switch {
	case c.Old == 0:
		return Added, nil
	case c.Old.Type() != c.New.Type():
		return Type, nil
	}
	same, err := w.same(at, c)
	switch {
	case err != nil:
		return "", err
	case !same:
		return Modified, nil
	case c.New&fs.ModeSymlink == 0 && c.New.Perm() != c.Old.Perm():
		return Mode, nil
	}
	return "", nil
}

// clash says what has happened to the original since it was copied, or was not, in words.
func clash(base copytree.Entry, known bool, now copytree.State) string {
	switch gone := now.Mode == 0; {
	case gone && known:
		return "the original was deleted"
	case !gone && !known:
		return "the original has one of its own"
	case known && !unchanged(base, now):
		return "the original changed"
	}
	return ""
}

// deleted finds what was copied and is no longer in the copy.
func (w *comparer) deleted() {
	for at, base := range w.base {
		if at == "." || w.seen[at] {
			continue
		}
		c := w.change(at, Deleted)
		if c.Old = c.Current.Mode; c.Old == 0 {
			continue // in the original neither
		}
		c.Clash = clash(base, true, c.Current)
		w.list = append(w.list, c)
	}
}

// unchanged reports whether the original is what was copied. A folder is one as
// long as it is a folder.
func unchanged(base copytree.Entry, now copytree.State) bool {
	if base.Mode.IsDir() {
		return now.Mode.IsDir()
	}
	return now == base.State
}

// original looks at a path of the original, through no link.
func (w *comparer) original(at string) copytree.State {
	if w.from < 0 {
		return copytree.State{}
	}
	st, err := copytree.Lstat(w.from, at)
	if err != nil {
		return copytree.State{}
	}
	return copytree.StateOf(st)
}

// same reports whether a path has the same content in the copy and the
// original.
func (w *comparer) same(at string, c Change) (bool, error) {
	switch {
	case c.New.IsDir():
		return true, nil
	case c.New&fs.ModeSymlink != 0:
		target, err := copytree.ReadLink(w.from, at)
		return err == nil && target == c.Target, nil
	}
	mine, mineIs, err := copytree.Closed(w.to, at)
	if err != nil {
		return false, err
	}
	defer mine.Close()
	theirs, theirsIs, err := copytree.Regular(w.from, at)
	if err != nil {
		return false, err
	}
	defer theirs.Close()
	if mineIs.Size() != theirsIs.Size() {
		return false, nil
	}
	a, b := sha256.New(), sha256.New()
	_, errMine := io.Copy(a, mine)
	_, errTheirs := io.Copy(b, theirs)
	return bytes.Equal(a.Sum(nil), b.Sum(nil)), errors.Join(errMine, errTheirs)
}
