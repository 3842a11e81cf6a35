package host

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Children lists what is in a folder, by name.
func Children(dir string) ([]Child, error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []Child
	for _, e := range list {
		c := Child{Name: e.Name(), Kind: kindOf(e.Type())}
		if e.Type()&fs.ModeSymlink != 0 {
			if c.Target, err = os.Readlink(filepath.Join(dir, c.Name)); err != nil {
				return nil, err
			}
			c.Kind = Link
		}
		out = append(out, c)
	}
	return out, nil
}
