package review

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/changes"
	"github.com/enr/inner/isolator/copytree"
)

// largest is the size up to which a file is shown as text.
const largest = 8 << 20

// OfCopy returns the difference between a file, which may be missing, and a copy of it. Below root the paths of
// both end alike.
func OfCopy(root, original, copied string) (changes.Change, error) {
	c := changes.Change{Source: original, Path: strings.TrimPrefix(original, root+"/"), Kind: changes.Modified, Root: root}
	c.Tree = strings.TrimSuffix(copied, "/"+c.Path)
	now, err := os.Lstat(copied)
	if err != nil {
		return c, err
	}
	c.New = now.Mode()
	if old, err := os.Lstat(original); err == nil && old.Mode().IsRegular() {
		c.Old = old.Mode()
	} else {
		c.Kind = changes.Added
	}
	c.New = c.New.Type() | cmp.Or(c.Old, c.New).Perm() // the mode is inner's
	return c, nil
}

// Diff writes a change as a unified diff.
func Diff(c changes.Change) ([]byte, error) {
	from, to := changes.Quoted("a/"+c.Path), changes.Quoted("b/"+c.Path)
	switch c.Kind {
	case changes.Added:
		from = os.DevNull
	case changes.Deleted:
		to = os.DevNull
	}
	out := fmt.Appendf(nil, "diff %s %s\n", from, to)
	switch {
	case c.Kind == changes.Mode:
		return append(out, modes(c, false)...), nil
	case c.New.IsDir() && c.Old == 0 || c.Old.IsDir() && c.New == 0:
		return fmt.Appendf(out, "%s folder, mode %s\n", c.Kind, octal(c.Old|c.New)), nil
	}
	old, oldWhy, err := text(c.Root, c.Path, c.Old, copytree.Regular)
	if err != nil {
		return nil, err
	}
	now, newWhy, err := text(c.Tree, c.Path, c.New, copytree.Closed)
	if err != nil {
		return nil, err
	}
	// The first line names the file, and what follows is about it.
	why := cmp.Or(newWhy, oldWhy)
	out = append(out, modes(c, why == "")...)
	if why != "" {
		return fmt.Appendf(out, "%s files %s and %s differ\n", why, from, to), nil
	}
	_, hunks, _ := bytes.Cut(diff.Diff(from, old, to, now), []byte("\n")) // nil for a new or deleted empty file
	return append(out, hunks...), nil
}

// modes returns the lines of a diff about permissions; shown says that the content follows.
func modes(c changes.Change, shown bool) string {
	switch {
	case c.Old != 0 && c.New != 0 && octal(c.Old) != octal(c.New):
		return fmt.Sprintf("old mode %s\nnew mode %s\n", octal(c.Old), octal(c.New))
	case c.Old == 0 && shown:
		return fmt.Sprintf("new file mode %s\n", octal(c.New))
	}
	return ""
}

// text reads one side of a change; why says in a word that it is not shown.
func text(root, rel string, mode fs.FileMode, open func(int, string) (*os.File, fs.FileInfo, error)) (data []byte, why string, err error) {
	if mode == 0 || mode.IsDir() {
		return nil, "", nil
	}
	dir, err := changes.OpenDir(root)
	if err != nil {
		return nil, "", err
	}
	defer unix.Close(dir)
	if mode&fs.ModeSymlink != 0 {
		target, err := copytree.ReadLink(dir, rel)
		return []byte(target + "\n"), "", err
	}
	if !mode.IsRegular() {
		return nil, "special", nil
	}
	f, _, err := open(dir, rel)
	if err == nil {
		defer f.Close()
		data, err = io.ReadAll(io.LimitReader(f, largest+1))
	}
	switch {
	case len(data) > largest:
		why = "large"
	case bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0:
		why = "binary"
	}
	return data, why, err
}

// octal returns the mode as git writes it.
func octal(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return fmt.Sprintf("040%03o", m.Perm())
	case m&fs.ModeSymlink != 0:
		return "120000"
	}
	return fmt.Sprintf("100%03o", m.Perm())
}
