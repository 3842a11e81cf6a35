package review

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/changes"
	"github.com/enr/inner/isolator/owned"
	"github.com/enr/inner/isolator/stage"
)

// List returns the kept runs below INNER_HOME, damaged ones and then the oldest first.
func List(innerHome string) ([]*changes.Kept, error) {
	base := stage.Kept(innerHome)
	entries, err := os.ReadDir(base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []*changes.Kept
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		k, err := changes.Open(filepath.Join(base, e.Name()))
		if err != nil { // it can still be discarded, and is in nobody's way
			k = &changes.Kept{Dir: filepath.Join(base, e.Name()), Record: changes.Record{Run: e.Name()}, Damaged: err}
		}
		out = append(out, k)
	}
	slices.SortStableFunc(out, func(a, b *changes.Kept) int { return a.Record.Begun.Compare(b.Record.Begun) })
	return out, nil
}

// Running is the State of a run that still writes its copies.
const Running = "running"

// State is Running, ended, killed, or damaged.
func State(k *changes.Kept) string {
	switch {
	case k.Damaged != nil:
		return "damaged"
	case k.Record.Ended != nil:
		return "ended"
	case owned.Alive(k.Dir):
		return Running
	}
	return "killed"
}

// At returns those of the changes that are at or below the paths, in a folder that was copied, else as
// seen from here. Each path must name one; missing is the first that does not.
func At(k *changes.Kept, all []changes.Change, named []string) (out []changes.Change, missing string) {
	var roots []string
	for _, c := range k.Record.Copies {
		roots = append(roots, c.Root())
	}
	if cwd, err := os.Getwd(); err == nil {
		roots = append(roots, cwd)
	}
	for _, p := range named {
		from := roots
		if filepath.IsAbs(p) {
			from = []string{""}
		}
		at := func(root string) func(changes.Change) bool {
			return func(c changes.Change) bool { return paths.Below(filepath.Join(root, p), c.Full()) }
		}
		i := slices.IndexFunc(from, func(root string) bool { return slices.ContainsFunc(all, at(root)) })
		if i < 0 {
			return nil, p
		}
		for _, c := range all {
			if at(from[i])(c) && !slices.ContainsFunc(out, func(o changes.Change) bool { return o.Full() == c.Full() }) {
				out = append(out, c)
			}
		}
	}
	return out, ""
}
