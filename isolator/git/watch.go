package git

import (
	"path/filepath"
	"strings"
)

// maxWatched is the most folders of a copy that are watched: the box makes them.
const maxWatched = 1000

// Watched returns the folders of the box's git directory whose entries change with refs, HEAD and
// index. The caller of Cross watches them.
func (c *Copy) Watched() []string {
	var out []string
	var look func(d *folder, rel string, deep int)
	look = func(d *folder, rel string, deep int) {
		if len(out) >= maxWatched {
			return
		}
		out = append(out, filepath.Join(d.path, rel))
		list, err := d.list(orSelf(rel), maxFiles)
		if err != nil || deep == 0 {
			return
		}
		for _, e := range list {
			if e.IsDir() {
				look(d, strings.TrimPrefix(rel+"/"+e.Name(), "/"), deep-1)
			}
		}
	}
	for _, u := range c.meta.Units {
		d, err := c.dir.sub(u.Box)
		if err != nil {
			continue
		}
		look(d, "", 0)
		for rel, deep := range map[string]int{"refs": 20, "worktrees": 1} {
			if d.isDir(rel) {
				look(d, rel, deep)
			}
		}
		d.close()
	}
	return out
}
