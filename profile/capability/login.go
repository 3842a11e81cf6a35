package capability

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/enr/inner/internal/files"
)

// MaxLogin bounds a file with a login.
const MaxLogin = 1 << 20

// Login is a stored login that its program renews while it runs. It is a JSON
// file in the capability's first folder.
type Login struct {
	File string
	// Fields are the dotted paths of what makes up the login. Nothing else is
	// ever written back.
	Fields []string
	// Stamp is the one of them that tells a newer login from an older one: a
	// time, in milliseconds or seconds or as RFC 3339.
	Stamp string
	// Ends says that the login ends at the time of Stamp. Renew are then the
	// arguments with which the program renews it on the host, and Instead the
	// variables that log in without it.
	Ends    bool
	Renew   []string
	Instead []string
	Expired Words
}

// Words is what is told to people: what is wrong, and what to do.
type Words struct{ Msg, Hint string }

// LoginPath is where the login is on this host.
func (c Capability) LoginPath(o Origin) string {
	return filepath.Join(c.Folders[0].Source(o), c.Login.File)
}

// ReadLogin reads a login; nil when there is none that a clone would take.
func ReadLogin(path string) ([]byte, error) {
	data, err := files.Read(path, files.NoLinks, MaxLogin)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, files.ErrNotRegular) {
		return nil, nil
	}
	return data, err
}

// Expiry is when a login ends; known is false when it does not say.
func (l *Login) Expiry(data []byte) (at time.Time, known bool) {
	if !l.Ends {
		return time.Time{}, false
	}
	return l.time(data)
}

// time is the one of Stamp.
func (l *Login) time(data []byte) (at time.Time, known bool) {
	doc, err := parseJSON(data)
	if err != nil {
		return time.Time{}, false
	}
	v, _ := lookup(doc, l.Stamp)
	return stamp(v)
}

// stamp reads a time. A number beyond the year 5000 in seconds is milliseconds.
func stamp(v any) (time.Time, bool) {
	var text string
	switch v := v.(type) {
	case json.Number:
		text = v.String()
	case string:
		text = v
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, true
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil || n <= 0:
		return time.Time{}, false
	case n > 1e11:
		return time.UnixMilli(n), true
	}
	return time.Unix(n, 0), true
}

// Renewed compares the login of a clone with the one it was made from. When the
// clone's is newer, merged is the original with that login in it. What the
// clone holds is a stranger's word: a login that is not of the original's shape
// is an error.
func (l *Login) Renewed(original, clone []byte, now time.Time) (merged []byte, err error) {
	was, err := parseJSON(original)
	if err != nil {
		return nil, err
	}
	is, err := parseJSON(clone)
	if err != nil {
		return nil, fmt.Errorf("is not valid JSON: %w", err)
	}
	before, known := l.time(original)
	after, ok := l.time(clone)
	switch {
	case !known || !ok || !after.After(before):
		return nil, nil
	case after.After(now.AddDate(1, 0, 0)):
		return nil, fmt.Errorf("%s lies more than a year ahead", l.Stamp)
	}
	changed := false
	for _, path := range l.Fields {
		old, _ := lookup(was, path)
		value, ok := lookup(is, path)
		if !ok {
			continue
		}
		if !sameShape(old, value) {
			return nil, fmt.Errorf("%s is not what it was", path)
		}
		changed = changed || path != l.Stamp && old != value
		visit(was, path, "", func(parent map[string]any, key, _ string) { parent[key] = value })
	}
	if !changed {
		return nil, nil
	}
	return formatJSON(was)
}

// End is how the token in the file of the agent's login ends, or "" where there is none. Placeholders end alike in all
// runs, but for their length.
func (c Capability) End(data []byte) string {
	doc, _ := parseJSON(data)
	v, _ := lookup(doc, c.OAuth.Access)
	text, _ := v.(string)
	return end(strings.TrimRight(text, "x"))
}

// Another reports whether there is a token in a file that is none of the placeholders which a box was given.
func (c Capability) Another(given, is []byte) bool {
	return c.End(is) != "" && c.End(is) != c.End(given)
}

// sameShape accepts a number for a number, and for a string another one that
// could be a token or a time.
func sameShape(old, value any) bool {
	if _, ok := old.(json.Number); ok {
		_, ok = value.(json.Number)
		return ok
	}
	if _, ok := old.(string); !ok {
		return false
	}
	s, ok := value.(string)
	return ok && s != "" && len(s) < 16<<10 && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// ErrChanged says that a file is not any more what it was.
var ErrChanged = errors.New("changed meanwhile")

// Replace puts data in the place of a file of mode 0600, whole or not at all,
// unless the file is no longer what it was: then the error is ErrChanged.
func Replace(path string, was, data []byte) error {
	return files.WriteIf(path, data, 0o600, func() error {
		if now, err := files.Read(path, files.NoLinks, MaxLogin); err != nil || !bytes.Equal(now, was) {
			return ErrChanged
		}
		return nil
	})
}

// names returns the keys of a table, sorted.
func names[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
