package host

import "path/filepath"

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
		if list, err := Children(dir); err == nil {
			if out == nil {
				out = map[string][]Child{}
			}
			out[dir] = list
		}
	}
	return out
}
