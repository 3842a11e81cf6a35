package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/paths"
)

// Hop is a link on the way to something. Whoever can write the folder it is in can
// exchange it, and with it what is there.
type Hop struct {
	Path   string `json:"path"`   // with no link but itself
	Target string `json:"target"` // as it is written
}

// follow resolves a path and returns the links on its way. Of what is missing, real
// is where it would be.
func follow(p string) (hops []Hop, real string, err error) {
	real = "/"
	todo := strings.Split(p, "/")
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			real = filepath.Dir(real)
			continue
		}
		at := filepath.Join(real, name)
		fi, err := os.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return hops, filepath.Join(append([]string{at}, todo...)...), nil
		case err != nil:
			return hops, at, err
		case fi.Mode()&fs.ModeSymlink == 0:
			real = at
			continue
		case len(hops) == maxHops:
			return hops, at, errors.New("too many links")
		}
		target, err := os.Readlink(at)
		if err != nil {
			return hops, at, err
		}
		hops = append(hops, Hop{at, target})
		if filepath.IsAbs(target) {
			real = "/"
		}
		todo = append(strings.Split(target, "/"), todo...)
	}
	return hops, real, nil
}

// maxHops is how many links the kernel follows.
const maxHops = 40

// resolveLinks replaces what is reached through links by what is there: the links
// are to be pinned, and what they lead to is guarded. What leads nowhere, or to what
// is neither a file nor a folder, stays a Link.
func resolveLinks(list []GitGuard, roots []string) []GitGuard {
	var out []GitGuard
	for _, g := range list {
		if !g.Link {
			out = append(out, g)
			continue
		}
		hops, real, err := follow(g.Dir)
		fi, serr := os.Lstat(real)
		if err != nil || serr != nil || len(hops) == 0 || !fi.IsDir() && !fi.Mode().IsRegular() {
			out = append(out, g)
			continue
		}
		out = append(out, GitGuard{Dir: g.Dir, Hops: hops})
		inRoot := slices.ContainsFunc(roots, func(root string) bool { return paths.Below(root, real) })
		switch {
		case !inRoot || slices.ContainsFunc(list, func(x GitGuard) bool { return x.Dir == real }):
		case fi.IsDir() && (filepath.Base(g.Dir) == ".git" || exists(filepath.Join(real, "HEAD"))):
			out = append(out, resolveLinks(append(guardRepo(real), guardNamed(real, real, filepath.Dir(g.Dir), roots)...), roots)...)
		case filepath.Base(g.Dir) == ".git":
			out = append(out, resolveLinks(guardPointer(real, filepath.Dir(g.Dir), roots), roots)...)
		default:
			out = append(out, GitGuard{Dir: real, Pointer: true})
		}
	}
	return out
}
