package git

import (
	"fmt"
	"strings"
)

// maxStamped is the most folders of a copy that are looked at: the box makes them.
const maxStamped = 1000

// Stamp changes with refs, HEAD and index of the box: it is made of the times of the folders into
// which git renames them.
func (c *Copy) Stamp() string {
	var out strings.Builder
	left := maxStamped
	var look func(d *folder, rel string, deep int)
	look = func(d *folder, rel string, deep int) {
		st, err := d.stat(orSelf(rel))
		if left--; left < 0 || err != nil {
			return
		}
		fmt.Fprintf(&out, "%s %d\n", rel, st.Mtim.Nano())
		if deep == 0 {
			return
		}
		list, _ := d.list(orSelf(rel), maxFiles)
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
		for _, rel := range []string{"refs", "worktrees"} {
			if d.isDir(rel) {
				look(d, rel, map[string]int{"refs": 20, "worktrees": 1}[rel])
			}
		}
		d.close()
	}
	return out.String()
}
