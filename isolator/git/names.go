package git

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of what a name may be. Git has none but those of the file system.
const (
	maxRefName  = 1000
	maxRefPart  = 240 // NAME.lock must fit as well
	maxPathName = 4095
	maxPathPart = 255
)

// refName says why a box may not give a ref that name, or "".
//
// These are git's own rules (git-check-ref-format(1)) and some more, because the
// names end up in prompts, scripts and file systems of the host: no control or
// invisible characters, nothing a shell would expand, no name that two spellings have.
func refName(name string) string {
	if why := refWhole(name); why != "" {
		return why
	}
	for _, r := range name {
		if why := refRune(r); why != "" {
			return why
		}
	}
	for part := range strings.SplitSeq(name, "/") {
		if why := refPart(part); why != "" {
			return why
		}
	}
	return ""
}

// worktreeRefs are the places of refs that each worktree has for itself (gitglossary(7)).
func worktreeRefs() []string { return []string{"refs/bisect", "refs/worktree", "refs/rewritten"} }

func reservedRefs() []string { return []string{"refs/replace", "refs/inner"} }

const reservedRef = "is in a place that git or inner gives a meaning of its own"

func refWhole(name string) string {
	switch {
	case len(name) > maxRefName:
		return "is too long"
	case !utf8.ValidString(name):
		return "is not UTF-8"
	case !strings.HasPrefix(name, "refs/"):
		return "is not below refs/"
	case name == stashRef:
		return ""
	case strings.Count(name, "/") < 2:
		return "is directly below refs/"
	case strings.Contains(name, "..") || strings.Contains(name, "@{"):
		return "means a range or an entry of a log to git"
	case hasPrefix(name, stashRef):
		return "is in the way of the stash"
	case hasPrefix(name, reservedRefs()...):
		return reservedRef
	case hasPrefix(name, worktreeRefs()...):
		return "belongs to one worktree"
	}
	return ""
}

func refRune(r rune) string {
	switch {
	case r <= ' ' || r == 0x7f || strings.ContainsRune("~^:?*[\\", r):
		return "has a character that git refuses"
	case strings.ContainsRune("$`;|&<>\"'()", r):
		return "has a character that shells give a meaning"
	case !unicode.IsPrint(r) || unicode.Is(unicode.M, r):
		return "has an invisible or combining character"
	}
	return ""
}

func refPart(part string) string {
	switch lower := strings.ToLower(part); {
	case part == "" || part[0] == '.' || part[0] == '-' || strings.HasSuffix(part, "."):
		return "has a part that is empty, begins with a dot or a dash, or ends with a dot"
	case len(part) > maxRefPart:
		return "has a part that is too long"
	case strings.HasSuffix(lower, ".lock"):
		return "ends like a lock"
	case part == "@" || lower == "head" || strings.HasSuffix(part, "_HEAD"):
		return "is called like a HEAD"
	}
	return ""
}

// hasPrefix reports whether a name is one of these or below it, in any case.
func hasPrefix(name string, dirs ...string) bool {
	for _, d := range dirs {
		if len(name) >= len(d) && strings.EqualFold(name[:len(d)], d) && (len(name) == len(d) || name[len(d)] == '/') {
			return true
		}
	}
	return false
}

// hexName reports whether a string is the name of an object, of that many digits.
func hexName(s string, digits int) bool {
	if len(s) != digits {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// treePath says why a path may not be in an index that a box wrote, or "". It refuses what
// would be written into a repository, or out of the work tree, on any file system git knows.
//
// Source: read-cache.c (verify_path), path.c (is_ntfs_dotgit), utf8.c (is_hfs_dotgit)
// of git 2.39. Theirs depends on core.protectHFS and core.protectNTFS; this does not.
func treePath(p string) string {
	switch {
	case p == "" || len(p) > maxPathName:
		return "is empty or too long"
	case strings.ContainsRune(p, 0):
		return "has a NUL byte"
	}
	for part := range strings.SplitSeq(p, "/") {
		if why := treePart(part); why != "" {
			return why
		}
	}
	return ""
}

func treePart(part string) string {
	switch {
	case part == "" || part == "." || part == "..":
		return "leads out of its folder"
	case len(part) > maxPathPart:
		return "has a part that is too long"
	case dotName(part, ".git", "git~1"):
		return "leads into a repository"
	}
	// On some systems a backslash is a slash.
	for sub := range strings.SplitSeq(part, `\`) {
		if dotName(sub, ".git", "git~1") || sub == ".." {
			return "leads into a repository where a backslash is a slash"
		}
	}
	return ""
}

// dotName reports whether some file system takes part for name: it ignores case, the
// characters that HFS+ ignores and what NTFS drops at the end, and compares with the short
// names that NTFS makes.
func dotName(part, name string, short ...string) bool {
	clean := strings.Map(func(r rune) rune {
		if hfsIgnored(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, part)
	clean, _, _ = strings.Cut(clean, ":") // a stream of NTFS
	clean = strings.TrimRight(clean, " .")
	return clean == name || slices.Contains(short, clean)
}

// hfsIgnored reports whether HFS+ ignores a character in names (utf8.c, next_hfs_char).
func hfsIgnored(r rune) bool {
	return r >= 0x200c && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x206a && r <= 0x206f || r == 0xfeff
}

// settingsFile reports whether git reads settings from a path of a work tree, so that
// it must not be a link.
func settingsFile(p string) bool {
	base := p[strings.LastIndexByte(p, '/')+1:]
	return dotName(base, ".gitmodules", "gitmod~1", "gi7eba~1") || dotName(base, ".gitattributes", "gitatt~1") ||
		dotName(base, ".gitignore", "gitign~1") || dotName(base, ".mailmap", "mailma~1")
}

// plainText makes text of a box printable on one line, in at most about that many bytes.
func plainText(s string, most int) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case b.Len() >= most:
			return b.String()
		case r == utf8.RuneError || !unicode.IsPrint(r):
			b.WriteByte('?')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
