package features

// What a new home of a box's own begins with of what the host's tools have fetched, where a tool
// reads one place alone: copies of what the project's lock files name, so that its first build finds
// them. A lock file may be a box's; it chooses among downloads by their names or hashes, in folders
// that the box may read all of.

import (
	"encoding/base64"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/enr/inner/internal/files"
)

// lock is a file of a project that names what a tool has fetched.
type lock struct {
	file, cache string                  // cache is one of plan.Fetched
	entry       string                  // a pattern
	at          func([][]byte) []string // where that is below cache; of a match
}

func locks() []lock {
	return []lock{
		// npm looks for a package by the hash of its lock file first, and finds it without an index (cacache, content/path.js).
		{"package-lock.json", ".npm/_cacache/content-v2", `"integrity": ?"(sha1|sha512)-([A-Za-z0-9+/]+=*)"`, func(m [][]byte) []string {
			sum, _ := base64.StdEncoding.DecodeString(string(m[2]))
			if len(sum) < 3 {
				return nil
			}
			return []string{string(m[1]), hex.EncodeToString(sum[:1]), hex.EncodeToString(sum[1:2]), hex.EncodeToString(sum[2:])}
		}},
		{".pnp.cjs", ".yarn/berry/cache", `/\.yarn/berry/cache/([\w@%+.-]+\.zip)/`, func(m [][]byte) []string { return []string{string(m[1])} }},
	}
}

// The most that is copied of all, and of one file.
const (
	mostFetched  = 512 << 20
	largeFetched = 64 << 20
)

// begin copies what is named into a home that has nothing of a cache yet, and what tells tools which of the
// versions that they have fetched (profile.Toolchains) is which.
func (h *ownHome) begin(run *Run) error {
	left := mostFetched
	bring := func(cache string, names ...string) error {
		rel := filepath.Join(append([]string{cache}, names...)...)
		data, err := files.Read(filepath.Join(run.Home, rel), files.NoLinks, largeFetched)
		if left -= len(data); err != nil || left < 0 {
			return nil // it is fetched again
		}
		return h.Write(rel, data, 0o600)
	}
	begun := func(rel string) bool {
		_, err := os.Lstat(filepath.Join(h.Dir, rel))
		return err == nil || !slices.Contains(run.Plan.Fetched, filepath.Dir(rel)) && !slices.Contains(run.Plan.Fetched, rel)
	}
	for _, l := range locks() {
		data, err := files.Read(filepath.Join(HomeOwner(run.Spec).Project, l.file), files.NoLinks, 32<<20)
		if begun(l.cache) || err != nil {
			continue
		}
		if err := h.Folder(l.cache); err != nil {
			return err
		}
		for _, m := range regexp.MustCompile(l.entry).FindAllSubmatch(data, -1) {
			if err := bring(l.cache, l.at(m)...); err != nil {
				return err
			}
		}
	}
	for _, rel := range []string{".cache/pre-commit/db.db", ".cache/node/corepack/lastKnownGood.json"} {
		if begun(rel) {
			continue
		}
		if err := bring(rel); err != nil {
			return err
		}
	}
	return nil
}
