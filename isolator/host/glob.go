package host

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/files"
)

// glob returns the paths that match a pattern, in order. Names that begin with
// a dot match like any other. It reads each folder once, however many patterns
// it is asked about.
func (l looker) glob(pattern string) []string {
	dir, last := filepath.Split(pattern)
	dir = strings.TrimSuffix(dir, "/")
	switch {
	case dir == "":
		return nil // relative, or the root folder itself
	case !strings.ContainsAny(pattern, `*?[\`):
		if l.dir(pattern).Kind == Missing {
			return nil
		}
		return []string{pattern}
	}
	var out []string
	var matches func(string) bool // made when there is something to match
	plain, star := !strings.ContainsAny(last, `*?[\`), !strings.ContainsAny(last, `?[\`)
	first, end := last[:max(strings.IndexByte(last, '*'), 0)], last[strings.LastIndexByte(last, '*')+1:]
	for _, f := range l.globDir(dir) {
		if plain {
			if p := f.dir + "/" + last; !f.in.lacks(last) && l.look(p).Kind != Missing {
				out = append(out, p)
			}
			continue
		}
		if len(f.in.names) == 0 || star && (first != "" && !f.in.begin.has(first[0]) || end != "" && !f.in.end.has(end[len(end)-1])) {
			continue
		}
		if matches == nil {
			matches = matcher(last)
		}
		for _, n := range f.in.names {
			if matches(n.name) {
				out = append(out, f.dir+"/"+n.name)
			}
		}
	}
	return out
}

// found is a folder that a pattern means, and what it holds.
type found struct {
	dir string
	in  *listing
}

// lacks reports whether a folder was listed and does not hold a name in any case:
// some file systems do not tell case.
func (in *listing) lacks(last string) bool {
	if len(in.names) == 0 {
		return false // or it could not be read
	}
	if last != "" && last[0] < 0x80 && !in.begin.has(last[0]) && !in.begin.has(last[0]^0x20) { // the other case, of a letter
		return true
	}
	return !slices.ContainsFunc(in.names, func(n name) bool { return len(n.name) == len(last) && strings.EqualFold(n.name, last) })
}

// matcher is filepath.Match for one pattern and many names. Nearly all patterns have
// stars only, and those take a tenth of the time.
func matcher(pattern string) func(string) bool {
	if strings.ContainsAny(pattern, `?[\`) {
		return func(name string) bool {
			ok, err := filepath.Match(pattern, name)
			return err == nil && ok
		}
	}
	parts := strings.Split(pattern, "*")
	first, last, between := parts[0], parts[len(parts)-1], parts[1:max(len(parts)-1, 1)]
	return func(name string) bool {
		if len(parts) == 1 || len(name) < len(first)+len(last) || !strings.HasPrefix(name, first) || !strings.HasSuffix(name, last) {
			return len(parts) == 1 && name == pattern
		}
		rest := name[len(first) : len(name)-len(last)]
		for _, part := range between {
			_, after, ok := strings.Cut(rest, part)
			if !ok {
				return false
			}
			rest = after
		}
		return true
	}
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

// name is one entry of a folder.
type name struct {
	name string
	dir  bool
	link bool
}

// depth is how far below a folder "**" looks.
const depth = 2

// published reports whether a folder of that name holds other people's packages
// or build results.
func published(name string) bool {
	switch name {
	case "node_modules", "vendor", "target", "dist", "build", ".venv", "venv", "__pycache__", ".cache", ".tox", "site-packages":
		return true
	}
	return false
}

// below returns the folder and what lies in it, depth levels down. Folders that
// hold other people's packages or build results are passed over: what lies
// there was published, and there are thousands of them.
func (l looker) below(dir string, depth int) []string {
	out := []string{dir}
	if depth == 0 {
		return out
	}
	for _, n := range l.list(dir) {
		if n.dir && n.name != ".git" && !published(n.name) {
			out = append(out, l.below(dir+"/"+n.name, depth-1)...)
		}
	}
	return out
}

// globDir returns the folders a pattern's folder part means. It lists them: many patterns
// ask about the same ones.
func (l looker) globDir(dir string) []found {
	if seen, ok := l.meant[dir]; ok {
		return seen
	}
	dirs := []string{dir}
	if strings.ContainsAny(dir, `*?[\`) {
		dirs = l.meantBy(dir)
	}
	out := make([]found, 0, len(dirs))
	for _, d := range dirs {
		out = append(out, found{d, l.listing(d)})
	}
	l.meant[dir] = out
	return out
}

func (l looker) meantBy(dir string) []string {
	if root, ok := strings.CutSuffix(dir, "/**"); ok {
		return l.below(unescape(root), depth)
	}
	if !strings.ContainsAny(dir, "*?[") || plainEscapes(dir) {
		return []string{unescape(dir)}
	}
	return l.glob(dir)
}

// plainEscapes reports whether every special byte of a pattern is escaped.
func plainEscapes(p string) bool {
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '*', '?', '[':
			return false
		}
	}
	return true
}

func unescape(p string) string {
	var b strings.Builder
	for i := 0; i < len(p); i++ {
		if p[i] == '\\' && i+1 < len(p) {
			i++
		}
		b.WriteByte(p[i])
	}
	return b.String()
}

// listing is what a folder holds, sorted, and what the names begin and end with: in each of hundreds of folders is looked
// for dozens of patterns, most of which nothing there can match.
type listing struct {
	names      []name
	begin, end letters
}

// letters is a set of bytes.
type letters [4]uint64

func (l *letters) add(c byte) { l[c>>6] |= 1 << (c & 63) }

func (l *letters) has(c byte) bool { return l[c>>6]&(1<<(c&63)) != 0 }

// list returns what a folder holds, sorted; nothing when it cannot be read.
func (l looker) list(dir string) []name { return l.listing(dir).names }

func (l looker) listing(dir string) *listing {
	if seen, ok := l.names[dir]; ok {
		return seen
	}
	in := new(listing)
	if f, err := os.Open(dir); err == nil {
		entries, _ := f.ReadDir(-1) // what could be read counts
		f.Close()
		in.names = make([]name, 0, len(entries))
		for _, e := range entries {
			n := e.Name()
			in.names = append(in.names, name{n, e.IsDir(), e.Type()&fs.ModeSymlink != 0})
			in.begin.add(n[0])
			in.end.add(n[len(n)-1])
		}
		slices.SortFunc(in.names, func(a, b name) int { return strings.Compare(a.name, b.name) })
	}
	l.names[dir] = in
	return in
}
