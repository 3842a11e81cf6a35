package host

import (
	"io/fs"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/paths"
)

// sameFile looks, for those of the paths seen that are files with another name (hard
// links), whether one of these names lies in a folder the box will write.
func sameFile(seen map[string]Path, writable []string) map[string][]string {
	out := map[string][]string{}
	ids, others := linkedFiles(seen)
	for _, root := range writable {
		left := sameFileLimit
		_ = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if left--; left < 0 || others == 0 {
				return filepath.SkipAll
			}
			if err != nil || !d.Type().IsRegular() {
				return nil // what cannot be read is not written through either
			}
			if fi, err := d.Info(); err == nil && linksOf(fi) > 1 {
				secret := ids[idOf(fi)]
				if secret != "" && seen[secret].Real != p && !slices.Contains(out[secret], p) {
					out[secret] = append(out[secret], p)
					others--
				}
			}
			return nil
		})
	}
	return out
}

// linkedFiles returns the files with several names, each by one path, and how many names may
// still be found.
func linkedFiles(seen map[string]Path) (ids map[ID]string, others uint64) {
	ids = map[ID]string{}
	for p, info := range seen {
		if info.links < 2 || info.Kind != File || systemsOwn(info.Real) {
			continue
		}
		first, known := ids[info.ID]
		if !known {
			others += info.links - 1
		}
		if !known || p < first {
			ids[info.ID] = p
		}
	}
	return ids, others
}

// systemsOwn reports whether a file is one of the system's programs: nothing below /usr is
// hidden or a start-up file, and what permissions keep the user from writing there he
// cannot write by another name. Programs often have several names, and the search for
// those costs a large project half a second.
func systemsOwn(real string) bool {
	return paths.Below("/usr", real) && unix.Access(real, unix.W_OK) == unix.EACCES
}

// sameFileLimit is how many entries of a folder are looked at for other names of
// a file that has several. Such files are rare; nobody else waits.
const sameFileLimit = 200000
