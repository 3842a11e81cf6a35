package changes

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/enr/inner/internal/paths"
)

// Meant reads [RUN] [PATH...]: a first word that is no run is a path of the latest one, whose
// name is "".
func Meant(list []*Kept, words []string) (run string, named []string, err error) {
	if len(words) == 0 {
		return "", nil, nil
	}
	first := words[0]
	_, known, _ := Find(list, first)
	switch like := RunLike(first); {
	case !known && !like:
		return "", words, nil
	case !like && isChange(list, first):
		return "", nil, fmt.Errorf("%q is a run and a path of the latest one: write the whole id, or %q", first, "./"+first)
	}
	return first, words[1:], nil
}

// RunLike reports whether a word looks like the id of a run, so that the id of one that is gone
// is not taken for a path.
func RunLike(word string) bool {
	_, err := time.Parse("20060102-150405", word[:min(len(word), 15)])
	return err == nil
}

// isChange reports whether the latest run changed something at a path.
func isChange(list []*Kept, path string) bool {
	k, _, _ := Find(list, "")
	if k == nil {
		return false
	}
	all, err := k.Compare()
	if err != nil {
		return false
	}
	_, missing := k.At(all, []string{path})
	return missing == ""
}

// At returns those of the changes that are at or below the paths. Each path must name one;
// missing is the first that does not.
func (k *Kept) At(all []Change, named []string) (out []Change, missing string) {
	var roots []string
	for _, c := range k.Record.Copies {
		roots = append(roots, c.Root())
	}
	if cwd, err := os.Getwd(); err == nil {
		roots = append(roots, cwd) // as printed, else as seen from here
	}
	for _, p := range named {
		found := below(all, roots, filepath.Clean(p))
		if len(found) == 0 {
			return nil, p
		}
		for _, c := range found {
			if !slices.ContainsFunc(out, func(o Change) bool { return o.Full() == c.Full() }) {
				out = append(out, c)
			}
		}
	}
	return out, ""
}

// below returns the changes at and below a path, from the first of the roots where there are
// some.
func below(all []Change, roots []string, path string) (found []Change) {
	for _, root := range roots {
		full := path
		if !filepath.IsAbs(full) {
			full = filepath.Join(root, full)
		}
		for _, c := range all {
			if paths.Below(full, c.Full()) {
				found = append(found, c)
			}
		}
		if len(found) > 0 {
			break
		}
	}
	return found
}
