// Package paths compares paths by their text alone: it reads no disk and follows no
// link. Every path is clean and absolute; the folder comes first, as in filepath.Rel.
//
//	paths.Below("/home/u", "/home/u/src")     // true
//	paths.Below("/home/u", "/home/u")         // true
//	paths.Below("/home/u", "/home/user")      // false
//	paths.Inside("/home/u", "/home/u")        // false
//	paths.Join("/", "src")                    // "/src"
//	paths.Rest("/home/u", "/home/u/src/app")  // "src/app", true
package paths

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Join returns the path of a name, or of several, in dir.
func Join(dir, name string) string { return strings.TrimSuffix(dir, "/") + "/" + name }

// Below reports whether p is dir or lies below it.
func Below(dir, p string) bool {
	_, ok := Rest(dir, p)
	return ok
}

// Over is the first of some folders that p is or lies in; "" for none.
func Over(dirs []string, p string) string {
	for _, dir := range dirs {
		if Below(dir, p) {
			return dir
		}
	}
	return ""
}

// Inside reports whether p lies below dir, and is not dir itself.
func Inside(dir, p string) bool {
	rest, ok := Rest(dir, p)
	return ok && rest != ""
}

// Rest returns what stands behind dir in a path that is dir or lies below it: "" for
// dir itself, and for any other path.
func Rest(dir, p string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(p, dir)
	switch {
	case !ok:
		return "", false
	case rest == "", strings.HasSuffix(dir, "/"):
		return rest, true
	}
	if below, ok := strings.CutPrefix(rest, "/"); ok {
		return below, true
	}
	return "", false
}

// Text is a path for JSON, which cannot have every name: what it cannot, and what would be taken for that, is quoted.
func Text(p string) string {
	if !utf8.ValidString(p) || strings.HasPrefix(p, `"`) {
		return strconv.Quote(p)
	}
	return p
}

// OfText undoes it. Go has other quotes, which a name may have in it.
func OfText(text string) (string, error) {
	if strings.HasPrefix(text, `"`) {
		return strconv.Unquote(text)
	}
	return text, nil
}
