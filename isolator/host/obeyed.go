package host

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/internal/worktree"
	"github.com/enr/inner/isolator/sensitive"
	"github.com/enr/inner/profile/gitconfig"
)

// maxObeyed is how many paths that a tool outside obeys are kept unwritable: each is a
// mount, and costs every start. The nearest count; the others are looked at when the run ends.
const maxObeyed = 64

// maxLinking is how many folders of a folder that a tool obeys are looked through for links.
const maxLinking = 100

// maxStartup is the same for a start-up folder of the user, the upper ones first: those of editors
// hold hundreds with other people's plugins, and each costs every start 30 microseconds.
const maxStartup = 12

// survey is one look through the folders that the box can write, for the facts that it fills in.
type survey struct {
	*looker
	*Facts
	homes  []string // real paths
	home   string   // as settings of git mean it, or ""
	roots  []string
	global []gitconfig.Entry // the user's settings, which hold in every repository
	found  []string
	linked []string // links in folders among those, which lead to what the box can write
	seen   map[GitPlace]bool
	wanted []Placeholder // folders of hooks and files of settings among those
	repos  int
}

// walkFolders is how many folders of a root are listed at most: a start must not take long. Nearer
// ones come first. Then come, with as many of their own, the folders of packages, of build results and
// of programs, and last node_modules, which has thousands.
const walkFolders = 400

// survey begins one in folders that the box can write, for a user with these homes: with what the
// user's settings of git name.
func (l *looker) survey(f *Facts, writable, homes []string, getenv func(string) string) *survey {
	s := &survey{looker: l, Facts: f, seen: map[GitPlace]bool{}, home: strings.Join(homes[:min(len(homes), 1)], "")}
	for _, h := range homes {
		if h != "" {
			s.homes = append(s.homes, l.look(h).Real)
		}
	}
	for _, w := range writable {
		if real := l.look(w).Real; !slices.Contains(s.roots, real) {
			s.roots = append(s.roots, real)
		}
	}
	if len(s.roots) > 0 {
		s.global = gitconfig.Environment(getenv).Load()
		s.names(Everywhere(s.global, s.home))
	}
	return s
}

// obeyed looks through the folders that the box can write: for repositories, for what tools outside
// obey in those of r.Obeyed, for the paths that the settings of git name, there or not, and for where
// links of start-up files lead. It returns what is to be made of it.
func (l *looker) obeyed(r Request, f *Facts) (wanted []Placeholder) {
	s := l.survey(f, r.Writable, f.Homes(), func(name string) string { return f.Env[name] })
	if len(s.roots) == 0 {
		return nil
	}
	for _, root := range s.roots {
		s.walk(root, slices.ContainsFunc(r.Obeyed, func(r string) bool { return l.look(r).Real == root }))
	}
	for _, p := range r.Startup {
		s.startup(p, f.Look(p), filepath.SplitList(f.Env["PATH"]))
	}
	f.Obeyed = append(s.found[:min(len(s.found), maxObeyed)], s.linked[:min(len(s.linked), maxObeyed)]...)
	return s.wanted
}

// Reached returns the real paths of what is in a folder, there or not, where start-up files of the
// user and what settings of git name everywhere lead, and of the links on the way.
func Reached(folder string, startup, homes []string, getenv func(string) string) []string {
	l := newLooker()
	s := l.survey(new(Facts), []string{folder}, homes, getenv)
	for _, p := range startup {
		s.startup(p, l.look(p), filepath.SplitList(getenv("PATH")))
	}
	var out []string
	for _, p := range slices.Concat(startup, s.Startup, s.Named) {
		hops, real, _ := files.Follow(p)
		out = append(out, real)
		for _, h := range hops {
			out = append(out, h.Path)
		}
	}
	return slices.DeleteFunc(out, func(p string) bool { return !s.writes(p) })
}

// walk looks through a root. What lies in a repository is looked at, too: repositories lie in
// repositories.
func (s *survey) walk(root string, obeyed bool) {
	s.ahead(root, walkFolders, walkFolders)
	queues := [3][]string{{root}}
	for class := range queues {
		for left := walkFolders; len(queues[class]) > 0; left-- {
			dir := queues[class][0]
			queues[class] = queues[class][1:]
			if left <= 0 || !s.note(dir).known || s.isTop(dir) {
				if _, err := os.Lstat(paths.Join(dir, ".git")); err == nil && !slices.Contains(s.Repositories, dir) {
					s.Repositories = append(s.Repositories, dir)
				}
			}
			if left <= 0 {
				s.Unlisted = append(s.Unlisted, dir)
				continue
			}
			has := map[string]bool{}
			for _, e := range s.note(dir).entries {
				name, in := e.Name, class
				has[name] = true
				switch {
				case name == ".git" && class == 0:
					s.repository(dir)
				case class == 0 && s.apart(root, dir, e, obeyed):
					in = 1
				}
				if name == "node_modules" {
					in = 2
				}
				if e.IsDir() && name != ".git" {
					queues[in] = append(queues[in], paths.Join(dir, name))
				}
			}
			if has["HEAD"] && has["objects"] && has["refs"] {
				s.Unlisted = append(s.Unlisted, dir)
			}
		}
	}
}

// apart looks at one entry of a folder below a root, and reports whether it is none in which a person
// works: tools obey it, or it holds packages, build results or the state of programs.
func (s *survey) apart(root, dir string, e files.Entry, obeyed bool) bool {
	name, home := e.Name, slices.Contains(s.homes, dir)
	switch hit, ok := sensitive.Match(dir, name, sensitive.KindOf(e.Type)); {
	case home && strings.HasPrefix(name, "."):
	case ok && !home && s.counts(hit, root):
		if obeyed && !hit.Row.Told {
			p := paths.Join(dir, name)
			s.found = append(s.found, p)
			whole := func(link string) bool { return slices.Contains(s.roots, s.look(link).Real) }
			s.linked = append(s.linked, slices.DeleteFunc(s.links(p, p+hit.Row.Trees, maxLinking), whole)...)
		}
	default:
		return published(name) || sensitive.PackageFolder(name)
	}
	return true
}

// counts reports whether a tool looks for a file where it was found below a root.
func (s *survey) counts(hit sensitive.Hit, root string) bool {
	return (hit.Row.Where != sensitive.Top || hit.Base == root || s.isTop(hit.Base)) &&
		!slices.Contains(s.homes, hit.Base)
}

// startup looks at a start-up file or folder of the user. One that is there is protected in any
// case; where it leads to nothing, the box could make that. What a link in a folder of programs
// leads to is not looked at: it is a program of the project, which the person runs by its name.
func (s *survey) startup(p string, at Path, path []string) {
	switch {
	case at.Link != "" && s.reaches(at.Real, at.Real):
		s.Startup = append(s.Startup, p)
	case at.Kind == Dir && filepath.Base(p) != "bin" && !slices.Contains(path, p):
		s.Startup = append(s.Startup, s.links(p, "", maxStartup)...)
	}
}

// links looks in a folder that a tool obeys for links to what the box can write: that is
// obeyed as well. What is in a folder of work trees, trees, is the box's. It looks through so many
// folders as are left.
func (s *survey) links(folder, trees string, left int) []string {
	var out []string
	real := s.look(folder).Real
	todo := []string{folder}
	for ; len(todo) > 0 && left > 0; left-- {
		dir := todo[0]
		todo = todo[1:]
		for _, e := range s.folder(dir).entries {
			p := paths.Join(dir, e.Name)
			switch sensitive.KindOf(e.Type) {
			case sensitive.Folder:
				if p != trees && e.Name != ".git" && !sensitive.PackageFolder(e.Name) {
					todo = append(todo, p)
				}
			case sensitive.Link:
				if s.reaches(paths.Join(s.dir(dir).Real, e.Name), real) {
					out = append(out, p)
				}
			}
		}
	}
	return out
}

// reaches reports whether the box can change what is found behind a link, which has no other link
// on the way to it: it can write where that leads, of a dangling one what it could make, or a
// link in between. What lies in own is left out.
func (s *survey) reaches(link, own string) bool {
	hops, to, _ := files.Follow(link)
	return s.writes(to) && !paths.Below(own, to) || slices.ContainsFunc(hops,
		func(h Hop) bool { return s.writes(h.Path) && !paths.Below(own, h.Path) })
}

// writes reports whether the box can write a path.
func (s *survey) writes(p string) bool {
	return slices.ContainsFunc(s.roots, func(root string) bool { return paths.Below(root, p) })
}

// isTop reports whether a folder is the top of a work tree, by any case of the name: some file systems do not
// tell case.
func (s *survey) isTop(dir string) bool {
	return slices.ContainsFunc(s.note(dir).entries,
		func(e files.Entry) bool { return strings.EqualFold(e.Name, ".git") })
}

// repository notes what the settings of the repository at the top of a folder name.
func (s *survey) repository(top string) {
	if s.repos++; s.repos <= maxObeyed {
		s.names(NamedByGit(top, s.global, s.home))
	}
}

// names notes, of places that settings of git name, where they lead when the box can write
// there, and the places themselves when it could replace a link on the way.
func (s *survey) names(places []GitPlace) {
	for _, n := range places {
		if s.seen[n] {
			continue
		}
		s.seen[n] = true
		hops, real, _ := files.Follow(n.Path)
		if slices.ContainsFunc(hops, func(h Hop) bool { return s.writes(h.Path) }) {
			s.name(n.Path)
		}
		if n.Use == gitconfig.Folder {
			for _, p := range s.links(n.Path, "", maxLinking) {
				s.names([]GitPlace{{p, gitconfig.Program}})
			}
		}
		if !s.writes(real) || slices.Contains(s.roots, real) || !s.name(real) {
			continue
		}
		switch n.Use {
		case gitconfig.Folder:
			s.wanted = append(s.wanted, Placeholder{Path: real})
		case gitconfig.Settings:
			s.wanted = append(s.wanted, Placeholder{Path: real, Content: []byte{}})
		}
	}
}

// name adds a path to those that git names, and reports whether it was not among them.
func (s *survey) name(p string) bool {
	if slices.Contains(s.Named, p) {
		return false
	}
	s.Named = append(s.Named, p)
	return true
}

// EverywhereHooks are the folders of hooks that the settings of the user and of the
// system name for every repository.
func EverywhereHooks(getenv func(string) string) []string {
	var out []string
	for _, e := range gitconfig.Environment(getenv).Load() {
		if e.Key == "core.hookspath" {
			out = append(out, e.Value)
		}
	}
	return out
}

// GitPlace is a path that a setting of git names.
type GitPlace struct {
	Path string
	Use  gitconfig.Use
}

// Real returns where the path leads, or would if it were there.
func (p GitPlace) Real() string {
	_, real, _ := files.Follow(p.Path)
	return real
}

// NamedByGit returns the paths outside the git folder that the settings of the repository
// of a work tree, and global ones, name as programs, hooks or further settings, and those that
// links among its hooks and settings lead to. A folder counts only where git looks for programs
// in it.
func NamedByGit(top string, global []gitconfig.Entry, home string) []GitPlace {
	dir, common := GitDirs(top)
	if dir == "" {
		return nil
	}
	own := gitconfig.Sources{System: os.DevNull, Global: os.DevNull, Home: home, GitDir: dir, CommonDir: common}.Load()
	return append(gitPlaces(slices.Concat(global, own), top, home), gitLinks(dir, common)...)
}

// gitLinks returns what links among the hooks and settings of a repository lead to outside of it.
func gitLinks(dir, common string) []GitPlace {
	places := []GitPlace{{common + "/hooks", gitconfig.Folder}, {common + "/config", gitconfig.Program}, {dir + "/config.worktree", gitconfig.Program}, {common + "/info/attributes", gitconfig.Program}}
	hooks, _ := os.ReadDir(common + "/hooks") // without them there are no links
	for _, e := range hooks {
		places = append(places, GitPlace{common + "/hooks/" + e.Name(), gitconfig.Program})
	}
	var out []GitPlace
	for _, p := range places {
		to, err := os.Readlink(p.Path)
		if err != nil {
			continue
		}
		if real, err := filepath.EvalSymlinks(filepath.Dir(p.Path)); err == nil && !filepath.IsAbs(to) {
			to = paths.Join(real, to) // what ".." is after a link the kernel says
		}
		if p.Path = to; !paths.Below(common, p.Real()) {
			out = append(out, p)
		}
	}
	return out
}

// Everywhere is NamedByGit for what global settings name wherever a repository is.
func Everywhere(global []gitconfig.Entry, home string) []GitPlace {
	return slices.DeleteFunc(gitPlaces(global, "", home), func(p GitPlace) bool { return !filepath.IsAbs(p.Path) })
}

func gitPlaces(list []gitconfig.Entry, top, home string) []GitPlace {
	var out []GitPlace
	for _, e := range list {
		use := gitconfig.UseOf(e)
		for _, p := range gitconfig.Places(e, top, home) {
			fi, err := os.Stat(p)
			switch {
			case p == top || slices.Contains(out, GitPlace{p, use}) || err == nil && fi.IsDir() && use != gitconfig.Folder:
			case strings.HasPrefix(p, top+"/.git/"): // of the repository, see package git
			default:
				out = append(out, GitPlace{p, use})
			}
		}
	}
	return out
}

// GitDirs returns the git folder of a work tree and, for a linked worktree, that of the
// repository it belongs to; both are "" where there is none.
func GitDirs(top string) (dir, common string) {
	dir = filepath.Join(top, ".git")
	fi, err := os.Stat(dir)
	if err == nil && !fi.IsDir() {
		dir = worktree.Target(dir, top)
	}
	if err != nil || dir == "" {
		return "", ""
	}
	if common = worktree.Named(filepath.Join(dir, "commondir")); common == "" {
		return dir, dir
	}
	return dir, worktree.Absolute(dir, common)
}
