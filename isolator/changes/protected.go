package changes

import (
	"cmp"
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

// Guard tells which changes the host would later run, obey or believe: all of a git
// directory, what the table of package sensitive lists, what the settings of git name,
// start-up files of the homes. A box that works on the original
// cannot write these; they are applied only when they are named on purpose. Case is
// ignored: a file system may do the same.
type Guard struct {
	homes   []string
	startup []string // start-up files of the homes
	getenv  func(string) string
	global  []gitconfig.Entry          // settings of git that hold in every repository
	named   map[string][]host.GitPlace // what the repository of a folder names, by its top
	led     map[string][]string        // where links of the home lead in a folder that was copied
}

// NewGuard makes a guard for a user with these homes.
func NewGuard(homes []string, getenv func(string) string) *Guard {
	g := &Guard{homes: homes, getenv: getenv, led: map[string][]string{}, named: map[string][]host.GitPlace{}}
	g.global = gitconfig.Environment(getenv).Load()
	g.startup = sensitive.Programs(getenv("PATH"), homes, []string{getenv("PWD")})
	for _, home := range homes {
		for _, name := range sensitive.Startup() {
			g.startup = append(g.startup, filepath.Join(home, name))
		}
	}
	return g
}

// Protects reports whether a change is applied only when the user names it.
func (g *Guard) Protects(c Change) bool {
	if g.inGit(c) {
		return true
	}
	if !sensitive.Packages(filepath.Dir(c.Path)) {
		kind := sensitive.KindOf(cmp.Or(c.New, c.Old)) // of a deletion what was there
		if c.Kind == Type {
			kind = sensitive.Link
		}
		hit, ok := sensitive.Below(c.Root, c.Path, kind,
			func(dir string) bool { return dir == c.Root || g.exists(c, dir+"/.git") })
		if ok && !hit.Row.Told {
			return true
		}
	}
	return g.isReached(c) || g.isNamed(c)
}

// isReached reports whether start-up files, or what settings of git name everywhere, are what a change is
// to, or lead there.
func (g *Guard) isReached(c Change) bool {
	led, known := g.led[c.Root]
	if !known {
		led = host.Reached(c.Root, g.startup, g.homes, g.getenv)
		g.led[c.Root] = led
	}
	full := filepath.Join(files.Real(c.Root), c.Path)
	return slices.ContainsFunc(led, func(p string) bool { return touches(full, p, c) })
}

// touches reports whether a change is one of p: at it, in it, or of a folder on the way
// to it, where that is not a folder before and after.
func touches(full, p string, c Change) bool {
	return paths.Below(p, full) || paths.Below(full, p) && !(c.New.IsDir() && (c.Old == 0 || c.Old.IsDir()))
}

// inGit reports whether a change is to a git directory or in one: in a folder called .git, or in
// one that git would take for a repository.
func (g *Guard) inGit(c Change) bool {
	dir := c.Root
	for name := range strings.SplitSeq(c.Path, "/") {
		dir += "/" + name
		if strings.EqualFold(name, ".git") || g.isGit(c, dir) {
			return true
		}
	}
	return false
}

// GitRecord reports whether a change is to one of git's own records (objects, references, the
// index, and what has a name in capitals): a commit is a dozen files that nobody reads.
func (c Change) GitRecord() bool {
	_, rest, ok := strings.Cut("/"+c.Path, "/.git/")
	name, _, _ := strings.Cut(rest, "/")
	return ok && (name == strings.ToUpper(name) || slices.Contains([]string{"objects", "refs", "packed-refs", "logs", "index"}, name))
}

// Repository returns, for one of git's own records, the folder of the original that its repository is in, and where the
// git directory of the copy is, in which the box may have put something else.
func (c Change) Repository() (top, copied string) {
	rest, _, _ := strings.Cut("/"+c.Path, "/.git/")
	return filepath.Join(c.Root, rest), filepath.Join(c.Tree, rest, ".git")
}

// isGit reports whether a folder is a bare repository (setup.c, is_git_directory), in the
// original or in the copy.
func (g *Guard) isGit(c Change, dir string) bool {
	has := func(name string) bool { return g.exists(c, dir+"/"+name) }
	return has("HEAD") && (has("objects") && has("refs") || has("commondir"))
}

// exists reports whether there is anything at a path of the original, or at that place
// in the copy.
func (g *Guard) exists(c Change, full string) bool {
	if _, err := os.Lstat(full); err == nil {
		return true
	}
	rest, ok := strings.CutPrefix(full, c.Root+"/")
	if !ok {
		return false
	}
	_, err := os.Lstat(filepath.Join(c.Tree, rest))
	return err == nil
}

// isNamed reports whether settings of git name what a change is to, as a program, a folder
// of hooks, or more settings.
func (g *Guard) isNamed(c Change) bool {
	full := c.Full()
	for dir := filepath.Dir(full); ; dir = filepath.Dir(dir) {
		named, known := g.named[dir]
		if !known {
			named = host.NamedByGit(dir, g.global, g.homes[0])
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
