package repos

import (
	"bytes"
	"path/filepath"
	"slices"

	"github.com/enr/inner/isolator/git"
	"github.com/enr/inner/isolator/git/index"
)

// gitlinks returns the paths at which the index of a repository has another one. It is
// not ok with an index that is read in another way than git reads it, or not to its end.
// Repositories that have the longer hash are few, and a file alone does not tell: where it
// may be, the kind that fits counts. What was found in the other does no harm: nothing is there.
func gitlinks(repo string) (out []string, ok bool) {
	out, err := git.LinksIn(repo, 20)
	ok = err == nil
	if hashes256(repo) {
		long, err := git.LinksIn(repo, 32)
		out, ok = append(out, long...), ok != (err == nil)
	}
	return out, ok && !slices.ContainsFunc(out, func(p string) bool { return !index.GoodPath(p, 0) })
}

// hashes256 reports whether a repository may have the longer hashes.
func hashes256(repo string) bool {
	common, _ := readLinked(filepath.Join(repo, "commondir"))
	for _, dir := range []string{repo, beneath(repo, line(common))} {
		data, err := readLinked(filepath.Join(dir, "config"))
		if err != nil && exists(filepath.Join(dir, "config")) || bytes.Contains(bytes.ToLower(data), []byte("sha256")) {
			return true
		}
	}
	return false
}
