package index

import (
	"strings"
	"unicode/utf8"

	"github.com/enr/inner/internal/lazy"
)

// GoodPath reports whether a path, or a part of one, may be in what a box gives to git: it leads
// neither out of its folder nor into a repository, in any spelling that some file system takes
// for one. A link may not be .gitmodules, either, because git outside would read through it.
//
// It refuses all that git refuses with core.protectHFS and core.protectNTFS, which are settings.
//
// Source: read-cache.c (verify_path), path.c (is_ntfs_dotgit), utf8.c (is_hfs_dotgit) of git 2.39.
func GoodPath(name string, mode uint32) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
		for part := range strings.SplitSeq(part, `\`) { // a slash on NTFS
			folded := Fold(part)
			if part == ".." || folded == ".git" || folded == "git~1" {
				return false
			}
			if mode == modeLink && gitmodules().MatchString(folded) {
				return false
			}
		}
	}
	return strings.IndexByte(name, 0) < 0
}

// gitmodules is that name, and the short ones that NTFS can make of it.
var gitmodules = lazy.Regexp(`^(\.gitmodules|gitmod~[1-4]|(g(i(7(e(ba?)?)?)?)?)?~[1-9][0-9]*)$`)

// Fold returns the name that a file system may take the part of a path for: without case, without
// what HFS+ ignores and what NTFS does not keep. Git on HFS+ ends a name where it is no UTF-8.
func Fold(part string) string {
	end := strings.IndexFunc(part, func(r rune) bool {
		return r == utf8.RuneError || r == 0xfffe || r == 0xffff || r == ':' // a stream of NTFS
	})
	if end >= 0 {
		part = part[:end]
	}
	part = strings.Map(func(r rune) rune {
		if ignored(r) {
			return -1
		}
		return r
	}, part)
	return strings.TrimRight(strings.ToLower(part), " .")
}

// ignored reports whether HFS+ ignores a character in names (utf8.c, next_hfs_char).
func ignored(r rune) bool {
	return r >= 0x200c && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x206a && r <= 0x206f || r == 0xfeff
}
