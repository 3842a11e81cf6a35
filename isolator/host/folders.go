package host

import (
	"io/fs"
	"os"
	"path/filepath"
)

// manyFiles is how many files of one folder make it worth listing.
const manyFiles = 12

// fullFolders lists the folders in which many of the paths are files.
func (l looker) fullFolders(paths map[string]Path) map[string][]Child {
	count := map[string]int{}
	for _, p := range paths {
		if p.Kind == File {
			count[filepath.Dir(p.Real)]++
		}
	}
	var out map[string][]Child
	for dir, n := range count {
		if n < manyFiles {
			continue
		}
		if out == nil {
			out = map[string][]Child{}
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			c := Child{Name: e.Name(), Kind: kindOf(e.Type())}
			if e.Type()&fs.ModeSymlink != 0 {
				target, err := os.Readlink(filepath.Join(dir, e.Name()))
				if err != nil {
					continue
				}
				c.Kind, c.Target = Link, target
			}
			out[dir] = append(out[dir], c)
		}
	}
	return out
}
