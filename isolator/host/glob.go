package host

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
)

// glob returns the paths that match a pattern, in order. Names that begin with
// a dot match like any other.
func (l *looker) glob(pattern string) []string {
	dir, last := filepath.Split(pattern)
	if dir != "/" {
		dir = strings.TrimSuffix(dir, "/")
	}
	switch {
	case dir == "" || last == "":
		return nil // relative, or the root folder itself
	case !strings.ContainsAny(last, `*?[\`):
		return l.named(dir, last)
	}
	var out []string
	matches := matcher(last)
	for _, d := range l.globDir(dir) {
		for _, e := range l.list(d) {
			if matches(e.Name()) {
				out = append(out, paths.Join(d, e.Name()))
			}
		}
	}
	return out
}

// named returns the paths of that name in the folders a pattern means.
func (l *looker) named(dir, name string) (out []string) {
	if !strings.ContainsAny(dir, `*?[\`) {
		if p := paths.Join(dir, name); l.dir(p).Kind != Missing {
			out = append(out, p)
		}
		return out
	}
	for _, d := range l.globDir(dir) {
		l.Names(d) // most folders lack the name
		if p := paths.Join(d, name); l.look(p).Kind != Missing {
			out = append(out, p)
		}
	}
	return out
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

// depth is how far below a folder "**" looks.
const depth = 2

// below returns the folder and what lies in it, depth levels down. Folders that
// hold other people's packages or build results are passed over: what lies
// there was published, and there are thousands of them.
func (l *looker) below(dir string, depth int) []string {
	out := []string{dir}
	if depth == 0 {
		return out
	}
	for _, e := range l.list(dir) {
		if e.IsDir() && e.Name() != ".git" && !published(e.Name()) {
			out = append(out, l.below(paths.Join(dir, e.Name()), depth-1)...)
		}
	}
	return out
}

// globDir returns the folders a pattern's folder part means: many patterns ask about the same ones.
func (l *looker) globDir(dir string) []string {
	dirs, seen := l.meant[dir]
	if !seen {
		dirs = []string{dir}
		if strings.ContainsAny(dir, `*?[\`) {
			dirs = l.meantBy(dir)
		}
		l.meant[dir] = dirs
	}
	return dirs
}

func (l *looker) meantBy(dir string) []string {
	if root, ok := strings.CutSuffix(dir, "/**"); ok {
		return l.below(cmp.Or(unescape(root), "/"), depth)
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
