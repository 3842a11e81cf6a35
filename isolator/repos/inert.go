package repos

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/profile/gitconfig"
)

// Inert reports whether git may enter the repository of another in a folder of a work tree, as
// it does by itself where the index has one: there is none, or it is one of those that are
// known, or nothing in it runs and nothing leads elsewhere. It goes by what is there
// and not by times, and by a list of what is harmless.
func Inert(dir string, known []string) bool { return inert(dir, known, 8) }

func inert(dir string, known []string, depth int) bool {
	if !straight(dir) { // git goes beyond no link; what is there can be another folder later
		return false
	}
	p := filepath.Join(dir, ".git")
	fi, err := os.Lstat(p)
	switch {
	case os.IsNotExist(err):
		return true
	case err != nil:
		return false
	case fi.Mode().IsRegular():
		repo := leadsTo(p)
		return repo != "" && slices.Contains(known, repo) || repo == "" && pointsInto(p, known)
	case !fi.IsDir():
		return false
	case slices.Contains(known, p):
		return true
	}
	return inertRepository(dir, known, depth)
}

// inertRepository judges the git directory in a folder.
func inertRepository(dir string, known []string, depth int) bool {
	p := filepath.Join(dir, ".git")
	for _, name := range []string{"commondir", "config.worktree", "worktrees", "modules", "rebase-merge", "rebase-apply", "sequencer"} {
		if exists(filepath.Join(p, name)) {
			return false
		}
	}
	if !harmless(filepath.Join(p, "config"), "") {
		return false
	}
	if !inertHooks(filepath.Join(p, "hooks")) {
		return false
	}
	links, ok := gitlinks(p)
	if !ok || len(links) > 0 && depth == 0 {
		return false
	}
	return !slices.ContainsFunc(links, func(link string) bool {
		return !filepath.IsLocal(link) || !inert(filepath.Join(dir, link), known, depth-1)
	})
}

// harmless reports whether all settings of a file have keys that begin so, run nothing and lead nowhere.
func harmless(p, prefix string) bool {
	data, err := readFile(p)
	if err != nil {
		return false
	}
	list, err := gitconfig.Parse(data)
	return err == nil && !slices.ContainsFunc(list, func(e gitconfig.Entry) bool {
		return !strings.HasPrefix(e.Key, prefix) || !gitconfig.Harmless(e, func(string) bool { return false })
	})
}

// inertHooks reports whether git would run nothing from a folder of hooks.
func inertHooks(dir string) bool {
	fi, err := os.Lstat(dir)
	if err != nil {
		return os.IsNotExist(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || !fi.IsDir() {
		return false
	}
	return !slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		fi, err := e.Info()
		return err != nil || runs(fi)
	})
}

// pointsInto reports whether a .git file names a place in one of these git directories at which nothing is.
func pointsInto(p string, dirs []string) bool {
	data, err := readFile(p)
	target, ok := strings.CutPrefix(line(data), "gitdir: ")
	if err != nil || !ok || filepath.Clean(target) != target { // what ".." is after a link the kernel says
		return false
	}
	at := filepath.Clean(beneath(filepath.Dir(p), target))
	return straight(at) && lies(at, dirs)
}

// straight reports whether no folder on the way to a path is a link, as far as they are there.
func straight(p string) bool {
	for !exists(p) {
		p = filepath.Dir(p)
	}
	real, err := filepath.EvalSymlinks(p)
	return err == nil && real == p
}
