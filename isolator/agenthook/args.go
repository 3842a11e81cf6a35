package agenthook

import (
	"cmp"
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/paths"
)

// judge goes through the arguments of one call.
type judge struct {
	box     Box
	o       Options
	tool    tool
	known   bool
	changed bool     // an argument was changed
	from    []string // the folders that patterns of paths are relative to, absolute
}

// object judges the arguments of a tool that works outside of the box, and returns the arguments
// to use instead.
func (j *judge) object(in object) (object, error) {
	if err := j.folders(in); err != nil {
		return nil, err
	}
	given := len(j.from) > 0
	if !given {
		j.from = []string{j.o.Dir}
	}
	out, err := j.members(in)
	if err != nil || !j.tool.here || given {
		return out, err
	}
	_, err = j.path(".", j.tool.use)
	return out, err
}

// folders finds the folders that patterns of paths are relative to, and whether everything below
// them is read.
func (j *judge) folders(in object) error {
	if s, ok := in[j.tool.only].(string); ok && plainPattern(s) {
		j.tool.use.Tree = false // the pattern is judged by itself
	}
	for key, v := range in {
		if s, ok := v.(string); ok && s != "" && j.kindOf(key) == path {
			dir, err := j.absolute(s)
			if err != nil {
				return err
			}
			j.from = append(j.from, dir)
		}
	}
	return nil
}

func (j *judge) members(in object) (object, error) {
	out := object{}
	for key, v := range in {
		if !j.known {
			if err := j.unknown(key, v); err != nil {
				return nil, err
			}
		}
		var err error
		if out[key], err = j.value(j.kindOf(key), v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// unknown judges the name of an argument of a tool that is not known.
func (j *judge) unknown(key string, v any) error {
	if runs(key) && v != nil {
		return denied("a tool that is not known, with an argument %q: a command would run outside of the sandbox", key)
	}
	_, err := j.text(byLooks, key)
	return err
}

// kindOf returns what an argument is.
func (j *judge) kindOf(key string) kind {
	k := ofKnown(key)
	if own := j.tool.args[key]; own != byLooks {
		k = own
	}
	switch {
	case j.known && key == j.tool.only && key != "":
		return glob
	case j.known && k != byLooks:
		return k
	case key == "query" && !j.known: // in SQL it can name a file
		return query
	case freeText(key):
		return free
	}
	return byLooks
}

func (j *judge) value(k kind, v any) (any, error) {
	switch v := v.(type) {
	case string:
		return j.text(k, v)
	case object:
		return j.members(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			if _, is := e.(string); is && k == free && !j.known {
				k = byLooks // a list is no text
			}
			var err error
			if out[i], err = j.value(k, e); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return v, nil
}

// Compiled at their first use: most starts of inner judge nothing.
var (
	scheme    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://\S+$`) })
	separator = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("[\\s=:,;|<>()\\[\\]{}\"'`]+") })
)

// text judges one text and returns the text to use instead.
func (j *judge) text(k kind, s string) (string, error) {
	switch {
	case k == free:
		return s, nil
	case strings.ContainsRune(s, 0):
		return "", errors.New("an argument has a NUL character")
	}
	check := map[kind]func(string) error{link: j.link, links: j.links, glob: j.glob, query: j.query}[k]
	switch {
	case check != nil:
		return s, check(s)
	case k == path && strings.Contains(s, "://"):
		return s, j.linkOrPath(s)
	case k == path:
		return j.path(s, j.tool.use)
	case scheme().MatchString(strings.TrimSpace(s)):
		return s, j.linkOrPath(strings.TrimSpace(s))
	}
	return j.loose(s)
}

// loose judges a text that may be a path, or have paths in it.
func (j *judge) loose(s string) (string, error) {
	out := s
	if j.looks(s) {
		var err error
		if out, err = j.path(s, j.tool.use); err != nil {
			return "", err
		}
	}
	return out, j.words(s)
}

// words judges the words of a text that look like paths.
func (j *judge) words(s string) error {
	for _, word := range separator().Split(s, -1) {
		if word == s || !shaped(word) {
			continue
		}
		to, err := j.path(word, j.tool.use)
		if err == nil && to != word {
			err = denied("%s is /tmp of the session only where it stands alone", word)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// shaped reports whether a text looks like a path by itself.
func shaped(s string) bool {
	return strings.Contains(s, "/") || strings.HasPrefix(s, "~") || s == "." || s == ".."
}

// looks reports whether a text looks like a path, or names something in the working folder.
func (j *judge) looks(s string) bool {
	t := strings.TrimSpace(s)
	if t == "" || shaped(t) {
		return t != ""
	}
	for _, name := range []string{s, t} {
		if _, err := os.Lstat(filepath.Join(j.o.Dir, name)); err == nil {
			return true
		}
	}
	return false
}

// path judges one path, and returns the path to use instead: in a session, /tmp is a folder of
// the session.
func (j *judge) path(s string, use Use) (string, error) {
	if err := j.trimmed(s, use); err != nil {
		return "", err
	}
	if strings.ContainsRune(s, 0) {
		return "", errors.New("a path has a NUL character")
	}
	if len(s) >= unix.PathMax { // no file has such a name, and to look it up takes long
		return "", denied("%.40q…: longer than the path of a file can be", s)
	}
	p, err := j.absolute(s)
	if err != nil {
		return "", err
	}
	reason := j.box.Path(p, use)
	if reason == "" {
		return s, nil
	}
	return j.session(s, p, reason)
}

// trimmed judges a path with spaces around it as the tools take it that cut these off.
func (j *judge) trimmed(s string, use Use) error {
	t := strings.TrimSpace(s)
	if t == s || t == "" {
		return nil
	}
	if to, err := j.path(t, use); err != nil || to != t {
		return errors.Join(err, denied("%q begins or ends with a space", s))
	}
	return nil
}

// session returns the path to use instead of one that the box does not have for a reason: in /tmp
// of the session.
func (j *judge) session(s, p, reason string) (string, error) {
	tmp, at, err := j.inTmp(p)
	if err != nil {
		return "", err
	}
	if tmp == "" {
		return "", denied("%s", reason)
	}
	to := filepath.Join(tmp, at)
	if to != s {
		j.changed = true
	}
	return to, plain(tmp, at)
}

// inTmp returns the folder of the session that is /tmp of the box, and the rest of a path that is
// below one of the two; "" for any other path.
func (j *judge) inTmp(p string) (tmp, rest string, err error) {
	if j.o.Tmp == nil {
		return "", "", nil
	}
	if tmp, err = j.o.Tmp(); err != nil || tmp == "" {
		return "", "", err
	}
	for _, dir := range []string{tmp, "/tmp"} {
		if rest, ok := paths.Rest(dir, p); ok {
			return tmp, rest, nil
		}
	}
	return "", "", nil
}

// plain refuses everything but files and folders: a box can leave any link in /tmp, which the
// tool would follow outside.
func plain(dir, rest string) error {
	for _, name := range strings.FieldsFunc(rest, func(r rune) bool { return r == '/' }) {
		dir = filepath.Join(dir, name)
		fi, err := os.Lstat(dir)
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil || !fi.IsDir() && !fi.Mode().IsRegular() {
			return denied("%s in /tmp of the session is a link or no file", rest)
		}
	}
	return nil
}

// absolute returns a path as the tool opens it. It refuses a ".." after a link, or anything else
// that is not a folder, so that tools that clean a path and tools that do not open the same file.
func (j *judge) absolute(s string) (string, error) {
	p := s
	switch {
	case s == "~" || strings.HasPrefix(s, "~/"):
		p = filepath.Join(j.o.Home, s[1:])
	case strings.HasPrefix(s, "~"), strings.HasPrefix(s, "$"), strings.HasPrefix(s, "%"):
		return "", denied("%s: write the path out", s)
	case !filepath.IsAbs(s):
		p = j.o.Dir + "/" + s
	}
	at := "/"
	for name := range strings.SplitSeq(p, "/") {
		if name == ".." {
			if fi, err := os.Lstat(at); err != nil || !fi.IsDir() {
				return "", denied("%s goes through something that is no folder", s)
			}
		}
		at = filepath.Join(at, name)
	}
	return at, nil
}

// query judges the absolute paths, and those in the home, that a query names. A query may also be
// plain prose: a path in it counts as one that is read.
func (j *judge) query(s string) error {
	for _, word := range separator().Split(s, -1) {
		if strings.HasPrefix(word, "/") || strings.HasPrefix(word, "~/") {
			if _, err := j.path(word, Use{Read: true}); err != nil {
				return err
			}
		}
	}
	return nil
}

// glob checks the folder that a pattern of paths begins with, and what it can match there.
func (j *judge) glob(s string) error {
	if j.tool.only != "" && plainPattern(s) && !strings.Contains(s, "/") {
		s = "**/" + s // a name alone is looked for in all folders
	}
	base, err := folderOf(s)
	if err != nil {
		return err
	}
	use := j.tool.use
	use.Tree = true
	if plainPattern(s) {
		use.Only = strings.TrimPrefix(strings.TrimPrefix(s, base), "/")
	}
	if base != "" && (filepath.IsAbs(base) || strings.ContainsAny(base[:1], "~$%")) {
		to, err := j.path(base, use)
		if err == nil && to != base {
			return denied("%s: a pattern below /tmp, which is the session's: ask for it with a command", s)
		}
		return err
	}
	for _, dir := range j.from {
		if _, err := j.path(filepath.Join(dir, base), use); err != nil {
			return err
		}
	}
	return nil
}

// folderOf returns the folder that a pattern of paths begins with, "" for none.
func folderOf(pattern string) (string, error) {
	base := strings.TrimPrefix(strings.TrimSpace(pattern), "!")
	parts := strings.Split(base, "/")
	if strings.Contains(base, "{") && strings.ContainsAny(base, "/~") || slices.Contains(parts, "..") {
		return "", denied("%s: write the folder of the pattern out", pattern)
	}
	i := slices.IndexFunc(parts, func(p string) bool { return strings.ContainsAny(p, `*?[]{}\!()`) })
	switch {
	case i < 0:
		return base, nil
	case i == 1 && parts[0] == "":
		return "/", nil
	}
	return strings.Join(parts[:i], "/"), nil
}

// plainPattern reports whether all tools take a pattern of paths the same way: it is relative, and
// there is nothing in it but names, "**" for folders, and "*" and "?" in the last name.
func plainPattern(s string) bool {
	dir, name := filepath.Split(s)
	return name != "" && !strings.ContainsAny(s[:1], "/~$%") && !strings.ContainsAny(s, "!,{}[]()\\ \t\r\n") &&
		!strings.ContainsAny(strings.ReplaceAll("/"+dir, "/**/", "/"), "*?")
}

// Reads reports whether a tool that reads a tree reads something at or below a place in it, of
// which only a folder has something below.
func (u Use) Reads(rest string, folder bool) bool {
	return u.Tree && (u.Only == "" || rest == "" || matches(strings.Split(u.Only, "/"), strings.Split(rest, "/"), folder))
}

// matches reports whether a pattern matches a path, or can match one below it. Some tools take
// capitals for small letters.
func matches(pattern, path []string, folder bool) bool {
	switch {
	case len(pattern) == 1 && pattern[0] == "**":
		return true
	case len(path) == 0:
		return folder || len(pattern) == 0
	case len(pattern) == 0:
		return false
	case pattern[0] == "**":
		return matches(pattern[1:], path, folder) || matches(pattern, path[1:], folder)
	}
	ok, err := filepath.Match(strings.ToLower(pattern[0]), strings.ToLower(path[0]))
	return (ok || err != nil) && matches(pattern[1:], path[1:], folder)
}

// linkOrPath checks s as a URL, and as the path that it is for a tool that knows no URLs: below a
// folder named "https:", or out of it again.
func (j *judge) linkOrPath(s string) error {
	if err := j.link(s); err != nil {
		return err
	}
	parts := strings.Split(s, "/")
	if slices.Contains(parts, "..") {
		return denied("%s: write the URL without ..", s)
	}
	if _, err := os.Lstat(filepath.Join(j.o.Dir, parts[0])); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	_, err := j.path(s, j.tool.use)
	return err
}

// links judges the URLs in a text, which are words with "://" in them, as in web_fetch of Gemini CLI.
func (j *judge) links(s string) error {
	for _, word := range strings.Fields(s) {
		if !strings.Contains(word, "://") {
			continue
		}
		if err := j.link(strings.Trim(word, "<>()[]{}\"'`,;.!?")); err != nil {
			return err
		}
	}
	return nil
}

// link judges the host of a URL, or the path of one that names a file.
func (j *judge) link(s string) error {
	u, err := url.Parse(s)
	if err != nil {
		return denied("%q is not a URL", s)
	}
	if strings.EqualFold(u.Scheme, "file") {
		return j.fileLink(s, u)
	}
	port := cmp.Or(u.Port(), map[string]string{"https": "443", "wss": "443", "http": "80", "ws": "80"}[u.Scheme])
	switch {
	case u.Hostname() == "":
		return denied("%s: the URL names no host", s)
	case port == "":
		return denied("%s: URLs of this scheme are not judged: use http, https, ws, wss or file", s)
	}
	if reason := j.box.Host(net.JoinHostPort(u.Hostname(), port)); reason != "" {
		return denied("%s", reason)
	}
	return nil
}

// fileLink judges the path of a URL that names a file.
func (j *judge) fileLink(s string, u *url.URL) error {
	if u.Host != "" && u.Host != "localhost" {
		return denied("%s names a file of another computer", s)
	}
	to, err := j.path(u.Path, j.tool.use)
	if err == nil && to != u.Path {
		err = denied("%s is below /tmp, which is the session's", s)
	}
	return err
}
