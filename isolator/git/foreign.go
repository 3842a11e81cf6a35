package git

import "strings"

// What is fetched from elsewhere, and was made by a box there, is held to the same as what a
// box here leaves.

// Fsck are the settings with which git fetch checks objects as this package does: no tree in
// them can do harm.
func Fsck() []string {
	words := []string{"-c", "fetch.fsckObjects=true"}
	for kv := range strings.SplitSeq(strings.TrimPrefix(severities, "--strict="), ",") {
		words = append(words, "-c", "fetch.fsck."+kv)
	}
	return words
}

// BadPath says why a path of a tree may not be one of a work tree, "" when it may.
func BadPath(p string) string { return treePath(p) }
