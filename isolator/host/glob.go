package host

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/sensitive"
)

// glob returns the paths below a folder that match a pattern, in order. Names that begin with
// a dot match like any other, and "**" stands for the folder and what lies in it, see below.
func (l *looker) glob(dir, pattern string) (out []string) {
	name, more, deeper := strings.Cut(pattern, "/")
	if name != "**" || !deeper {
		in := l.folder(dir)
		return l.match(dir, pattern, in.entries, in.known)
	}
	all, seen := l.inside[dir]
	if !seen { // many patterns ask about the same ones
		l.ahead(dir, math.MaxInt, depth)
		all = l.below(dir, depth)
		l.inside[dir] = all
	}
	notable := sensitive.Deep(pattern)
	for _, d := range all {
		switch {
		case notable && d.known && len(d.entries) == 0: // of tens of thousands
		case notable && d.known:
			out = append(out, l.match(d.path, more, d.entries, true)...)
		default:
			in := l.folder(d.path)
			out = append(out, l.match(d.path, more, in.entries, in.known)...)
		}
	}
	return out
}

// match is glob in one folder that has these entries, and no others where that is known.
func (l *looker) match(dir, pattern string, list []files.Entry, known bool) (out []string) {
	if known && len(list) == 0 {
		return nil
	}
	name, more, deeper := strings.Cut(pattern, "/")
	add := func(p string) {
		if deeper {
			out = append(out, l.glob(p, more)...)
		} else {
			out = append(out, p)
		}
	}
	if sensitive.IsPattern(name) {
		begin, end := name[:strings.IndexAny(name, `*?[\`)], name[strings.LastIndexAny(name, `*?]\`)+1:]
		for _, e := range list {
			at := len(e.Name) - len(end)
			if at < len(begin) || !strings.EqualFold(e.Name[:len(begin)], begin) ||
				!strings.EqualFold(e.Name[at:], end) { // takes a tenth of the time
				continue
			}
			ok, _ := filepath.Match(name, e.Name)
			if !ok {
				ok, _ = filepath.Match(strings.ToLower(name), strings.ToLower(e.Name))
				ok = ok && folds(dir, e.Name)
			}
			if ok {
				add(paths.Join(dir, e.Name))
			}
		}
		return out
	}
	p := paths.Join(dir, name)
	named := func(e files.Entry) bool { return strings.EqualFold(e.Name, name) } // the host says whether it is
	if (!known || slices.ContainsFunc(list, named)) && (deeper || l.look(p).Kind != Missing) {
		add(p)
	}
	return out
}

// folds reports whether a file has its name in another case, too: some file systems do not tell case.
func folds(dir, name string) bool {
	other := strings.ToUpper(name)
	if other == name {
		other = strings.ToLower(name)
	}
	a, errA := os.Lstat(filepath.Join(dir, name))
	b, errB := os.Lstat(filepath.Join(dir, other))
	return errA == nil && errB == nil && os.SameFile(a, b)
}

// holds reports whether a file has a text in its first 64 KiB. One that cannot be
// read is taken for one that has.
func holds(file, text string) bool {
	data, err := files.Head(file, files.FollowLinks, 64<<10)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, files.ErrNotRegular) {
		return false
	}
	return err != nil || bytes.Contains(data, []byte(text))
}

// noted is a folder and what of it is notable.
type noted struct {
	path string
	*notes
}

// depth is how far below a folder "**" looks.
const depth = 2

// below returns the folder and what lies in it, depth levels down. Folders that
// hold other people's packages or build results are passed over: what lies
// there was published, and there are thousands of them.
func (l *looker) below(dir string, depth int) []noted {
	n := l.note(dir)
	out := []noted{{dir, n}}
	if !n.known {
		l.shut(dir)
	}
	if depth == 0 {
		return out
	}
	for _, e := range n.entries {
		if e.IsDir() && e.Name != ".git" && !published(e.Name) {
			out = append(out, l.below(paths.Join(dir, e.Name), depth-1)...)
		}
	}
	return out
}
