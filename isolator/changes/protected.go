package changes

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/sensitive"
	"github.com/enr/inner/profile/gitconfig"
)

// Guard tells which changes the host would later run or obey: in a git directory
// everything but plain records, what the table of package sensitive lists, what the
// settings of git name, start-up files of the homes. A box that works on the original
// cannot write these; they are applied only when they are named on purpose. Case is
// ignored: a file system may do the same.
type Guard struct {
	homes   []string
	startup []string // start-up files of the homes, by every name
	getenv  func(string) string
	global  []gitconfig.Entry          // settings of git that hold in every repository
	named   map[string][]host.GitPlace // what the repository of a folder names, by its top
	led     map[string][]string        // where links of the home lead in a folder that was copied
	git     map[string]bool            // folders, and whether they are git directories
}

// NewGuard makes a guard for a user with these homes, on a host that has these mounts.
func NewGuard(homes []string, mounts host.Mounts, getenv func(string) string) *Guard {
	g := &Guard{homes: homes, getenv: getenv, led: map[string][]string{}, named: map[string][]host.GitPlace{}, git: map[string]bool{}}
	g.global = gitconfig.Environment(getenv).Load()
	startup := sensitive.Programs(getenv("PATH"), homes, []string{getenv("PWD")})
	for _, home := range homes {
		for _, name := range sensitive.Startup() {
			startup = append(startup, filepath.Join(home, name))
		}
	}
	for _, p := range startup {
		g.startup = append(append(g.startup, p), mounts.Names(filepath.Join(files.Real(filepath.Dir(p)), filepath.Base(p)))...)
	}
	return g
}

// Protects reports whether a change is applied only when the user names it.
func (g *Guard) Protects(c Change) bool {
	if rest, inGit := g.belowGit(c); inGit {
		return !gitRecord(rest, c)
	}
	if !sensitive.Packages(filepath.Dir(c.Path)) {
		hit, ok := sensitive.Below(c.root, c.Path, kindOf(c), func(dir string) bool { return dir == c.root || g.exists(c, dir+"/.git") })
		if ok && !hit.Row.Told {
			return true
		}
	}
	if g.isReached(c) || slices.ContainsFunc(g.startup, func(p string) bool { return touches(c.Full(), p, c) }) {
		return true
	}
	return g.isNamed(c)
}

// isReached reports whether links lead to what a change is to, from start-up files or from what
// settings of git name everywhere.
func (g *Guard) isReached(c Change) bool {
	led, known := g.led[c.root]
	if !known {
		led = host.Reached(c.root, g.startup, g.homes, g.getenv)
		g.led[c.root] = led
	}
	full := filepath.Join(files.Real(c.root), c.Path)
	return slices.ContainsFunc(led, func(p string) bool { return touches(full, p, c) })
}

// kindOf returns what is at the path after the change; for a deletion, what was there.
func kindOf(c Change) sensitive.Kind {
	switch mode := c.New | c.Old; {
	case c.New != 0 && !c.New.IsDir() && !c.New.IsRegular(), c.Kind == Type:
		return sensitive.Link
	case mode.IsDir():
		return sensitive.Folder
	case mode.IsRegular():
		return sensitive.File
	}
	return sensitive.Link
}

// touches reports whether a change is one of p: at it, in it, or of a folder on the way
// to it, where that is not a folder before and after.
func touches(full, p string, c Change) bool {
	return paths.Below(p, full) || paths.Below(full, p) && !(c.New.IsDir() && (c.Old == 0 || c.Old.IsDir()))
}

// belowGit returns where in a git directory a change is, if it is in one: in a folder
// called .git, or in one that git would take for a repository.
func (g *Guard) belowGit(c Change) (rest []string, ok bool) {
	names := strings.Split(c.Path, "/")
	dir := c.root
	for i, name := range names {
		dir += "/" + name
		rest := names[i+1:]
		if strings.EqualFold(name, ".git") {
			return rest, true
		}
		if len(rest) > 0 && g.isGit(c, dir) {
			return rest, true
		}
	}
	return nil, false
}

// isGit reports whether a folder is a bare repository (setup.c, is_git_directory), in the
// original or in the copy.
func (g *Guard) isGit(c Change, dir string) bool {
	if is, known := g.git[dir]; known {
		return is
	}
	has := func(name string) bool { return g.exists(c, dir+"/"+name) }
	is := has("HEAD") && (has("objects") && has("refs") || has("commondir"))
	g.git[dir] = is
	return is
}

// exists reports whether there is anything at a path of the original, or at that place
// in the copy.
func (g *Guard) exists(c Change, full string) bool {
	if _, err := os.Lstat(full); err == nil {
		return true
	}
	rest, ok := strings.CutPrefix(full, c.root+"/")
	if !ok {
		return false
	}
	_, err := os.Lstat(filepath.Join(c.tree, rest))
	return err == nil
}

// gitRecord reports whether a change in a git directory is to one of git's own records,
// which are read and never run: a plain file or folder of a known name. Everything else
// is not.
//
// Source: gitrepository-layout(5) of git 2.39.
func gitRecord(rest []string, c Change) bool {
	plain := func(m fs.FileMode) bool { return m == 0 || m.IsDir() || m.IsRegular() }
	if !plain(c.Old) || !plain(c.New) || c.Kind == Type {
		return false
	}
	if len(rest) == 0 {
		return c.New == 0 && c.Old.IsDir() || c.New.IsDir() // .git itself: not a pointer to another one
	}
	if strings.HasSuffix(rest[len(rest)-1], ".lock") {
		return false
	}
	record, known := gitRecords()[rest[0]]
	switch {
	case known:
		return record(rest[1:], c)
	case strings.HasPrefix(rest[0], "sharedindex."):
		return oneFile(rest[1:], c)
	}
	return false
}

// gitRecords says of the names in a git directory which changes are to a record: to itself,
// or to what is below.
func gitRecords() map[string]func(below []string, c Change) bool {
	records := map[string]func([]string, Change) bool{
		"lfs": func(below []string, _ Change) bool {
			return len(below) == 0 || slices.Contains([]string{"objects", "tmp", "cache"}, below[0])
		},
		"objects": func(below []string, _ Change) bool {
			// Of info, alternates lead to the objects of others.
			return len(below) < 2 || below[0] != "info" || slices.Contains([]string{"packs", "commit-graph", "commit-graphs"}, below[1])
		},
	}
	for _, name := range []string{"refs", "logs", "reftable"} {
		records[name] = func([]string, Change) bool { return true }
	}
	for _, name := range []string{
		"HEAD", "ORIG_HEAD", "FETCH_HEAD", "MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "MERGE_RR", "MERGE_AUTOSTASH", "AUTO_MERGE", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD",
		"SQUASH_MSG", "COMMIT_EDITMSG", "TAG_EDITMSG", "NOTES_EDITMSG", "description", "packed-refs", "shallow", "index",
	} {
		records[name] = oneFile
	}
	return records
}

func oneFile(below []string, c Change) bool { return len(below) == 0 && !c.New.IsDir() }

// isNamed reports whether settings of git name what a change is to, as a program, a folder
// of hooks, or more settings.
func (g *Guard) isNamed(c Change) bool {
	full := c.Full()
	for dir := filepath.Dir(full); ; dir = filepath.Dir(dir) {
		named, known := g.named[dir]
		if !known {
			named = host.NamedByGit(dir, g.global, g.homes)
			for _, p := range named {
				named = append(named, host.GitPlace{Path: p.Real(), Use: p.Use})
			}
			g.named[dir] = named
		}
		if slices.ContainsFunc(named, func(p host.GitPlace) bool { return touches(full, p.Path, c) }) {
			return true
		}
		if dir == "/" || dir == "." {
			return false
		}
	}
}
