package git

import "strings"

// Objects that a box made elsewhere, and that are fetched, get the same checks as those of a box
// here.

// Fsck returns the flags with which git fetch checks objects as this package does.
func Fsck() []string {
	words := []string{"-c", "fetch.fsckObjects=true"}
	for kv := range strings.SplitSeq(strings.TrimPrefix(severities, "--strict="), ",") {
		words = append(words, "-c", "fetch.fsck."+kv)
	}
	return words
}

// BadPath says why a path of a tree may not be one of a work tree, "" when it may.
func BadPath(p string) string { return treePath(p) }
