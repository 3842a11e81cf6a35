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
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/visible"
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

// Quoted writes a name as git does: one that could be taken for another line, or drive a terminal, is in quotes
// with its bytes in octal.
func Quoted(name string) string {
	out := `"`
	for rest := name; rest != ""; {
		r, n := utf8.DecodeRuneInString(rest)
		if r != '"' && r != '\\' && r != utf8.RuneError && visible.Shown(r) {
			out += rest[:n]
		} else {
			for _, c := range []byte(rest[:n]) {
				out += fmt.Sprintf(`\%03o`, c)
			}
		}
		rest = rest[n:]
	}
	if out[1:] == name {
		return name
	}
	return out + `"`
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
	return slices.DeleteFunc(out, func(c Change) bool { return slices.Contains(k.Record.Applied, Path(c.Full())) }), nil
}

func (k *Kept) compare(i int, c Copy) (list []Change, err error) {
	base, err := readManifest(filepath.Join(k.Dir, manifestName(i)))
	if err != nil {
		return nil, err
	}
	w := &comparer{copy: c, tree: filepath.Join(k.Dir, TreeName(i)), from: -1}
	now := make(map[string]copytree.State, len(base))
	err = copytree.Walk(k.Dir, []string{TreeName(i)}, func(at string, st unix.Stat_t) bool {
		at = at[len(TreeName(i))+1:]
		now[at] = copytree.StateOf(st)
		return len(at) < unix.PathMax // one that does not fit a system call is said to be so
	})
	if err != nil {
		return nil, err
	}
	if w.to, err = OpenDir(w.tree); err != nil {
		return nil, err
	}
	defer unix.Close(w.to)
	switch w.from, err = OpenDir(c.Root()); {
	case errors.Is(err, unix.ENOENT): // the original is gone: everything is new, and in conflict
	case err != nil:
		return nil, err
	default:
		defer unix.Close(w.from)
	}
	for at := range base {
		if _, there := now[at]; !there && at != "." {
			now[at] = copytree.State{}
		}
	}
	for at, is := range now {
		was, known := base[at]
		if is.Mode&fs.ModeIrregular != 0 || known && c.untouched(was, is) { // a socket, FIFO or device of the box: nobody wants it
			continue
		}
		ch, err := w.one(at, was, known, is)
		if err != nil {
			return nil, err
		}
		if ch.Kind != "" {
			list = append(list, ch)
		}
	}
	slices.SortFunc(list, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return list, nil
}

// comparer compares one copy.
type comparer struct {
	copy     Copy
	tree     string
	to, from int // the copy and the original
}

// one compares one path of the copy, which may be no longer there, with the original. No kind is none.
func (w *comparer) one(at string, base copytree.Entry, known bool, now copytree.State) (c Change, err error) {
	c = Change{Source: string(w.copy.Source), Path: at, Root: w.copy.Root(), Tree: w.tree, New: now.Mode}
	if st, err := copytree.Lstat(w.from, at); err == nil { // through no link
		c.Current = copytree.StateOf(st)
	}
	c.Old = c.Current.Mode
	if now.Mode.IsDir() && len(at) >= unix.PathMax {
		c.Kind, c.Clash = Added, "too deep to be looked into"
		return c, nil
	}
	if now.Mode&fs.ModeSymlink != 0 {
		if c.Target, err = copytree.ReadLink(w.to, at); err != nil || known &&
			base.Link == c.Target && base.Mode&fs.ModeSymlink != 0 {
			return c, err
		}
	}
	same := true
	if c.Old.Type() == c.New.Type() && c.Old != 0 && c.New != 0 {
		same, err = w.same(at, c)
	}
	c.Kind = KindOf(c.Old, c.New, same)
	switch gone := c.Old == 0; {
	case gone && known:
		c.Clash = "the original was deleted"
	case !gone && !known:
		c.Clash = "the original has one of its own"
	case known && c.Current != base.State && !(base.Mode.IsDir() && c.Old.IsDir()): // a folder is one as long as it is a folder
		c.Clash = "the original changed"
	}
	return c, err
}

// untouched reports whether a file or folder of the copy is as it was copied, as far as its status tells.
func (c Copy) untouched(base copytree.Entry, now copytree.State) bool {
	switch {
	case now.Mode.IsRegular() && base.Mode.IsRegular():
		return now.Ino == base.Copy && now.Ctime < c.Stamp
	case now.Mode.IsDir() && base.Mode.IsDir():
		return now.Mode.Perm() == base.Mode.Perm()
	}
	return false
}

// KindOf returns how what has a mode differs from what had one, which is 0 where nothing is. same says that its
// content does not.
func KindOf(old, now fs.FileMode, same bool) Kind {
	switch {
	case old == 0 && now == 0:
		return ""
	case now == 0:
		return Deleted
	case old == 0:
		return Added
	case old.Type() != now.Type():
		return Type
	case !same:
		return Modified
	case now&fs.ModeSymlink == 0 && now.Perm() != old.Perm():
		return Mode
	}
	return ""
}

// same reports whether a path has the same content in the copy and the original, where it is of one kind.
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
