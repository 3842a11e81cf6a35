package features

// What a new home of a box's own begins with of what the host's tools have fetched, where a tool
// reads one place alone: copies of what the project's lock files name, so that its first build finds
// them. A lock file may be a box's; it chooses among downloads by their names or hashes, in folders
// that the box may read all of.

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/plan"
)

// wanted are the files that a home begins with of one of plan.Fetched: itself, or what a lock file names.
func wanted(project, rel string) (out []string) {
	matches := func(lock, pattern string) [][]string {
		data, _ := files.Read(filepath.Join(project, lock), files.NoLinks, 32<<20)
		return regexp.MustCompile(pattern).FindAllStringSubmatch(string(data), -1)
	}
	switch rel {
	case plan.FetchedNpm:
		// npm looks for a package by the hash of its lock file first, and finds it without an index (cacache,
		// content/path.js).
		for _, m := range matches("package-lock.json", `"integrity": ?"(sha1|sha512)-([A-Za-z0-9+/]{27,}=*)"`) {
			sum, _ := base64.StdEncoding.DecodeString(m[2])
			if hash := hex.EncodeToString(sum); len(hash) >= 40 {
				out = append(out, filepath.Join(rel, m[1], hash[:2], hash[2:4], hash[4:]))
			}
		}
	case plan.FetchedYarn:
		for _, m := range matches(".pnp.cjs", `/\.yarn/berry/cache/([\w@%+.-]+\.zip)/`) {
			out = append(out, filepath.Join(rel, m[1]))
		}
	default:
		out = []string{rel}
	}
	return out
}

// The most that is copied of all, and of one file.
const (
	mostFetched  = 512 << 20
	largeFetched = 64 << 20
)

// unlink takes links away to versions of plan.Versions that the host has no more.
func (h *ownHome) unlink(run *Run) (err error) {
	for rel, pattern := range plan.Versions() {
		list, _ := filepath.Glob(filepath.Join(h.Dir, rel, pattern))
		for _, p := range list {
			version, _ := paths.Rest(h.Dir, p)
			if to, _ := os.Readlink(p); to == filepath.Join(paths.BoxVersions, version) &&
				!files.Exists(filepath.Join(run.Home, version)) {
				err = cmp.Or(err, h.Remove(version))
			}
		}
	}
	return err
}

// begin copies that into a home that has nothing of it yet. What cannot be read, is hidden, or lies behind a
// link is fetched again.
func (h *ownHome) begin(run *Run) error {
	left, hidden := mostFetched, sync.OnceValue(func() []string { return plan.Hidden(run.Spec, run.Facts, run.Assets) })
	for _, rel := range run.Plan.Fetched {
		if files.Exists(filepath.Join(h.Dir, rel)) {
			continue
		}
		for _, p := range wanted(HomeOwner(run.Spec).Project, rel) {
			real := run.unled(filepath.Join(run.Home, p))
			if real == "" || paths.Over(hidden(), real) != "" {
				continue
			}
			data, err := read(real, largeFetched)
			if left -= len(data); err != nil || left < 0 {
				continue
			}
			if err := h.Write(p, data, 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}
